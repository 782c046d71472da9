import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import type { DecisionOutcome, DecisionRecord } from '../core/decision-record.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { recordWrite } from '../records/records.ts';
import type { Write } from '../store/store.ts';
import type { Gateway } from './gateway.ts';

/** The record of a decision, with the frame of readings that it names: to be given to the store at once. */
export function decisionWrites(
  { records, nextId, now }: Pick<Gateway, 'records' | 'nextId' | 'now'>,
  kind: DecisionRecord['kind'],
  decision: Decision,
  caller: Caller,
  snapshot: PolicySnapshot,
  outcome: DecisionOutcome | null,
): Write[] {
  const { number: frame, writes } = records.frames.refer(decision.readings, snapshot, nextId);
  const writesOfRecord = recordWrite(decisionRecord(kind, decision, caller, snapshot, { time: now(), frame, outcome }));
  return writes.length === 0 ? writesOfRecord : [...writes, ...writesOfRecord];
}

/** What is kept of a decision: facts without text, Q per model, the choice, and what came of it. */
export function decisionRecord(
  kind: DecisionRecord['kind'],
  decision: Decision,
  caller: Caller,
  snapshot: PolicySnapshot,
  { time, frame, outcome }: Pick<DecisionRecord, 'time' | 'frame' | 'outcome'>,
): DecisionRecord {
  const { id, revision, seed, facts, quality, estimate, draw, reason } = decision;
  const { choice, fallbacks, lastResorts } = chosen(decision, snapshot);
  const { keyId } = caller;
  // Written out: every request makes one, and spreading costs more than all else here.
  return {
    id,
    time,
    keyId,
    kind,
    revision,
    frame,
    seed,
    facts,
    quality,
    estimate,
    draw,
    reason,
    choice,
    fallbacks,
    lastResorts,
    outcome,
  };
}

/** What a decision comes to, by the names of models. */
export function chosen(
  { ranked, lastResorts }: Decision,
  { models }: PolicySnapshot,
): Pick<DecisionRecord, 'choice' | 'fallbacks' | 'lastResorts'> {
  const [choice, ...fallbacks] = ranked.map(({ model }) => models[model]!.id);
  return {
    choice: choice!,
    fallbacks,
    lastResorts: lastResorts.map(({ model, endpoints }) => ({ model: models[model]!.id, endpoints })),
  };
}
