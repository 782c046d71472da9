import { idAt } from '../core/id.ts';
import type { OutcomeWithFeatures, StoredPosition } from '../store/learning.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';
import type { LearningPolicyInForce } from './answer.ts';
import { partWrites } from './memories.ts';
import { HostedMemory, type OnEstimatorFault } from './memory.ts';
import { PAGE, pagesOf } from './pages.ts';
import { findSecret } from './secret.ts';
import { isScore, orderSteps } from './steps.ts';

/**
 * Records a reset of a model by ID, or of everything for null. A running server applies it at its next refresh, others
 * at their start. The log of outcomes stays.
 * @param also writes of the same commit
 * @throws StoreError
 */
export const resetLearning = (
  store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>,
  model: string | null,
  now: number,
  also: readonly Write[] = [],
): Promise<void> => store.commit([store.learning.resets.add(model, now), ...also]);

interface ReplayOptions {
  readonly onFault?: OnEstimatorFault;
  /** Called after each outcome with the estimate before it. */
  readonly onOutcome?: (outcome: OutcomeWithFeatures, estimated: number) => void;
}

/** The result of learning the log of outcomes from the beginning. */
export type ReplayResult = Awaited<ReturnType<typeof replayOutcomes>>;

/**
 * Learns the stored outcomes from the beginning under a policy, apart from those that were reset. Changes nothing in
 * the store. Outcomes whose question is deleted count without it.
 * @throws StoreError
 */
export async function replayOutcomes(
  store: Pick<Repositories, 'learning'>,
  policy: LearningPolicyInForce,
  { onFault = () => {}, onOutcome = () => {} }: ReplayOptions = {},
) {
  const { name } = policy.estimator;
  const secret = (await findSecret(store)) ?? [0, 0];
  const bound = new HostedMemory(name, { secret, onFault }).over(policy);
  const { reset, since } = await resetsOf(store);
  let outcomes = 0;
  let after = 0;
  for await (const rows of pagesOf((last) => store.learning.outcomes.after(last, PAGE), after)) {
    const taught = rows
      .filter((row) => isScore(row) && row.weight > 0 && row.id >= since(row.model))
      // Features of another plugin are unreadable.
      .map((row) => (row.estimator === name ? row : { ...row, features: null }));
    for (const step of orderSteps(taught, [], 0)) {
      const estimated = bound.memory.repeat(bound, step);
      if (step.kind !== 'outcome') continue;
      outcomes++;
      onOutcome(step.row, estimated ?? step.row.declared);
    }
    after = rows.at(-1)?.id ?? after;
  }
  /** The last outcome and reset in the memory. */
  const through: StoredPosition = { outcome: after, reset };
  return { outcomes, memory: bound.memory, through, known: bound.estimator?.known() ?? [] };
}

/** The last reset, and for each model the ID from which outcomes still count. */
async function resetsOf(store: Pick<Repositories, 'learning'>) {
  const resets = await store.learning.resets.after(0);
  const times = new Map(resets.map(({ model, at }) => [model, idAt(at)]));
  const since = (model: string) => Math.max(times.get(model) ?? 0, times.get(null) ?? 0);
  return { reset: resets.at(-1)?.id ?? 0, since };
}

/**
 * Replaces the stored memory of an estimator by a replay. No server may use the store meanwhile, because its
 * checkpoints would overwrite the result.
 * @throws StoreError; Error if the plugin cannot be saved
 */
export async function saveReplay(
  store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>,
  { memory, through }: ReplayResult,
  also: readonly Write[] = [],
): Promise<void> {
  const { name } = memory;
  const { memories } = store.learning;
  const saved = memory.save();
  if (!saved) throw new Error(`The estimator \`${name}\` cannot be saved, so nothing was replaced.`);
  await store.commit([
    ...partWrites(memories, name, { ...saved, everything: true }),
    memories.putPosition(name, through),
    ...also,
  ]);
}
