import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { DecisionRecord, Outcome } from '../records/record.ts';

/** What is kept of a decision: facts without text, Q per model, the choice, and what came of it. */
export function decisionRecord(
  kind: DecisionRecord['kind'],
  decision: Decision,
  caller: Caller,
  { models }: PolicySnapshot,
  time: number,
  outcome: Outcome | null,
): DecisionRecord {
  const { id, revision, seed, facts, quality, reason, ranked } = decision;
  const [choice, ...fallbacks] = ranked.map(({ model }) => models[model]!.id);
  return {
    id,
    time,
    keyId: caller.keyId,
    kind,
    revision,
    seed,
    facts,
    quality,
    reason,
    choice: choice!,
    fallbacks,
    outcome,
  };
}
