import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readData } from './routing/data.ts';
import { writePlots } from './routing/plots.ts';
import { poolsOf } from './routing/pools.ts';
import { type PoolReport, textOf, tiersText } from './routing/report.ts';
import type { PoolTask } from './routing/run-pool.ts';
import { tierEntries } from './routing/tiers.ts';
import { trialsOf } from './routing/trials.ts';
import type { WorkerMessage } from './routing/worker.ts';

/**
 * `npm run bench:routing -- --data FOLDER`: measures how well Signalbox routes prompts with scored answers, compared with simple routers,
 * some of which learn from outcomes. The folder contains `*.jsonl` or `*.jsonl.gz` files, with lines `{id, source, prompt, labels: {model:
 * 0..1}, category?}`, and `models.json` with prices. Files with `train` in their names are used for teaching, files with `test` are of the
 * same sources, and all others are held out.
 *
 * Runs with the same seed give the same figures.
 *
 * `--splits N` (16), `--seed N` (1), `--resamples N` (1000), `--only TEXT`: pools whose names contain it, `--quick`: 2 splits and 100
 * resamples, `--json FILE`, `--plots FOLDER`: SVG figures. `--tiers`: measures only tiers and escalation, see `routing/tiers.ts`.
 */
const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    splits: { type: 'string' },
    seed: { type: 'string', default: '1' },
    resamples: { type: 'string' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    plots: { type: 'string' },
    tiers: { type: 'boolean', default: false },
  },
});

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  const value = Number(text ?? otherwise);
  return Number.isInteger(value) && value > 0 ? value : fail(`--${name} must be a whole number above 0`);
}

const folder = values.data ?? fail('--data FOLDER is needed: labelled prompts, see bench/routing.ts');
const splits = wholeNumber('splits', values.splits, values.quick ? 2 : 16);
const resamples = wholeNumber('resamples', values.resamples, values.quick ? 100 : 1_000);
const seed = wholeNumber('seed', values.seed, 1);

/** The longest tasks come first, so that all cores are busy to the end. */
function tasks(): PoolTask[] {
  const data = readData(folder);
  const pools = poolsOf(data).filter(({ name }) => name.includes(values.only));
  if (pools.length === 0) fail(`no pool of ${folder} has “${values.only}” in its name`);
  const size = ({ models, test, train }: (typeof pools)[number]) =>
    models.length * (train ? train.rows.length : test.rows.length);
  return pools.sort((a, b) => size(b) - size(a)).map(({ name }) => ({ folder, pool: name, splits, resamples, seed }));
}

const runInWorker = (task: PoolTask): Promise<PoolReport> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./routing/worker.ts', import.meta.url));
    const end = (settle: () => void) => {
      worker.terminate();
      settle();
    };
    worker.onmessage = ({ data: said }: MessageEvent<WorkerMessage>) => {
      if ('progress' in said) console.error(said.progress);
      else if ('report' in said) end(() => resolve(said.report));
      else end(() => reject(new Error(said.failed)));
    };
    worker.onerror = ({ message }) => end(() => reject(new Error(message)));
    worker.postMessage(task);
  });

/** Runs a worker for each core, at most 4. */
async function runAll(all: readonly PoolTask[]): Promise<PoolReport[]> {
  const reports: PoolReport[] = [];
  let next = 0;
  const lane = async () => {
    while (next < all.length) {
      const report = await runInWorker(all[next++]!);
      console.log(textOf(report));
      reports.push(report);
    }
  };
  await Promise.all(Array.from({ length: Math.min(4, cpus().length) }, lane));
  return reports.sort((a, b) => (a.pool < b.pool ? -1 : 1));
}

/** Measures tiers and escalation on all pools. */
function reportTiers(): void {
  const data = readData(folder);
  const pools = poolsOf(data).filter(({ name }) => name.includes(values.only));
  console.log(`${splits} splits, ${resamples} resamples of rows, seed ${seed}. In brackets: 95 %.\n`);
  for (const pool of pools) {
    const trials = trialsOf(pool, data.parts.train, splits, seed);
    const entries = tierEntries(trials, data.models, resamples, seed, (text) => console.error(text));
    console.log(`${pool.name}, ${pool.models.length} models:\n\n${tiersText(entries)}\n`);
  }
}

if (values.tiers) {
  reportTiers();
  process.exit(0);
}

let all: PoolTask[];
try {
  all = tasks();
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
console.log(
  `${cpus()[0]?.model}, Bun ${Bun.version}; ${splits} splits, ${resamples} resamples of rows, seed ${seed}. In brackets: 95 %.\n`,
);
const began = performance.now();
const reports = await runAll(all);
if (values.json) {
  writeFileSync(values.json, `${JSON.stringify({ splits, resamples, seed, pools: reports }, null, 1)}\n`);
}
if (values.plots) {
  mkdirSync(values.plots, { recursive: true });
  for (const name of writePlots(reports, values.plots)) console.log(join(values.plots, name));
}
console.log(`${((performance.now() - began) / 60_000).toFixed(1)} minutes in all`);
process.exit(0);
