import type { Operation } from '../kinds/operations.ts';
import type { CallerGroups } from '../money/holder.ts';
import type { GuardCounts } from './guards.ts';
import type { SourcePlace } from './source-place.ts';

/**
 * The facts of a request that a rule's `when` can use: figures and names. The only texts in the facts of rules are the texts that callers
 * write for rules (`metadata`, `user`). Numbers in rules are doubles. A missing label or metadata key reads as the empty string.
 */
export interface RuleScope {
  readonly request: {
    readonly operation: Operation;
    /** The `model` of the request: a selector's name or a model's ID. */
    readonly model: string;
    readonly task: string;
    readonly difficulty: string;
    /** Expected input tokens. */
    readonly input_tokens: number;
    /** The caller's cap on output tokens; 0 without one. */
    readonly max_tokens: number;
    readonly stream: boolean;
    readonly tools: boolean;
    readonly images: number;
    /** Programming languages that the question is about, and languages that the model must support. */
    readonly languages: readonly string[];
    /** Natural language of the question, ISO 639-1; `und` if it could not be determined. */
    readonly natural_language: string;
    /** Expected visible output tokens of one choice. */
    readonly output_tokens: number;
    /** Capabilities that the model must have. */
    readonly needs: readonly string[];
    /** The caller's `budget_limit` in Credits; 0 without one. */
    readonly budget_limit: number;
    readonly user: string;
    readonly metadata: ReadonlyMap<string, string>;
  };
  readonly key: { readonly id: string; readonly labels: ReadonlyMap<string, string> };
  readonly team: CallerGroups['team'];
  readonly user: CallerGroups['user'];
  /** Local time in the policy's `time_zone`. */
  readonly time: {
    readonly year: number;
    /** The month, from 1 to 12. */
    readonly month: number;
    /** The day of the month, from 1 to 31. */
    readonly day: number;
    /** The day of the week: 1 is Monday, 7 is Sunday. */
    readonly weekday: number;
    /** The hour, from 0 to 23. */
    readonly hour: number;
    readonly minute: number;
  };
  /** How many matches each guard found in the request. A guard that found none may be absent. */
  readonly guards?: GuardCounts;
}

/**
 * The rules that apply to one request, by their index in the policy. Decision records store the rules that applied, so that a replay needs
 * neither the text nor the time.
 */
export interface ActiveRules {
  readonly constraints: readonly number[];
  readonly preferences: readonly number[];
}

export const NO_RULES: ActiveRules = Object.freeze({ constraints: Object.freeze([]), preferences: Object.freeze([]) });

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
