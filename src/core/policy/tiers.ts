import type { Facts } from '../request/facts.ts';

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

/** The tier that a conversation begins with. It is decided by its first question, so all turns of the conversation agree. */
export interface FirstTier {
  readonly name: TierName;
  /** How likely the first question is hard, 0..1. */
  readonly hard: number;
}

/** Why a request belongs to its tier. */
export const TIER_REASONS = ['usual', 'hard', 'escalated'] as const;
type TierReason = (typeof TIER_REASONS)[number];

/** The facts that decide the tier of a request. The shape of an escalation does not matter. */
type TierFacts = Pick<Facts, 'tier'> & { readonly escalation?: object };

/** Returns the tier of a request, and why; null if its model is chosen by ranking all models. */
export function tierOf({ tier, escalation }: TierFacts): { readonly name: TierName; readonly why: TierReason } | null {
  if (tier === undefined) return null;
  if (tier.name === 'strong') return HARD;
  return escalation === undefined ? USUAL : ESCALATED;
}

const USUAL = { name: 'usual', why: 'usual' } as const;
const HARD = { name: 'strong', why: 'hard' } as const;
const ESCALATED = { name: 'strong', why: 'escalated' } as const;
