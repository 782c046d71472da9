import { chanceOf, gaussOf } from './chance.ts';
import { coarseTask, taskOf } from './coarse.ts';
import type { Data, Row } from './data.ts';
import { logitOf, sigmoid } from './logit.ts';
import type { Prediction } from './measure.ts';
import { type Declaration, policyOf } from './policy.ts';
import { RealPath } from './real-path.ts';
import type { Trial } from './trials.ts';

/** The deviation of errors in declared qualities, in log odds: about 5 points. */
const ERROR = 0.2;
/** The weight of the general quality, in rows, so that the quality for a task with few rows stays close to the general quality. */
const SHRINKAGE = 10;

/** Routers that are also measured with one C_ref for all requests. */
const FIXED: ReadonlySet<string> = new Set(['Signalbox, all known', 'Signalbox, tasks declared']);

type TaskOf = (row: Row) => string | null;
const noTask: TaskOf = () => null;
const categoryTask: TaskOf = ({ category }) => taskOf(category);
const coarseCategoryTask: TaskOf = ({ category }) => coarseTask(category);

interface Run {
  readonly router: string;
  readonly declaration: Declaration;
  readonly task: TaskOf;
}

/** Returns the predictions of Signalbox in each trial. */
export function signalboxPredictions(
  trials: readonly Trial[],
  models: Data['models'],
  progress: (text: string) => void,
): Prediction[] {
  const found = new Map<string, Float64Array[]>();
  for (const [at, trial] of trials.entries()) {
    for (const run of runsOf(trial, models)) {
      const predicted = found.get(run.router) ?? [];
      found.set(run.router, [...predicted, predictionsOf(run, trial, models)]);
    }
    progress(`${trial.pool.name}: split ${at + 1} of ${trials.length}`);
  }
  const measured = { outcomes: null, isFixedReference: false, isCalibrated: true };
  const predictions = [...found].map(([router, predicted]) => ({ router, predicted, ...measured }));
  const fixed = predictions.filter(({ router }) => FIXED.has(router));
  return [...predictions, ...fixed.map((one) => ({ ...one, isFixedReference: true }))];
}

function runsOf(trial: Trial, models: Data['models']): Run[] {
  const { declared, teach, seed } = trial;
  const general: Declaration = { general: declared, byTask: new Map() };
  const known = { router: 'Signalbox, all known', declaration: general, task: noTask };
  if (new Set(teach.rows.map(({ category }) => category)).size < 2) return [known];
  const fine = declaredBy(trial, (row) => [{ task: taskOf(row.category), share: 1 }]);
  const coarse = declaredBy(trial, (row) => [{ task: coarseTask(row.category), share: 1 }]);
  const probe = new RealPath(policyOf(trial, models, general));
  const seen = declaredBy(trial, (row) => probe.tasksOf(row.prompt));
  const wrong = withErrors(fine, chanceOf(seed + 11));
  return [
    known,
    { router: 'Signalbox, tasks declared', declaration: fine, task: categoryTask },
    { router: 'Signalbox, tasks declared, off by .2', declaration: wrong, task: categoryTask },
    ...(coarse.byTask.size < fine.byTask.size
      ? [{ router: 'Signalbox, coarse tasks declared', declaration: coarse, task: coarseCategoryTask }]
      : []),
    { router: 'Signalbox, tasks declared as it detects them', declaration: seen, task: noTask },
  ];
}

function predictionsOf({ declaration, task }: Run, trial: Trial, models: Data['models']): Float64Array {
  const { pool, test } = trial;
  const path = new RealPath(policyOf(trial, models, declaration));
  const inputOf = (row: Row) => ({ prompt: row.prompt, task: task(row) });
  return Float64Array.from(test.rows.flatMap((row) => path.qualities(inputOf(row), pool.models)));
}

/** Returns the declared qualities by task: means of the teaching rows, weighted by the probability of the task. */
export function declaredBy(
  { declared, teach }: Trial,
  tasksOf: (row: Row) => readonly { readonly task: string; readonly share: number }[],
): Declaration {
  const m = declared.length;
  const sums = new Map<string, { good: Float64Array; total: number }>();
  teach.rows.forEach((row, at) => {
    for (const { task, share } of tasksOf(row)) {
      const sum = sums.get(task) ?? { good: declared.map((quality) => SHRINKAGE * quality), total: SHRINKAGE };
      sum.total += share;
      for (let i = 0; i < m; i++) sum.good[i]! += share * teach.labels[at * m + i]!;
      sums.set(task, sum);
    }
  });
  sums.delete('general');
  const byTask = new Map([...sums].map(([task, { good, total }]) => [task, good.map((sum) => sum / total)]));
  return { general: declared, byTask };
}

/** Adds an independent error to every figure. */
function withErrors({ general, byTask }: Declaration, chance: () => number): Declaration {
  const off = (qualities: Float64Array) => qualities.map((share) => sigmoid(logitOf(share) + ERROR * gaussOf(chance)));
  return { general: off(general), byTask: new Map([...byTask].map(([task, all]) => [task, off(all)])) };
}
