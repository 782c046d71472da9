import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose';
import { DAY_MS } from '../../core/clock.ts';
import type { KeySet } from '../../core/token-issuer.ts';

/** A set of keys that tokens are checked with. Another set is another object. */
export interface SigningKeys {
  /** Its JSON. */
  readonly text: string;
  readonly find: JWTVerifyGetKey;
}

/** Between two readings of the keys of an issuer, ms, whatever asks for them. */
const READ_EVERY_MS = 30_000;
/** How long keys are fresh, ms. Older ones serve while they are read again. */
const FRESH_MS = 600_000;
/** How long keys serve while their issuer is away, ms. */
const USABLE_MS = DAY_MS;

const signingKeys = (set: KeySet): SigningKeys => {
  const text = JSON.stringify(set);
  // The library's type has only the members that it knows. What a key lacks is found when it is asked for.
  return { text, find: createLocalJWKSet(JSON.parse(text)) };
};

interface KeyReading {
  /** Null: the keys are stated, and never read. */
  readonly read: (() => Promise<KeySet>) | null;
  /** Ms that never go back. */
  readonly clock: () => number;
  /** Called once for each reading that failed. */
  readonly onFault: (error: unknown) => void;
}

/** The keys of one issuer, as they were last read. State: tokens. */
export class IssuerKeyStore {
  readonly #reading: KeyReading;
  #keys: SigningKeys | null;
  #readAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #pending: Promise<void> | null = null;

  constructor(stated: KeySet | null, reading: KeyReading) {
    this.#reading = reading;
    this.#keys = stated && signingKeys(stated);
  }

  /** The keys that tokens are checked with now; null for none. Stale ones are read again, which is not waited for. */
  get current(): SigningKeys | null {
    const age = this.#reading.clock() - this.#readAt;
    if (!this.#reading.read) return this.#keys;
    if (age >= FRESH_MS) void this.#readAgain();
    return age < USABLE_MS ? this.#keys : null;
  }

  /** Milliseconds until they may be read again. */
  get waitMs(): number {
    return Math.max(0, this.#triedAt + READ_EVERY_MS - this.#reading.clock());
  }

  /** Reads the keys, unless that was tried just now. Never rejects. @returns whether it was tried */
  async refresh(): Promise<boolean> {
    const reading = this.#readAgain();
    await reading;
    return reading !== null;
  }

  #readAgain(): Promise<void> | null {
    const { read, clock } = this.#reading;
    if (this.#pending || !read || this.waitMs > 0) return this.#pending;
    this.#triedAt = clock();
    this.#pending = this.#read(read).finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  async #read(read: () => Promise<KeySet>): Promise<void> {
    try {
      const keys = signingKeys(await read());
      this.#readAt = this.#reading.clock();
      // Tokens that were checked with the same keys stay checked.
      if (keys.text !== this.#keys?.text) this.#keys = keys;
    } catch (cause) {
      this.#reading.onFault(cause);
    }
  }
}
