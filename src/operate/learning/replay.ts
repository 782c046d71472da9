import { timeOfId } from '../../core/id.ts';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { replayOutcomes, saveReplay } from '../../learning/outcomes.ts';
import { lockStore, openStore } from '../../store/open.ts';
import type { Repositories } from '../../store/repositories.ts';
import { LEARNING } from '../../store/trail.ts';
import type { JudgeTools } from '../policy/tools.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { Judgements } from './judgements.ts';
import { learningPolicy } from './policy.ts';

/** All outcomes, learned anew, and how near the estimates were before each. */
export type LearningReplay = Awaited<ReturnType<typeof replayLearning>>;

/** Learns all outcomes of a store anew, without writing. Throws UsageError; rejects with StoreError. */
export async function replayLearning(folder: string, judge: JudgeTools, store: Pick<Repositories, 'learning'>) {
  const policy = await learningPolicy(folder, judge, store);
  const judged = new Judgements();
  const faults = new Set<string>();
  // Outcomes that were learned without the words of their question.
  let wordless = 0;
  // The time of the first outcome, ms since 1970; null for none.
  let since: number | null = null;
  const replay = await replayOutcomes(store, policy, {
    onFault: (estimator, where, error) =>
      faults.add(`The estimator ${estimator} failed (${where}): ${messageOf(error)}.`),
    onOutcome: (row, estimated) => {
      since ??= timeOfId(row.id);
      if (row.features === null) wordless++;
      if (row.source === 'caller') judged.note(row, estimated);
    },
  });
  // The estimator's failures are told once of each kind.
  return { policy, replay, judged, since, wordless, faults: [...faults] };
}

/**
 * Learns all outcomes anew and replaces the memories, under the store's lock: a running server would overwrite them.
 * Throws UsageError; rejects with StoreError.
 */
export async function rewriteLearning(
  by: Principal,
  folder: string,
  judge: JudgeTools,
  database: string,
): Promise<LearningReplay> {
  checkAction(by.caller, 'learning.change');
  const lock = await lockStore(database, 'alone').catch(isServed);
  try {
    const store = await openStore(database, { mode: 'repair', rooms: ['access', 'learning'] });
    try {
      const result = await replayLearning(folder, judge, store);
      const event = { time: judge.now(), actor: by.actor, action: 'replay', subject: LEARNING } as const;
      const entry = store.trail.add({ ...event, details: { outcomes: result.replay.outcomes } });
      await saveReplay(store, result.replay, [entry]);
      return result;
    } finally {
      await store.close();
    }
  } finally {
    lock.release();
  }
}

function isServed(cause: unknown): never {
  throw new UsageError(`${messageOf(cause)} learn replay --write works only while no server runs.`);
}
