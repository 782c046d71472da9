import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose';
import type { KeySet } from '../../core/people/token-issuer.ts';
import { DAY_MS } from '../../core/time/clock.ts';

/** A set of keys for checking tokens. A changed set is a new object. */
export interface SigningKeys {
  /** The set as JSON. */
  readonly text: string;
  readonly find: JWTVerifyGetKey;
}

/** The least time between two reads of an issuer's keys, ms. */
const READ_EVERY_MS = 30_000;
/** How long keys are fresh, ms. Older keys stay in use while they are read again. */
const FRESH_MS = 600_000;
/** How long keys stay in use while their issuer is unavailable, ms. */
const USABLE_MS = DAY_MS;

const signingKeys = (set: KeySet): SigningKeys => {
  const text = JSON.stringify(set);
  // The library's type has only the members that it knows. An invalid key is noticed when it is used.
  return { text, find: createLocalJWKSet(JSON.parse(text)) };
};

interface KeyReading {
  /** Null if the policy states the keys, so that they are never read. */
  readonly read: (() => Promise<KeySet>) | null;
  /** Returns ms that never go back. */
  readonly clock: () => number;
  /** Called once for each failed read. */
  readonly onFault: (error: unknown) => void;
}

/** The keys of one issuer, as the last read returned them. State: tokens. */
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

  /** The keys with which tokens are checked now; null if there are no keys. Outdated keys are read again in the background. */
  get current(): SigningKeys | null {
    const age = this.#reading.clock() - this.#readAt;
    if (!this.#reading.read) return this.#keys;
    if (age >= FRESH_MS) void this.#readAgain();
    return age < USABLE_MS ? this.#keys : null;
  }

  /** Milliseconds until the keys may be read again. */
  get waitMs(): number {
    return Math.max(0, this.#triedAt + READ_EVERY_MS - this.#reading.clock());
  }

  /** Reads the keys of the issuer, unless a read was tried a moment ago. The promise never rejects. @returns whether a read was tried */
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
      // If the keys are unchanged, their object stays the same, so that checked tokens stay checked.
      if (keys.text !== this.#keys?.text) this.#keys = keys;
    } catch (cause) {
      this.#reading.onFault(cause);
    }
  }
}
