import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastView } from '../src/routing/profile/ask.ts';
import { FEATURE_NAMES, visitFeatures } from '../src/routing/profile/features.ts';
import type { Profiled } from '../src/routing/profile/profile.ts';
import { TASKS } from '../src/routing/profile/tasks.ts';
import { fixed } from './stats.ts';

/**
 * `bun bench/fit-profile.ts`: fits the weights that tell a question's task and writes `src/routing/profile/weights.ts`:
 * a softmax regression on the labelled prompts that may be tuned on, with AdaGrad and a small L2 penalty, the same for the
 * same prompts. First, by leaving one set of prompts out after the other, how well it does on what it was not fitted to.
 */
const PROMPTS = join(import.meta.dir, '../test/routing/prompts');
const SETS = ['dev', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7'];
const EPOCHS = 30;
const RATE = 0.2;
/** Share of features that are left out of an example each time. */
const DROPPED = Number(process.env.DROP ?? 0.2);
const PENALTY = Number(process.env.L2 ?? 3e-4);

interface Labelled {
  readonly task: string;
  readonly request: Profiled;
}

interface Example {
  /** Features that are not 0: place and value. */
  readonly features: readonly (readonly [at: number, value: number])[];
  readonly task: number;
}

/** Of a set's prompts: images go by rules, not by weights. `weights`, as fitted so far, weigh the questions before. */
function examplesOf(name: string, weights: Float64Array): Example[] {
  const lines = readFileSync(join(PROMPTS, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n');
  return lines.flatMap((line) => {
    const { task, request }: Labelled = JSON.parse(line);
    const at = TASKS.indexOf(task as (typeof TASKS)[number]);
    const view = lastView(request, weights);
    if (at < 0 || view === null) return [];
    const features: (readonly [number, number])[] = [];
    visitFeatures(view, (place, value) => features.push([place, value]));
    return [{ features, task: at }];
  });
}

/** Numbers as chance would give them, and always the same. */
function lottery(): () => number {
  let state = 12_345;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

/** By feature, then by task. */
function fit(examples: readonly Example[]): Float64Array {
  const size = FEATURE_NAMES.length * TASKS.length;
  const weights = new Float64Array(size);
  const squares = new Float64Array(size).fill(1e-6);
  const draw = lottery();
  const order = examples.map((_, at) => at);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(draw() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    for (const at of order) step(thinned(examples[at]!, draw), weights, squares);
  }
  return weights.map((one) => Math.round(one * 100) / 100);
}

/** Without some of its features: words that nobody has thought of are missing in the same way. */
const thinned = ({ features, task }: Example, draw: () => number): Example => ({
  features: features.filter(([at]) => at === 0 || draw() >= DROPPED),
  task,
});

function step({ features, task }: Example, weights: Float64Array, squares: Float64Array): void {
  const likely = likelihoodsOf(features, weights);
  for (let t = 0; t < TASKS.length; t++) {
    const error = likely[t]! - (t === task ? 1 : 0);
    for (const [at, value] of features) {
      const place = at * TASKS.length + t;
      const slope = error * value + PENALTY * weights[place]!;
      squares[place]! += slope * slope;
      weights[place]! -= (RATE * slope) / Math.sqrt(squares[place]!);
    }
  }
}

function likelihoodsOf(features: Example['features'], weights: Float64Array): number[] {
  const sums = TASKS.map((_, t) =>
    features.reduce((sum, [at, value]) => sum + value * weights[at * TASKS.length + t]!, 0),
  );
  const most = Math.max(...sums);
  const odds = sums.map((sum) => Math.exp(sum - most));
  const all = odds.reduce((sum, one) => sum + one, 0);
  return odds.map((one) => one / all);
}

/** The share of examples whose likeliest task is the right one; where none is likelier than not, `general` is told. */
function accuracy(examples: readonly Example[], weights: Float64Array): number {
  const right = examples.filter(({ features, task }) => {
    const likely = likelihoodsOf(features, weights);
    const most = Math.max(...likely);
    return (most < 0.5 ? 0 : likely.indexOf(most)) === task;
  });
  return right.length / examples.length;
}

const setsBy = (weights: Float64Array) => new Map(SETS.map((name) => [name, examplesOf(name, weights)]));
const NOTHING = new Float64Array(FEATURE_NAMES.length * TASKS.length);
// Twice: what the first fit says of the questions before is what the second goes by.
const sets = setsBy(fit([...setsBy(NOTHING).values()].flat()));
for (const [name, examples] of sets) {
  const others = [...sets].flatMap(([other, all]) => (other === name ? [] : all));
  console.log(`${name}: ${fixed(100 * accuracy(examples, fit(others)))} % by weights fitted to the others`);
}

const weights = fit([...sets.values()].flat());
const rows = FEATURE_NAMES.flatMap((name, at) => {
  const row = [...weights.subarray(at * TASKS.length, (at + 1) * TASKS.length)];
  return row.every((one) => one === 0) ? [] : [`  ${JSON.stringify(name)}: [${row.join(', ')}],`];
});
writeFileSync(
  join(import.meta.dir, '../src/routing/profile/weights.ts'),
  `/**
 * What each feature of a question adds to the log-odds of each of \`TASKS\`. Written by \`bun bench/fit-profile.ts\`
 * from the labelled prompts of the tests; not to be edited by hand.
 */
export const WEIGHTS: Readonly<Record<string, readonly number[]>> = {
${rows.join('\n')}
};
`,
);
