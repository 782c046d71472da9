import type { CallerGroups } from './holder.ts';
import type { Operation } from './operation.ts';
import type { SourcePlace } from './source-place.ts';

/**
 * The facts of a request that a rule's `when` sees: figures and names, and no texts but those that the caller wrote
 * for rules (`metadata`, `user`). Numbers are doubles. A missing label or metadata key reads as the
 * empty string.
 */
export interface RuleScope {
  readonly request: {
    readonly operation: Operation;
    /** The `model` of the request: a selector's name or a model's ID. */
    readonly model: string;
    readonly task: string;
    readonly difficulty: string;
    /** Expected input, tokens. */
    readonly input_tokens: number;
    /** The caller's cap on output tokens; 0 without one. */
    readonly max_tokens: number;
    readonly stream: boolean;
    readonly tools: boolean;
    readonly images: number;
    /** Programming languages that the question is about, and those that the model must handle. */
    readonly languages: readonly string[];
    /** ISO 639-1; `und` where it is undetermined. */
    readonly natural_language: string;
    /** Expected visible output of one choice, tokens. */
    readonly output_tokens: number;
    /** Capabilities that the model must have. */
    readonly needs: readonly string[];
    /** Credits; 0 without one. */
    readonly budget_limit: number;
    readonly user: string;
    readonly metadata: ReadonlyMap<string, string>;
  };
  readonly key: { readonly id: string; readonly labels: ReadonlyMap<string, string> };
  readonly team: CallerGroups['team'];
  readonly user: CallerGroups['user'];
  /** In the policy's `time_zone`. */
  readonly time: {
    readonly year: number;
    /** 1 to 12. */
    readonly month: number;
    /** 1 to 31. */
    readonly day: number;
    /** 1 is Monday, 7 is Sunday. */
    readonly weekday: number;
    /** 0 to 23. */
    readonly hour: number;
    readonly minute: number;
  };
}

/** The rules that apply to one request, by their index in the policy. Recorded, so that a replay needs no text and no clock. */
export interface ActiveRules {
  readonly constraints: readonly number[];
  readonly preferences: readonly number[];
}

export const NO_RULES: ActiveRules = Object.freeze({ constraints: Object.freeze([]), preferences: Object.freeze([]) });

interface Rule {
  readonly name: string;
  /** Where the policy states it. */
  readonly place: SourcePlace;
  /**
   * Whether the rule applies to a request; null for always. May throw, and then the rule applies:
   * a condition that cannot be evaluated must not open a gate.
   */
  readonly when: ((scope: RuleScope) => boolean) | null;
}

/** A hard rule: what it does not allow is rejected. */
export interface Constraint extends Rule {
  /** Bits by endpoint slot; null when it requires nothing of models and endpoints. */
  readonly allows: Uint32Array | null;
  /** Providers of endpoints that `allows` would admit and that cannot serve here; absent for none. */
  readonly unserved?: readonly string[];
  readonly maxLatencyMs: number | null;
  readonly maxCostCredits: number | null;
}

/** A soft rule: what it prefers counts as if its quality were higher by `worth`. */
export interface Preference extends Rule {
  /** Bits by index of the model. */
  readonly prefers: Uint32Array;
  /** -1 to 1. */
  readonly worth: number;
}

/** Bits enough for `n` things. */
export function emptyBits(n: number): Uint32Array {
  return new Uint32Array(Math.ceil(n / 32));
}

export function setBit(bits: Uint32Array, at: number): void {
  bits[at >>> 5]! |= 1 << (at & 31);
}

export function clearBit(bits: Uint32Array, at: number): void {
  bits[at >>> 5]! &= ~(1 << (at & 31));
}

/** The bits that are set in both, as new bits; null stands for all. */
export function bothBits(a: Uint32Array | null, b: Uint32Array | null): Uint32Array | null {
  if (a === null || b === null) return a ?? b;
  const both = new Uint32Array(a.length);
  for (let at = 0; at < both.length; at++) both[at] = a[at]! & b[at]!;
  return both;
}

export function hasBit(bits: Uint32Array, at: number): boolean {
  return (bits[at >>> 5]! & (1 << (at & 31))) !== 0;
}
