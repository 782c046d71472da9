import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { gunzipSync } from 'bun';
import { learned } from '../plugins/estimators/learned.ts';
import type {
  Estimator,
  EstimatorCatalog,
  EstimatorMemory,
  Finding,
  PreparedEstimator,
} from '../src/contract/estimator.ts';
import { fixed, quantile, table, timedInBlocks } from './stats.ts';

/**
 * `npm run bench:learned`: what the estimator `learned` takes for a request and for an outcome, in one run with an
 * estimator that gives back what is declared and learns nothing. All take turns in blocks, so that a slow moment meets
 * each of them. Questions are made-up English of about 416 characters, or, with `--data <folder>`, the first prompts of
 * `train.jsonl.gz` there. `--quick` for a look.
 */
const SAMPLES = process.argv.includes('--quick') ? 4_000 : 40_000;
const WARM_UP = 6_000;
const BLOCK = 50;
const VARIANTS = 256;
const CHARS_MEAN = 416;
const LESSONS = 3_000;

const SUBJECTS = 'committee engine river contract theorem patient market violin glacier parser bridge enzyme'.split(
  ' ',
);
const VERBS = 'explains delays improves measures replaces describes rejects follows translates'.split(' ');
const ASKED = [
  'Which of these is right?',
  'Why is that so?',
  'Calculate the total of 12, 340 and 7.',
  'Name two reasons.',
];

/** Always the same numbers, as chance would give them. */
function lottery(): () => number {
  let state = 12_345;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

const draw = lottery();
const pick = (words: readonly string[]): string => words[Math.floor(draw() * words.length)]!;

/** Most are short and a few long, as questions are. */
function question(): string {
  const chars = Math.min(4_000, -Math.log(1 - draw()) * CHARS_MEAN);
  let text = pick(ASKED);
  while (text.length < chars)
    text += ` The ${pick(SUBJECTS)} ${pick(VERBS)} the ${pick(SUBJECTS)}${draw() < 0.2 ? '.\n' : ','}`;
  return text;
}

/** The first prompts of a folder of labelled ones, a JSON object with `prompt` in each line. */
function promptsIn(folder: string): string[] {
  const lines = new TextDecoder().decode(gunzipSync(readFileSync(join(folder, 'train.jsonl.gz')))).split('\n');
  return lines.slice(0, VARIANTS).map((line) => {
    const { prompt }: { prompt: string } = JSON.parse(line);
    return prompt;
  });
}

const flag = process.argv.indexOf('--data');
const folder = flag < 0 ? undefined : process.argv[flag + 1];
const texts = folder === undefined ? Array.from({ length: VARIANTS }, question) : promptsIn(folder);
const TASKS = ['general', 'code', 'maths'];

function catalogOf(models: number): EstimatorCatalog {
  const all = Array.from({ length: models }, (_, at) => {
    const general = 0.4 + (0.5 * at) / models;
    const [quality, stated] = [new Float64Array(TASKS.length).fill(general), new Uint8Array(TASKS.length)];
    return { id: `model-${at}`, general, quality, stated, basis: 'measured' as const };
  });
  return { tasks: TASKS, models: all };
}

const declaredOf = ({ models }: EstimatorCatalog) => Float64Array.from(models, ({ general }) => general);

function findingFor({ models: { length } }: EstimatorCatalog): Finding {
  const [outcomes, text, counts] = [new Float32Array(length), new Float32Array(length), new Float32Array(length)];
  return { quality: new Float64Array(length), outcomes, text, counts, length: 0, trust: 0 };
}

const prepared: PreparedEstimator = learned.prepare(
  Value.Parse(learned.options, Value.Default(learned.options, {})),
  [0x1234_5678, 0x9abc_def0],
);
const features = texts.map((text) => prepared.read(text));

const declaredOnly: Estimator = {
  estimate({ declared }, into) {
    into.quality.set(declared);
    into.outcomes.fill(0);
    into.text.fill(0);
    into.counts.fill(0);
    into.length = 0;
    into.trust = 0;
  },
  learn: ({ declared }) => declared,
  known: () => [],
  telling: () => [],
};

/** A memory of many outcomes of the first so many models. */
function taught(catalog: EstimatorCatalog, models: number): EstimatorMemory {
  const memory = prepared.open(new Map());
  const estimator = memory.over(catalog);
  for (let lesson = 0; lesson < LESSONS; lesson++) learnOne(estimator, catalog, lesson, models);
  return memory;
}

function learnOne(estimator: Estimator, catalog: EstimatorCatalog, turn: number, models: number): void {
  const model = turn % models;
  const declared = catalog.models[model]!.general;
  const score = (turn * 7 + model) % 3 === 0 ? 0 : 1;
  const chance = { weight: 1, probability: 1 / models, among: models };
  estimator.learn({ features: features[turn % VARIANTS]!, task: turn % 3, model, declared, score, ...chance });
}

type Work = (turn: number) => void;

function estimating(estimator: Estimator, catalog: EstimatorCatalog, reads: boolean): Work {
  const [declared, into] = [declaredOf(catalog), findingFor(catalog)];
  return (turn) => {
    const at = turn % VARIANTS;
    const given = reads ? prepared.read(texts[at]!) : features[at]!;
    estimator.estimate({ features: given, task: turn % 3, declared }, into, true);
  };
}

const [two, ten, twenty, thousand] = [2, 10, 20, 1_000].map(catalogOf) as [
  EstimatorCatalog,
  EstimatorCatalog,
  EstimatorCatalog,
  EstimatorCatalog,
];
const learner = taught(ten, 10).over(ten);
const long = 'The committee met, and 12 of them objected. '.repeat(2_500);

const works: Readonly<Record<string, Work>> = {
  'declared only: 10 models': estimating(declaredOnly, ten, false),
  'declared only: 1,000 models': estimating(declaredOnly, thousand, false),
  features: (turn) => prepared.read(texts[turn % VARIANTS]!),
  'features of 110 KB': () => prepared.read(long),
  'estimate: 2 models': estimating(taught(two, 2).over(two), two, false),
  'estimate: 10 models': estimating(taught(ten, 10).over(ten), ten, false),
  'estimate: 20 models': estimating(taught(twenty, 20).over(twenty), twenty, false),
  'estimate: 1,000 models, 10 of them taught': estimating(taught(thousand, 10).over(thousand), thousand, false),
  'features and estimate: 10 models': estimating(taught(ten, 10).over(ten), ten, true),
  'an outcome': (turn) => learnOne(learner, ten, turn, 10),
};

const timed = timedInBlocks(Object.values(works), { samples: SAMPLES, warmUp: WARM_UP, block: BLOCK });
const rows = timed.map((times, at) => {
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
  return [Object.keys(works)[at]!, fixed(mean), fixed(quantile(times, 0.5)), fixed(quantile(times, 0.99))];
});
const chars = texts.reduce((sum, { length }) => sum + length, 0) / VARIANTS;
console.log(
  `${cpus()[0]?.model}, Bun ${Bun.version}, ${SAMPLES} samples each, ${fixed(chars, 0)} characters in the mean\n`,
);
console.log(table([['work', 'mean µs', 'p50 µs', 'p99 µs'], ...rows]));
