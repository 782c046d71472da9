import type { Cursor } from '../store/cursor.ts';
import type { Repositories } from '../store/repositories.ts';
import { Learner, type LearnerOptions } from './learner.ts';
import { LearningState } from './learning-state.ts';
import { Memories } from './memories.ts';
import type { OnEstimatorFault } from './memory.ts';
import { PAGE, pagesOf } from './pages.ts';
import { findSecret, loadSecret } from './secret.ts';
import { isScore } from './steps.ts';

/**
 * Opens the memories for learning. Each instance learns the whole log, and one of them stores what was learned.
 * @throws StoreError
 */
export async function openLearner(options: LearnerOptions): Promise<Learner> {
  const { store, now } = options;
  const secret = await loadSecret(store);
  const { faults, onFault } = faultReporter(options.onFault);
  const { memories, resets } = await Memories.load(store, { secret, onFault });
  // Future outcomes come after these resets.
  const open = resets.filter(({ applied }) => applied === null);
  if (open.length > 0) await store.commit(open.map(({ id }) => store.learning.resets.apply(id, memories.last.outcome)));
  const state = await loadLearningState(store, now(), memories.last.outcome);
  return new Learner(options, { memories, state, faults });
}

/**
 * Opens the stored memories read-only; null if no server has learned yet.
 * @throws StoreError
 */
export async function openLearningReader(
  store: Pick<Repositories, 'learning'>,
  listener?: OnEstimatorFault,
): Promise<(Memories & Pick<LearningState, 'brier'>) | null> {
  const secret = await findSecret(store);
  if (!secret) return null;
  const { memories } = await Memories.load(store, { secret, ...faultReporter(listener) });
  const { brier } = await loadLearningState(store, 0, memories.last.outcome);
  return Object.assign(memories, { brier });
}

/** Memories without outcomes or a store: they estimate by declared quality and question length. */
export const emptyMemories = (): Memories =>
  new Memories({ secret: [0, 0], onFault: () => {} }, { outcome: 0, reset: 0 });

/**
 * Loads the stored state, and brings it up to the log of outcomes, as far as `through`. Rejects with StoreError.
 * @param now ms since 1970
 */
export async function loadLearningState(
  store: Pick<Repositories, 'learning'>,
  now: number,
  through: Cursor,
): Promise<LearningState> {
  const { memories, outcomes } = store.learning;
  const stored = await memories.state();
  const state = new LearningState(stored?.body ?? null, now);
  const resets = await store.learning.resets.after(0);
  // A reset that no server has applied covers all outcomes.
  const [reset] = resets.filter(({ model }) => model === null).slice(-1);
  const forgotten = reset ? (reset.applied ?? Number.POSITIVE_INFINITY) : -1;
  if ((stored?.outcome ?? 0) <= forgotten) state.brier.restart();
  for await (const rows of pagesOf((last) => outcomes.after(last, PAGE), stored?.outcome ?? 0)) {
    for (const row of rows) {
      if (row.id > through) break;
      if (isScore(row)) state.replay(row);
      if (row.id <= forgotten) state.brier.restart();
    }
  }
  return state;
}

/** Counts faults, and reports each once: a plugin that fails mostly fails at every request. */
function faultReporter(listener: OnEstimatorFault = () => {}) {
  const reported = new Set<string>();
  const faults = { count: 0 };
  const onFault: OnEstimatorFault = (estimator, where, error) => {
    faults.count++;
    const name = `${estimator} ${where}`;
    if (!reported.has(name)) listener(estimator, where, error);
    reported.add(name);
  };
  return { faults, onFault };
}
