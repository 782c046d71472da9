import { timeOfId } from '../../core/id.ts';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { LearningPolicyInForce } from '../../learning/answer.ts';
import { type ReplayResult, replayOutcomes, saveReplay } from '../../learning/outcomes.ts';

import type { StoreLock } from '../../store/driver.ts';
import { lockStore, openStore } from '../../store/open.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { JudgeTools } from '../policy/tools.ts';
import { Judgements } from './judgements.ts';
import { learningPolicy } from './policy.ts';

/** All outcomes, learned anew, and how near the estimates were before each. */
export interface LearningReplay {
  readonly policy: LearningPolicyInForce;
  readonly replay: ReplayResult;
  readonly judged: Judgements;
  /** The time of the first outcome, ms since 1970; null for none. */
  readonly since: number | null;
  /** Outcomes that were learned without the words of their question. */
  readonly wordless: number;
  /** The estimator's failures, once of each kind. */
  readonly faults: readonly string[];
}

/** Learns all outcomes of a store anew, without writing. Throws UsageError; rejects with StoreError. */
export async function replayLearning(
  folder: string,
  judge: JudgeTools,
  store: Pick<Repositories, 'learning'>,
): Promise<LearningReplay> {
  const policy = await learningPolicy(folder, judge, store);
  const judged = new Judgements();
  const faults = new Set<string>();
  let wordless = 0;
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
  return { policy, replay, judged, since, wordless, faults: [...faults] };
}

/**
 * Learns all outcomes anew and replaces the memories, under the store's lock: a running server would overwrite them.
 * Throws UsageError; rejects with StoreError.
 */
export async function rewriteLearning(folder: string, judge: JudgeTools, database: string): Promise<LearningReplay> {
  const lock = await lockFor(database);
  try {
    const store = await openStore(database, { mode: 'repair', rooms: ['learning'] });
    try {
      const result = await replayLearning(folder, judge, store);
      await saveReplay(store, result.replay);
      return result;
    } finally {
      await store.close();
    }
  } finally {
    lock.release();
  }
}

async function lockFor(file: string): Promise<StoreLock> {
  try {
    return await lockStore(file);
  } catch (cause) {
    const why = messageOf(cause);
    throw new UsageError(`${why} learn replay --write works only while no server runs.`);
  }
}
