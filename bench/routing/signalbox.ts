import { logitOf, sigmoid } from '../../src/core/estimate.ts';
import { chanceOf, gaussOf } from './chance.ts';
import { coarseTask, taskOf } from './coarse.ts';
import type { Data, Row } from './data.ts';
import type { Prediction } from './measure.ts';
import { type Declaration, policyOf } from './policy.ts';
import { outcomesOf } from './predict.ts';
import { RealPath } from './real-path.ts';
import type { Trial } from './trials.ts';

/** Chats per batch before their scores; a batch is one sync of the disk. */
const FULL_BATCH = 64;
const BANDIT_BATCH = 10;
/** Deviation of errors in declared qualities, in log odds: about 5 points. */
const ERROR = 0.2;
/** Chats without scores before any outcome. */
const UNSCORED = 100;
/** Weight of the general quality, in rows, so that a task with few rows stays near it. */
const SHRINKAGE = 10;

/** Also measured with one C_ref for all requests. */
const FIXED: readonly (readonly [router: string, outcomes: number])[] = [
  ['Signalbox, all known', 0],
  ['Signalbox, all known', 1_500],
  ['Signalbox, tasks declared', 0],
];

type TaskOf = (row: Row) => string | null;
const noTask: TaskOf = () => null;
const categoryTask: TaskOf = ({ category }) => taskOf(category);
const coarseCategoryTask: TaskOf = ({ category }) => coarseTask(category);

/** Predictions of all trials, by router and outcomes. */
type Predictions = Map<string, { router: string; outcomes: number; predicted: Float64Array[] }>;

interface Run {
  readonly router: string;
  readonly declaration: Declaration;
  readonly task: TaskOf;
  /** How it is taught; null for not at all. */
  readonly teach: 'all' | 'chosen' | null;
  /** Whether to report it before any outcome. */
  readonly isColdShown: boolean;
}

/** Predictions of Signalbox in each trial, cold and after outcomes. */
export async function signalboxPredictions(
  trials: readonly Trial[],
  models: Data['models'],
  progress: (text: string) => void,
): Promise<Prediction[]> {
  const found: Predictions = new Map();
  for (const [at, trial] of trials.entries()) {
    for (const run of await runsOf(trial, models)) await carryOut(run, trial, models, outcomesOf(trials), found);
    progress(`${trial.pool.name}: split ${at + 1} of ${trials.length}`);
  }
  const predictions = [...found.values()].map((one) => ({ ...one, isFixedReference: false, isCalibrated: true }));
  const fixed = predictions
    .filter(({ router, outcomes }) => FIXED.some(([name, count]) => name === router && count === outcomes))
    .map((one) => ({ ...one, isFixedReference: true }));
  return [...predictions, ...fixed];
}

async function runsOf(trial: Trial, models: Data['models']): Promise<Run[]> {
  const { declared, teach, seed } = trial;
  const general: Declaration = { general: declared, byTask: new Map(), explores: false };
  const plain = { declaration: general, task: noTask };
  const runs: Run[] = [
    { router: 'Signalbox, all known', ...plain, teach: 'all', isColdShown: true },
    { router: 'Signalbox, one known, greedy', ...plain, teach: 'chosen', isColdShown: false },
    {
      router: 'Signalbox, one known, exploring',
      declaration: { ...general, explores: true },
      task: noTask,
      teach: 'chosen',
      isColdShown: false,
    },
  ];
  if (new Set(teach.rows.map(({ category }) => category)).size < 2) return runs;
  const fine = declaredBy(trial, (row) => [{ task: taskOf(row.category), share: 1 }]);
  const coarse = declaredBy(trial, (row) => [{ task: coarseTask(row.category), share: 1 }]);
  const probe = await RealPath.open(policyOf(trial, models, general));
  const seen = declaredBy(trial, (row) => probe.tasksOf(row.prompt));
  await probe.close();
  const untaught = { teach: null, isColdShown: true };
  const chance = chanceOf(seed + 11);
  const wrong = { ...withErrors(fine, chance), explores: false };
  return [
    ...runs,
    { router: 'Signalbox, tasks declared', declaration: fine, task: categoryTask, teach: 'all', isColdShown: true },
    { router: 'Signalbox, tasks declared, off by .2', declaration: wrong, task: categoryTask, ...untaught },
    ...(coarse.byTask.size < fine.byTask.size
      ? [{ router: 'Signalbox, coarse tasks declared', declaration: coarse, task: coarseCategoryTask, ...untaught }]
      : []),
    { router: 'Signalbox, tasks declared as it detects them', declaration: seen, task: noTask, ...untaught },
  ];
}

