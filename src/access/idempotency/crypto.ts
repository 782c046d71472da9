import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** Names what the keys are for. Another form of sealing gets another number, and cannot open these. */
const PURPOSE = 'signalbox idempotency 1';
const SALT_BYTES = 32;
const KEY_BYTES = 32;
const VERIFIER_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Under which name a request is kept: nobody else's key leads to it, and it does not tell what the key was. */
export function requestNameOf(keyId: string, idempotencyKey: string): Uint8Array {
  // IDs of keys have no zero byte, so no two pairs are written alike.
  return createHash('sha256').update(`${PURPOSE}\0${keyId}\0${idempotencyKey}`).digest();
}

export const newSalt = (): Uint8Array => randomBytes(SALT_BYTES);

/**
 * What can be done with the secret of an API key, for one request: HKDF makes three keys of it and of the
 * request's own salt. The body's hash is keyed too, for a hash that anybody can compute would confirm whoever
 * guesses a prompt.
 */
export class AnswerSeal {
  readonly salt: Uint8Array;
  /** Tells whether another seal was made with the same secret. */
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

  /** What is stored of a body, given its SHA-256. */
  bodyMark(hash: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#bodyKey).update(hash).digest();
  }

  /** AES-256-GCM: nonce, ciphertext, tag. `bound` must be the same when it is opened: no row stands in for another. */
  seal(text: string, bound: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#cipherKey, nonce).setAAD(Buffer.from(bound));
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** Null for what this secret has not sealed, or not for this. */
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
