import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { FirstTier, TierName, TierReason } from '../core/policy/tiers.ts';
import type { Conversation } from '../core/request/conversation.ts';
import type { Escalation, Facts, Unescalated } from '../core/request/facts.ts';
import { transcriptEscalation } from './profile/escalation.ts';

/**
 * Adds the tier that a conversation begins with. The facts of a request stay the same if no ladder chooses its model.
 * @param hardness returns how likely the first question is hard, 0..1
 */
export function withFirstTier(facts: Facts, snapshot: PolicySnapshot, hardness: () => number): Facts {
  const { named, operation, weights, model } = facts;
  if (named !== null || operation !== 'chat' || weights !== null) return facts;
  if (snapshot.selectors.get(model)?.ladder === undefined) return facts;
  const hard = hardness();
  const tier: FirstTier = { name: hard >= snapshot.strongFrom ? 'strong' : 'usual', hard };
  return { ...facts, tier };
}

/**
 * Adds the signal that an earlier answer of the conversation failed, if its selector has tiers and the policy counts the signal. All servers
 * read it from the same transcript.
 */
export function withEscalation(
  facts: Facts,
  { escalation: { on, turns: most } }: Pick<PolicySnapshot, 'escalation'>,
  { turns, tools }: Pick<Conversation, 'turns' | 'tools'>,
): Facts {
  if (facts.tier === undefined || on.length === 0) return facts;
  const escalation: Escalation | undefined =
    facts.stuck && on.includes('stuck_agent')
      ? { signal: 'stuck_agent', turnsAgo: 0 }
      : transcriptEscalation(turns, most, on, tools);
  return escalation ? { ...facts, escalation } : facts;
}

/** Returns the facts of an escalated request as if it were not escalated, with the signal that had no effect, and why. */
export function withoutEscalation({ escalation, ...facts }: Facts, why: Omit<Unescalated, keyof Escalation>): Facts {
  return escalation ? { ...facts, unescalated: { ...escalation, ...why } } : facts;
}

/** The tier of a request, and why. */
export interface AppliedTier {
  readonly name: TierName;
  readonly why: TierReason;
}

/** Returns the tier of a request. A request without a first question is usual. */
export function tierOf({ tier, escalation }: Pick<Facts, 'tier' | 'escalation'>): AppliedTier {
  if (escalation !== undefined && tier !== undefined) return ESCALATED;
  return tier?.name === 'strong' ? HARD : USUAL;
}

const USUAL: AppliedTier = { name: 'usual', why: 'usual' };
const HARD: AppliedTier = { name: 'strong', why: 'hard' };
const ESCALATED: AppliedTier = { name: 'strong', why: 'escalated' };
