import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** Separates these derived keys from other uses of the same secret. A new format of sealing needs a new number. */
const PURPOSE = 'signalbox idempotency 1';
const SALT_BYTES = 32;
const KEY_BYTES = 32;
const VERIFIER_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The name under which a request is stored. The name reveals no key, and no other API key can produce the same name. */
export function requestNameOf(keyId: string, idempotencyKey: string): Uint8Array {
  // IDs of keys contain no zero byte, so two different pairs never give the same text.
  return createHash('sha256').update(`${PURPOSE}\0${keyId}\0${idempotencyKey}`).digest();
}

export const newSalt = (): Uint8Array => randomBytes(SALT_BYTES);

/**
 * Encrypts answers with keys derived by HKDF from the API key's secret and a salt of the request. The hash of the body is keyed, too,
 * because a plain hash would let an attacker confirm a guessed prompt.
 */
export class AnswerSeal {
  readonly salt: Uint8Array;
  /** Two seals have the same verifier if they have the same secret and salt. */
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

  /**
   * Encrypts with AES-256-GCM into nonce, ciphertext and tag. `open` needs the same `bound`, so that one stored row cannot replace another.
   */
  seal(text: string, bound: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#cipherKey, nonce).setAAD(Buffer.from(bound));
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** Returns null for a text that was sealed with another secret or another `bound`. */
  open(sealed: Uint8Array, bound: string): string | null {
    return this.openBytes(sealed, bound)?.toString('utf8') ?? null;
  }

  /** Like `open`, but returns the text in UTF-8. */
  openBytes(sealed: Uint8Array, bound: string): Buffer | null {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#cipherKey, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(bound)).setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      // `final` checks the tag. In this mode it never returns bytes.
      decipher.final();
      return text;
    } catch {
      return null;
    }
  }
}

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
