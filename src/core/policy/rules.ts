import type { SourcePlace } from '../source-place.ts';
import type { CallerFacts } from '../tables/facts/caller.ts';
import type { RequestFacts } from '../tables/facts/request.ts';
import type { TimeFacts } from '../tables/facts/time.ts';

/** The number of matches on the input, by guard. Constraints read it as `guards`. */
export type GuardCounts = Readonly<Record<string, number>>;

/** The variables of a rule's `when`. A missing label or metadata key reads as the empty string. */
export interface RuleScope extends CallerFacts {
  readonly request: RequestFacts;
  readonly time: TimeFacts;
  /** How many matches each guard found in the request. A guard that found none may be absent. */
  readonly guards?: GuardCounts;
}

interface Rule {
  readonly name: string;
  /** Location of the rule in the policy. */
  readonly place: SourcePlace;
  /**
   * Whether the rule applies to a request; null for always. `when` may throw, and then the rule applies, so that an error never lifts a
   * constraint.
   */
  readonly when: ((scope: RuleScope) => boolean) | null;
}

/** A hard rule of the policy. A constraint rejects every model and endpoint that it does not allow. */
export interface Constraint extends Rule {
  /** Bits by endpoint slot; null if the rule requires nothing of models and endpoints. */
  readonly allows: Uint32Array | null;
  /** Providers whose endpoints the rule would allow but which cannot serve in this environment; absent for none. */
  readonly unserved?: readonly string[];
  readonly maxLatencyMs: number | null;
  readonly maxCostCredits: number | null;
}

/** A soft rule of the policy. A preferred model counts as if its quality were higher by `worth`. */
export interface Preference extends Rule {
  /** The preferred models, as bits by index of the model. */
  readonly prefers: Uint32Array;
  /** Quality that the rule adds, -1 to 1. */
  readonly worth: number;
}

/** Returns an empty bit set for `n` items. */
export function emptyBits(n: number): Uint32Array {
  return new Uint32Array(Math.ceil(n / 32));
}

export function setBit(bits: Uint32Array, at: number): void {
  bits[at >>> 5]! |= 1 << (at & 31);
}

export function clearBit(bits: Uint32Array, at: number): void {
  bits[at >>> 5]! &= ~(1 << (at & 31));
}

/** Returns the bits that are set in both sets, as a new set; null means all bits. */
export function bothBits(a: Uint32Array | null, b: Uint32Array | null): Uint32Array | null {
  if (a === null || b === null) return a ?? b;
  const both = new Uint32Array(a.length);
  for (let at = 0; at < both.length; at++) both[at] = a[at]! & b[at]!;
  return both;
}

export function hasBit(bits: Uint32Array, at: number): boolean {
  return (bits[at >>> 5]! & (1 << (at & 31))) !== 0;
}
