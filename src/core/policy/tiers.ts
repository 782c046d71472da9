/** The tiers of a selector: models for usual requests, and models for hard requests and for conversations in which answers failed. */
export const TIERS = ['usual', 'strong'] as const;
export type TierName = (typeof TIERS)[number];

/** The models of a selector's tiers, each in the order in which they are tried, as indexes in the snapshot. A tier is never empty. */
export interface SelectorTiers extends Readonly<Record<TierName, readonly number[]>> {
  /** `stated`: the policy lists the models. `derived`: the strategy ranked them for the typical request. */
  readonly source: 'stated' | 'derived';
  /**
   * The selector whose choice from its own tiers is a limit of cost or of latency for this one: the estimates of the request decide. Absent
   * for stated tiers, and for a strategy that promises nothing about another selector.
   */
  readonly limit?: { readonly selector: string; readonly by: 'cost' | 'latency' };
}

/** How many models of a tier a text lists, and how many an answer of the API lists. A derived tier ranks all models. */
const NAMED_MAX = 3;
export const TIER_LISTED_MAX = 16;

/** Lists the models of a tier: `luna, then flash, then sol, and 5 more`. */
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
