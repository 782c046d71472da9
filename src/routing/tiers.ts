import { isConversation } from '../core/kinds/operations.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Conversation } from '../core/request/conversation.ts';
import type { Escalation, Unescalated } from '../core/request/escalation.ts';
import type { Facts } from '../core/request/facts.ts';
import type { FirstTier, TierName, TierReason } from '../core/request/tiers.ts';
import { transcriptEscalation } from './profile/escalation.ts';

/** Whether a ladder chooses the model of a request. */
export const hasTiers = ({ named, operation, weights, model }: Facts, { selectors }: PolicySnapshot): boolean =>
  named === null && isConversation(operation) && weights === null && selectors.get(model)?.ladder !== undefined;

/**
 * Returns the tier that a conversation begins with.
 * @param hard how likely the first question is hard, 0..1
 */
export const firstTier = (hard: number, { strongFrom }: PolicySnapshot): FirstTier => ({
  name: hard >= strongFrom ? 'strong' : 'usual',
  hard,
});

/** Adds the tier that a conversation begins with. The facts of a request stay the same if no ladder chooses its model. */
export const withFirstTier = (facts: Facts, snapshot: PolicySnapshot, hardness: () => number): Facts =>
  hasTiers(facts, snapshot) ? { ...facts, tier: firstTier(hardness(), snapshot) } : facts;

/**
 * Returns the signal that an earlier answer of the conversation failed, if the policy counts the signal. All servers read it from the same
 * transcript.
 */
export function transcriptSignal(
  { stuck }: Pick<Facts, 'stuck'>,
  { escalate: { on, turns: most } }: Pick<PolicySnapshot, 'escalate'>,
  { turns, tools }: Pick<Conversation, 'turns' | 'tools'>,
): Escalation | undefined {
  if (on.length === 0) return undefined;
  return stuck && on.includes('stuck_agent')
    ? { signal: 'stuck_agent', turnsAgo: 0 }
    : transcriptEscalation(turns, most, on, tools);
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
