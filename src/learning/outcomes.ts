import { idAt } from '../core/id.ts';
import type { Store } from '../store/store.ts';
import { Brier } from './brier.ts';
import { takeNote } from './estimates.ts';
import type { LearningPolicyInForce } from './learner.ts';
import { type Bound, type EstimatorFault, Memory, type Through } from './memory.ts';
import { isNew } from './met.ts';
import { findSecret } from './secret.ts';
import {
  insertReset,
  type OutcomeRow,
  SELECT_LATEST,
  SELECT_RESETS_SINCE,
  SELECT_TAUGHT,
  type TaughtRow,
} from './tables.ts';

const BATCH = 1_000;
/** One answer has several outcomes, not far from each other. */
const MET_MAX = 10_000;

export interface OutcomeQuery {
  readonly most: number;
  /** Only those before this ID. */
  readonly before?: number;
  /** ID of a model. */
  readonly model?: string;
  readonly source?: OutcomeRow['source'];
}

/** Lines of the log of outcomes, the latest first. Rejects with StoreError. */
export const listOutcomes = (
  store: Pick<Store, 'query'>,
  { most, before = Number.MAX_SAFE_INTEGER, model, source }: OutcomeQuery,
): Promise<OutcomeRow[]> => store.query<OutcomeRow>(SELECT_LATEST, [before, most, model ?? null, source ?? null]);

/**
 * Has what was learnt of a model forgotten, by its ID, or everything with null. A server beside takes it over when it looks
 * next, others at their start. The log of outcomes stays. Rejects with StoreError.
 */
export const resetLearnt = (store: Pick<Store, 'commit'>, model: string | null, now: number): Promise<void> =>
  store.commit([insertReset(model, now)]);

export interface ReplayOptions {
  readonly onFault?: EstimatorFault;
  /** Told of each outcome once it is learnt, with what was estimated before it. */
  readonly onOutcome?: (outcome: TaughtRow, estimated: number) => void;
}

/** What the log of outcomes comes to when it is learnt from the beginning. */
export interface Replay {
  readonly outcomes: number;
  /** What has learnt it, and up to where. */
  readonly memory: Memory;
  readonly through: Through;
  /** Mean squared error of the latest scores of callers, of what was declared and of what was estimated before each; NaN without one. */
  readonly brier: { readonly declared: number; readonly estimated: number };
  readonly known: ReturnType<NonNullable<ReturnType<Memory['over']>['estimator']>['known']>;
}

/**
 * Learns the kept outcomes from the beginning, as a policy would have, but for those that were reset. Changes nothing that is
 * stored. Of questions whose time is over only the outcome counts. Rejects with StoreError.
 */
export async function replayOutcomes(
  store: Pick<Store, 'query'>,
  policy: LearningPolicyInForce,
  { onFault = () => {}, onOutcome = () => {} }: ReplayOptions = {},
): Promise<Replay> {
  const { name } = policy.estimator;
  const secret = (await findSecret(store)) ?? [0, 0];
  const bound = new Memory({ name, secret, onFault }, { parts: new Map(), steps: [] }).over(policy);
  const { reset, since } = await resetsOf(store);
  const brier = new Brier();
  const met = new Set<number>();
  let outcomes = 0;
  let after = 0;
  for (;;) {
    const rows = await store.query<TaughtRow>(SELECT_TAUGHT, [after, BATCH]);
    const taught = rows.filter(({ id, weight, model }) => weight > 0 && id >= since(model));
    const asked = taught
      .filter(({ decision, estimator }) => estimator === name && isNew(met, decision, MET_MAX))
      .sort((one, other) => one.decision - other.decision);
    let question = 0;
    for (const row of taught) {
      for (; question < asked.length && asked[question]!.decision < row.id; question++) {
        const { task, features } = asked[question]!;
        if (features) meet(policy, bound, task, features);
      }
      const features = row.estimator === name ? row.features : null;
      const { source, score, declared, weight, offered } = row;
      const estimated = bound.memory.learn(bound, { ...row, features }) ?? declared;
      outcomes++;
      if (source === 'caller') brier.note(score, { declared, estimated }, weight / offered);
      onOutcome({ ...row, features }, estimated);
    }
    const last = rows.at(-1);
    if (!last) break;
    after = last.id;
  }
  return {
    outcomes,
    memory: bound.memory,
    through: { outcome: after, reset },
    brier: { declared: brier.declared, estimated: brier.estimated },
    known: bound.estimator?.known() ?? [],
  };
}

/** The means of what is asked take note of a question, as they did when somebody asked it. */
function meet(policy: LearningPolicyInForce, bound: Bound, task: string, features: Uint8Array): void {
  if (policy.snapshot.taskIndex.has(task)) takeNote(policy, bound, { task, mix: [] }, features, false);
}

/** The last reset, and the least ID of an outcome, by its model, that no reset has made forgotten. */
async function resetsOf(store: Pick<Store, 'query'>): Promise<{ reset: number; since: (model: string) => number }> {
  const resets = await store.query<{ id: number; model: string | null; at: number }>(SELECT_RESETS_SINCE);
  const times = new Map(resets.map(({ model, at }) => [model, idAt(at)]));
  const since = (model: string) => Math.max(times.get(model) ?? 0, times.get(null) ?? 0);
  return { reset: resets.at(-1)?.id ?? 0, since };
}
