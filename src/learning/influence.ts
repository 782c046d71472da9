import { type Static, Type } from '@sinclair/typebox';
import { isAddress } from '../core/holder-address.ts';

/** The weight that every key may contribute, in outcomes. */
const ALLOWANCE = 100;
/** Masses and traffic decay by half in a week, in hourly steps. */
const HALF_LIFE_MS = 7 * 86_400_000;
const STEP_MS = 3_600_000;
const KEYS_MAX = 4_096;
/** Keys below this are removed. */
const NEGLIGIBLE = 0.01;
/** Stands for all keys beyond the maximum. */
const REST = '';
/** Addresses are free to create, so all of them count as one key. */
const ADDRESSES = '0x';

interface Stake {
  /** The sum of the weights of its learned outcomes. */
  mass: number;
  chats: number;
}

/** The state for a checkpoint. */
export const InfluenceSums = Type.Object({
  /** When masses last decayed, ms since 1970. */
  at: Type.Number(),
  /** Key, mass and chats. */
  stakes: Type.Array(Type.Tuple([Type.String(), Type.Number(), Type.Number()])),
});
export type InfluenceSums = Static<typeof InfluenceSums>;

/**
 * Bounds the influence of one key. The weight of its outcomes may be at most an allowance plus `s/(1 − s)` of the
 * weight of all others, `s` being the policy's `influence_max`. A key with more than `s` of recent chats may contribute
 * as much as it has chats, because the estimates mostly concern its own requests. A key that is alone has no bound.
 */
export class KeyInfluence {
  readonly #stakes = new Map<string, Stake>();
  /** When masses last decayed, ms since 1970. */
  #at: number;

  constructor({ at, stakes }: InfluenceSums) {
    this.#at = at;
    for (const [key, mass, chats] of stakes) this.#stakes.set(key, { mass, chats });
  }

  noteChat(key: string, now: number): void {
    this.#age(now);
    this.#stake(key).chats++;
  }

  /**
   * Adds as much of a weight as the bound allows.
   * @returns the weight added
   */
  admit(key: string, weight: number, influenceMax: number, now: number): number {
    this.#age(now);
    const admitted = Math.min(weight, Math.max(0, this.bound(key, influenceMax) - this.mass(key)));
    if (admitted > 0) this.addMass(key, admitted, now);
    return admitted;
  }

  /** Adds the weight of an outcome that was admitted earlier. */
  addMass(key: string, weight: number, now: number): void {
    this.#age(now);
    this.#stake(key).mass += weight;
  }

  /** The weight of the key's learned outcomes. */
  mass(key: string): number {
    return this.#find(key)?.mass ?? 0;
  }

  /** The maximum mass of the key at present; may be Infinity. */
  bound(key: string, influenceMax: number): number {
    const own = this.#find(key);
    const chats = own?.chats ?? 0;
    const others = { mass: 0, chats: 0 };
    for (const stake of this.#stakes.values()) {
      if (stake === own) continue;
      others.mass += stake.mass;
      others.chats += stake.chats;
    }
    if (others.mass < NEGLIGIBLE && others.chats < NEGLIGIBLE) return Number.POSITIVE_INFINITY;
    if (influenceMax >= 1) return Number.POSITIVE_INFINITY;
    const ofOthers = (influenceMax / (1 - influenceMax)) * others.mass;
    const hasMost = chats > influenceMax * (chats + others.chats);
    return ALLOWANCE + (hasMost ? Math.max(ofOthers, chats) : ofOthers);
  }

  get sums(): InfluenceSums {
    return { at: this.#at, stakes: [...this.#stakes].map(([key, { mass, chats }]) => [key, mass, chats]) };
  }

  #find(key: string): Stake | undefined {
    const name = isAddress(key) ? ADDRESSES : key;
    return this.#stakes.get(name) ?? (this.#stakes.size >= KEYS_MAX ? this.#stakes.get(REST) : undefined);
  }

  #stake(key: string): Stake {
    const existing = this.#find(key);
    if (existing) return existing;
    const stake = { mass: 0, chats: 0 };
    const name = isAddress(key) ? ADDRESSES : key;
    this.#stakes.set(this.#stakes.size >= KEYS_MAX - 1 ? REST : name, stake);
    return stake;
  }

  #age(now: number): void {
    const steps = Math.floor((now - this.#at) / STEP_MS);
    if (steps <= 0) return;
    this.#at += steps * STEP_MS;
    const left = 0.5 ** ((steps * STEP_MS) / HALF_LIFE_MS);
    for (const [key, stake] of this.#stakes) {
      stake.mass *= left;
      stake.chats *= left;
      if (stake.mass < NEGLIGIBLE && stake.chats < NEGLIGIBLE) this.#stakes.delete(key);
    }
  }
}
