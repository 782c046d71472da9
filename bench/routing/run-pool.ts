import { readData } from './data.ts';
import { measure } from './measure.ts';
import { middleLambda } from './policy.ts';
import { poolsOf } from './pools.ts';
import { baselines } from './predict.ts';
import type { PoolReport } from './report.ts';
import { signalboxPredictions } from './signalbox.ts';
import { singlesOf } from './sweep.ts';
import { trialsOf } from './trials.ts';

/** The options of a run of one pool. */
export interface PoolTask {
  readonly folder: string;
  readonly pool: string;
  readonly splits: number;
  readonly resamples: number;
  readonly seed: number;
}

/** Runs all trials of one pool. */
export function runPool(task: PoolTask, progress: (text: string) => void): PoolReport {
  const began = performance.now();
  const data = readData(task.folder);
  const pool = poolsOf(data).find(({ name }) => name === task.pool);
  if (!pool) throw new Error(`${task.folder} has no pool ${task.pool}`);
  const trials = trialsOf(pool, data.parts.train, task.splits, task.seed);
  const simple = baselines(trials);
  progress(`${pool.name}: baselines`);
  const routed = signalboxPredictions(trials, data.models, progress);
  const entries = measure(trials, [...simple, ...routed], task.resamples, task.seed);
  const { teach, test, declared } = trials[0]!;
  const { points, aiq } = singlesOf(test, new Float64Array(test.rows.length).fill(1));
  const m = pool.models.length;
  const bests = test.rows.map((_, row) => Math.max(...test.labels.subarray(row * m, (row + 1) * m)));
  return {
    pool: pool.name,
    source: pool.source,
    models: pool.models,
    taught: teach.rows.length,
    tested: test.rows.length,
    lambda: middleLambda(declared, teach),
    hull: aiq,
    oracle: bests.reduce((sum, value) => sum + value, 0) / bests.length,
    singles: points,
    entries,
    seconds: (performance.now() - began) / 1_000,
  };
}