async function carryOut(
  { router, declaration, task, teach, isColdShown }: Run,
  trial: Trial,
  models: Data['models'],
  counts: readonly number[],
  found: Predictions,
): Promise<void> {
  const path = await RealPath.open(policyOf(trial, models, declaration));
  const note = async (outcomes: number) => {
    const name = `${router}/${outcomes}`;
    const entry = found.get(name) ?? { router, outcomes, predicted: [] };
    entry.predicted.push(await predictionsOf(path, trial, task));
    found.set(name, entry);
  };
  try {
    if (isColdShown) {
      await meet(path, trial, task);
      await note(0);
    }
    let from = 0;
    for (const to of teach ? counts : []) {
      await (teach === 'all' ? teachAll : teachChosen)(path, trial, task, from, to);
      // Learned state must survive the process.
      await path.reopen();
      await note(to);
      from = to;
    }
  } finally {
    await path.close();
  }
}

/** The first chats are not scored: a gateway sees requests before outcomes. */
async function meet(path: RealPath, { teach }: Trial, task: TaskOf): Promise<void> {
  for (const row of teach.rows.slice(0, UNSCORED)) await path.chat({ prompt: row.prompt, task: task(row) }, null);
}

async function predictionsOf(path: RealPath, { pool, test }: Trial, task: TaskOf): Promise<Float64Array> {
  const predicted: number[] = [];
  for (const row of test.rows) {
    predicted.push(...(await path.qualities({ prompt: row.prompt, task: task(row) }, pool.models)));
  }
  return Float64Array.from(predicted);
}

/** Every model answers every prompt, and each answer is scored. */
async function teachAll(path: RealPath, { pool, teach }: Trial, task: TaskOf, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += FULL_BATCH) {
    const scores = [];
    for (let row = at; row < Math.min(at + FULL_BATCH, to); row++) {
      const input = { prompt: teach.rows[row]!.prompt, task: task(teach.rows[row]!) };
      for (const [i, model] of pool.models.entries()) {
        scores.push({ chat: await path.chat(input, model), score: teach.labels[row * pool.models.length + i]! });
      }
    }
    await path.score(scores);
  }
}

/** Only the chosen model answers and is scored. */
async function teachChosen(
  path: RealPath,
  { pool, teach }: Trial,
  task: TaskOf,
  from: number,
  to: number,
): Promise<void> {
  for (let at = from; at < to; at += BANDIT_BATCH) {
    const scores = [];
    for (let row = at; row < Math.min(at + BANDIT_BATCH, to); row++) {
      const chat = await path.chat({ prompt: teach.rows[row]!.prompt, task: task(teach.rows[row]!) }, null);
      const i = pool.models.indexOf(chat.model);
      scores.push({ chat, score: teach.labels[row * pool.models.length + i]! });
    }
    await path.score(scores);
  }
}

/** Declared qualities by task: means of the teaching rows, weighted by the probability of the task. */
function declaredBy(
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
  return { general: declared, byTask, explores: false };
}

/** Adds an independent error to every figure. */
function withErrors({ general, byTask, explores }: Declaration, chance: () => number): Declaration {
  const off = (qualities: Float64Array) => qualities.map((share) => sigmoid(logitOf(share) + ERROR * gaussOf(chance)));
  return { general: off(general), byTask: new Map([...byTask].map(([task, all]) => [task, off(all)])), explores };
}
