import { isWallet } from '../core/wallet.ts';

/** What a key's outcomes may count as before anything is held against it. */
const ALLOWANCE = 100;
/** Masses and traffic are halved in a week, a step at a time. */
const HALF_LIFE_MS = 7 * 86_400_000;
const STEP_MS = 3_600_000;
const KEYS_MAX = 4_096;
/** Whoever has less than this is forgotten. */
const LITTLE = 0.01;
/** Stands for all keys beyond those that are told apart. */
const REST = '';
/** Anybody can make wallets, as many as he likes: all of them are one key here. */
const WALLETS = '0x';

interface Stake {
  /** The weights of what was learnt of it. */
  mass: number;
  chats: number;
}

/** How it stands, for a checkpoint: key, mass, chats. */
export interface InfluenceSums {
  readonly at: number;
  readonly stakes: readonly (readonly [string, number, number])[];
}

/**
 * Bounds what one key can teach. What was learnt of it may weigh no more than an allowance and `s/(1 − s)` of what was
 * learnt of all others, `s` being the policy's `influence_max`. A key that has more than `s` of the chats lately may
 * teach as much as it has chats, though the others are silent: it is their estimates' main subject anyway. One that is
 * alone is not bounded: it spoils nobody's.
 */
export class Influence {
  readonly #stakes = new Map<string, Stake>();
  #mass = 0;
  #chats = 0;
  /** Up to when masses are halved, ms since 1970. */
  #at: number;

  constructor({ at, stakes }: InfluenceSums) {
    this.#at = at;
    for (const [key, mass, chats] of stakes) {
      this.#stakes.set(key, { mass, chats });
      this.#mass += mass;
      this.#chats += chats;
    }
  }

  /** Takes note of a chat. */
  seen(key: string, now: number): void {
    this.#age(now);
    this.#stake(key).chats++;
    this.#chats++;
  }

  /** How much of a weight counts; adds it to what the key has. */
  admit(key: string, weight: number, influenceMax: number, now: number): number {
    this.#age(now);
    const admitted = Math.min(weight, Math.max(0, this.bound(key, influenceMax) - this.mass(key)));
    if (admitted > 0) this.note(key, admitted, now);
    return admitted;
  }

  /** Adds what was admitted earlier. */
  note(key: string, weight: number, now: number): void {
    this.#age(now);
    this.#stake(key).mass += weight;
    this.#mass += weight;
  }

  /** What was learnt of a key. */
  mass(key: string): number {
    return this.#find(key)?.mass ?? 0;
  }

  /** The most that it may be now. */
  bound(key: string, influenceMax: number): number {
    const { mass = 0, chats = 0 } = this.#find(key) ?? {};
    // Sums of the same numbers in another order may differ in their last bits.
    const others = Math.max(0, this.#mass - mass);
    if (others < LITTLE && this.#chats - chats < LITTLE) return Number.POSITIVE_INFINITY;
    if (influenceMax >= 1) return Number.POSITIVE_INFINITY;
    const ofOthers = (influenceMax / (1 - influenceMax)) * others;
    const hasMost = this.#chats > 0 && chats / this.#chats > influenceMax;
    return ALLOWANCE + (hasMost ? Math.max(ofOthers, chats) : ofOthers);
  }

  get sums(): InfluenceSums {
    return { at: this.#at, stakes: [...this.#stakes].map(([key, { mass, chats }]) => [key, mass, chats]) };
  }

  #find(key: string): Stake | undefined {
    const name = isWallet(key) ? WALLETS : key;
    return this.#stakes.get(name) ?? (this.#stakes.size >= KEYS_MAX ? this.#stakes.get(REST) : undefined);
  }

  #stake(key: string): Stake {
    const known = this.#find(key);
    if (known) return known;
    const stake = { mass: 0, chats: 0 };
    const name = isWallet(key) ? WALLETS : key;
    this.#stakes.set(this.#stakes.size >= KEYS_MAX - 1 ? REST : name, stake);
    return stake;
  }

  #age(now: number): void {
    const steps = Math.floor((now - this.#at) / STEP_MS);
    if (steps <= 0) return;
    this.#at += steps * STEP_MS;
    const left = 0.5 ** ((steps * STEP_MS) / HALF_LIFE_MS);
    this.#mass = 0;
    this.#chats = 0;
    for (const [key, stake] of this.#stakes) {
      stake.mass *= left;
      stake.chats *= left;
      if (stake.mass < LITTLE && stake.chats < LITTLE) this.#stakes.delete(key);
      this.#mass += stake.mass;
      this.#chats += stake.chats;
    }
  }
}
