import type { Microcredits } from '../money/credits.ts';
import type { Facts } from '../request/facts.ts';
import type { LadderReason, TierName } from '../request/tiers.ts';
import { HEALTH, type HealthState, type Readings } from './readings.ts';

/** The reasons why a candidate was rejected, as bits. Several rejection bits of a candidate may be set. */
export const REJECTIONS = {
  operation: { bit: 1 << 13, group: 'constraints' },
  key_models: { bit: 1 << 0, group: 'constraints' },
  capability: { bit: 1 << 1, group: 'constraints' },
  language: { bit: 1 << 2, group: 'constraints' },
  max_output: { bit: 1 << 3, group: 'constraints' },
  max_cost: { bit: 1 << 4, group: 'constraints' },
  max_latency: { bit: 1 << 5, group: 'constraints' },
  dimensions: { bit: 1 << 15, group: 'constraints' },
  vector_space: { bit: 1 << 16, group: 'constraints' },
  thread: { bit: 1 << 17, group: 'constraints' },
  thoughts: { bit: 1 << 18, group: 'constraints' },
  selector: { bit: 1 << 9, group: 'constraints' },
  constraint: { bit: 1 << 10, group: 'constraints' },
  unbounded_media: { bit: 1 << 8, group: 'constraints' },
  unpriced: { bit: 1 << 14, group: 'constraints' },
  context: { bit: 1 << 6, group: 'context' },
  budget_limit: { bit: 1 << 7, group: 'budget' },
  funds: { bit: 1 << 11, group: 'funds' },
  health: { bit: 1 << 12, group: 'health' },
} as const;

export type Rejection = keyof typeof REJECTIONS;
/** Groups in the order in which they are removed to find the rejection that decides the HTTP status. */
export const REJECTION_GROUPS = ['health', 'funds', 'budget', 'context', 'constraints'] as const;
export type RejectionGroup = (typeof REJECTION_GROUPS)[number];

/** Why a model was left out before any call: the kind of its rejection, and the state of its endpoints instead of `health`. */
export type LeftOutReason = Exclude<Rejection, 'health'> | Exclude<HealthState, 'healthy'> | 'full' | 'not_set_up';

const isReason = <Word extends string>(word: Word): word is Exclude<Word, 'health' | 'healthy'> =>
  word !== 'health' && word !== 'healthy';

/** `full`: a limit of its endpoints is used up. `not_set_up`: a variable of its provider is not set. */
export const LEFT_OUT_REASONS: readonly LeftOutReason[] = [
  ...(Object.keys(HEALTH) as HealthState[]).filter(isReason),
  ...(Object.keys(REJECTIONS) as Rejection[]).filter(isReason),
  'full',
  'not_set_up',
];

/** The model that a request names, and why another model was chosen before any call. */
export type InsteadOf = {
  /** ID of the model that the request names. */
  readonly model: string;
  readonly reason: LeftOutReason;
  /** The reason as a clause, such as `it lacks vision`. */
  readonly text: string;
};

/** A candidate of a decision, with its estimates. */
export interface RankedModel {
  /** Index of the model in the snapshot. */
  readonly model: number;
  /**
   * Expected share of good answers, 0..1, which people are shown. `share` is null if no quality is stated, as for a model of a wildcard.
   */
  readonly share: number | null;
  /** Q, 0..1, which decides the rank: the share of good answers as a choice counts it, plus the worth of preferences. */
  readonly quality: number;
  /** C, the expected cost in Credits. */
  readonly costCredits: number;
  /** L, the expected milliseconds to the end of the answer. */
  readonly latencyMs: number;
  /** The score of the strategy; 0 for a model that a ladder or the request orders. */
  readonly utility: number;
  /** Expected tokens of the input and of the output of all choices, hidden reasoning included. */
  readonly tokens: number;
  /** Cap on the output tokens of one choice, which is sent upstream. */
  readonly outputCap: number;
  /** The fund whose money lowered the cap; null for none. */
  readonly cappedBy: string | null;
  /** Indexes of the model's endpoints that may be tried, in this order. The list of endpoints is never empty. */
  readonly endpoints: readonly number[];
  /** The highest worst-case cost among these endpoints, microcredits. */
  readonly bound: Microcredits;
}

export interface Decision {
  /** ID of the decision, see `core/id.ts`; callers see it as `dec_…`. */
  readonly id: number;
  /** Seed of any randomness, 64 bits in hexadecimal. With the facts and the revision, the seed reproduces the decision. */
  readonly seed: string;
  readonly revision: string;
  readonly facts: Facts;
  /** Health and speed of the endpoints when the decision was made. */
  readonly readings: Readings;
  /** A short, stable label of the reason: `auto:usual`, `pinned`, `pinned:fallback`. */
  readonly reason: string;
  /** The kind of request that the ladder chose for; null if no ladder chose the model. */
  readonly tier: TierName | null;
  /** Why the ladder of the selector gave the choice; absent if no ladder chose the model. */
  readonly ladder?: LadderReason;
  /** The model that the request names, if a fallback of it was chosen; absent otherwise. */
  readonly insteadOf?: InsteadOf;
  /** The chosen model first, then the fallbacks. `ranked` is never empty. */
  readonly ranked: readonly [RankedModel, ...RankedModel[]];
  /**
   * Candidates to try if all others fail, best first: eligible models whose endpoints a circuit breaker excluded, then models that cannot
   * read the reasoning of the current tool calls.
   */
  readonly lastResorts: readonly RankedModel[];
  /** The model of the strong tier to try in the same request, if the answer of the chosen model shows that it failed; absent for none. */
  readonly second?: RankedModel;
  /** The number of eligible models. */
  readonly eligible: number;
  /** Q of every model of the snapshot for this request, in the snapshot's order, with the worth of preferences. */
  readonly quality: Float64Array;
  /** Index of the model that savings are compared with. */
  readonly baseline: number;
}

const FALLBACK = ':fallback';

/** Returns the reason for a model that replaces the first choice. */
export const fallbackReason = (reason: string): string => (reason.endsWith(FALLBACK) ? reason : `${reason}${FALLBACK}`);

/** The result if no model is eligible: every candidate with its rejections. */
export interface Refusal {
  readonly group: RejectionGroup;
  readonly facts: Facts;
  readonly readings: Readings;
  readonly rejected: readonly { readonly model: number; readonly rejections: number }[];
}
