/** The kinds of requests that a selector tells apart: usual requests, and hard ones. A policy may state the models for each kind. */
export const TIERS = ['usual', 'strong'] as const;
export type TierName = (typeof TIERS)[number];

/** The models that a policy states for each kind of request, in the order in which they are tried, as indexes in the snapshot. */
export type StatedTiers = Readonly<Record<TierName, readonly number[]>>;

/** Returns the stated models by tier, each list as `idsOf` gives it; null for none. */
export const statedIds = (stated: StatedTiers | undefined, idsOf: (indexes: readonly number[]) => string[]) =>
  stated ? { usual: idsOf(stated.usual), strong: idsOf(stated.strong) } : null;

/** The order in which a selector tries its models, and how good a model must be for a request. The order is made when the policy is built. */
export interface Ladder {
  /** Why the first model of the order is the first, after the name of the model: `costs least`. */
  readonly reason: string;
  /** Indexes of the models that the selector may choose, in the order of the selector. */
  readonly order: readonly number[];
  /** The place of each model in the order, by index in the snapshot; -1 for a model that the selector may not choose. */
  readonly places: Int32Array;
  /** The expected cost of the typical request in Credits, by index of the model in the snapshot. */
  readonly cost: Float64Array;
  /** How far below the best quality the model may be that serves a request, 0..1. */
  readonly margins: Readonly<Record<TierName, number>>;
  /** How many times as much as the chosen model a better one may cost that is taken instead; null for none. */
  readonly stepCost: number | null;
  /** The selector whose choice is a limit of cost or of latency; null for none. */
  readonly limit: { readonly selector: string; readonly by: 'cost' | 'latency' } | null;
  /** Present if the policy states the models. Then the first eligible one is the choice, and the order decides among the others. */
  readonly stated?: StatedTiers;
}

/** How many models of a list a text names, and how many an answer of the API lists. */
const NAMED_MAX = 3;
export const TIER_LISTED_MAX = 16;

/** Lists models: `luna, then flash, then sol, and 5 more`. */
export function tierText(ids: readonly string[]): string {
  const named = ids.slice(0, NAMED_MAX).join(', then ');
  return ids.length > NAMED_MAX ? `${named}, and ${ids.length - NAMED_MAX} more` : named;
}

/** The tier that a conversation begins with. It is decided by its first question, so all turns of the conversation agree. */
export interface FirstTier {
  readonly name: TierName;
  /** How likely the first question is hard, 0..1. */
  readonly hard: number;
}

/** Why a request belongs to its tier. */
export const TIER_REASONS = ['usual', 'hard', 'escalated'] as const;
export type TierReason = (typeof TIER_REASONS)[number];

/**
 * The rule that made a model the choice of a ladder. `first`: it is the first of the order that is good enough. `stated`: it is the first eligible of
 * the list that the policy states. The others replace an earlier choice. `step`: it is better, for little more. `dominates`: it is no worse in
 * any estimate of the request, and better in one. `limit`: it is the choice of the selector that limits this one. `usual`: it is the choice for
 * usual requests, and better. `strong`: it is the choice for hard requests, and nearer to the limit. `escalated`: an answer of the earlier
 * choice failed, and it is better; with stated models, it is no worse.
 */
export type LadderRule = 'first' | 'stated' | 'step' | 'dominates' | 'limit' | 'usual' | 'strong' | 'escalated';

/** A model that a ladder chose by a rule, as its index in the snapshot. */
export interface LadderStep {
  readonly by: LadderRule;
  readonly model: number;
}

/** Why the ladder of a selector gave the choice. */
export interface LadderReason {
  readonly why: TierReason;
  /** The tier that the conversation began with. All steps but an escalation belong to it. */
  readonly began: TierName;
  /** The choice, then each earlier choice that the one before it in the list replaced. */
  readonly steps: readonly LadderStep[];
  /** The eligible model of the best quality, as its index in the snapshot. */
  readonly best: number;
}
