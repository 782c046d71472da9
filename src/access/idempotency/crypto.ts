import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** Separates these keys from others. Another form of sealing needs another number. */
const PURPOSE = 'signalbox idempotency 1';
const SALT_BYTES = 32;
const KEY_BYTES = 32;
const VERIFIER_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The name that a request is stored under. It reveals no key, and no other API key leads to it. */
export function requestNameOf(keyId: string, idempotencyKey: string): Uint8Array {
  // IDs of keys have no zero byte, so no two pairs are written alike.
  return createHash('sha256').update(`${PURPOSE}\0${keyId}\0${idempotencyKey}`).digest();
}

export const newSalt = (): Uint8Array => randomBytes(SALT_BYTES);

/**
 * Seals answers with keys derived by HKDF from the API key's secret and the request's own salt. The body's hash is
 * keyed too: a plain hash would confirm a guessed prompt.
 */
export class AnswerSeal {
  readonly salt: Uint8Array;
  /** Equal for two seals with the same secret and salt. */
  readonly verifier: Uint8Array;
  readonly #cipherKey: Uint8Array;
  readonly #bodyKey: Uint8Array;

  constructor(secret: string, salt: Uint8Array) {
    const bytes = new Uint8Array(hkdfSync('sha256', secret, salt, PURPOSE, 2 * KEY_BYTES + VERIFIER_BYTES));
    this.salt = salt;
    this.#cipherKey = bytes.subarray(0, KEY_BYTES);
    this.#bodyKey = bytes.subarray(KEY_BYTES, 2 * KEY_BYTES);
    this.verifier = bytes.slice(2 * KEY_BYTES);
  }

  /** Returns the keyed form of a body's SHA-256. */
  bodyMark(hash: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#bodyKey).update(hash).digest();
  }

  /** AES-256-GCM: nonce, ciphertext, tag. `bound` must be the same for opening: no row can replace another. */
  seal(text: string, bound: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#cipherKey, nonce).setAAD(Buffer.from(bound));
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** Returns null for a text sealed with another secret, or for another `bound`. */
  open(sealed: Uint8Array, bound: string): string | null {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#cipherKey, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(bound)).setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      return null;
    }
  }
}

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
