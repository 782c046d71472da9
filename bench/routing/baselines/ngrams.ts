import { chanceOf, shuffled } from '../chance.ts';
import type { Row } from '../data.ts';
import { logitOf, sigmoid } from '../logit.ts';
import type { Sheet } from '../pools.ts';

const BUCKETS = 1 << 16;
/** Tuned on `train` rows of mmlu-pro, with one half teaching the other. */
const RATE = 0.02;
const EPOCHS = 4;
const DECAY = 1e-4;

/** Returns hashed words and pairs of neighbouring words. Each word and pair counts once, and the vector has length 1. */
function bucketsOf(prompt: string): Uint32Array {
  const found = new Set<number>();
  let before = 0;
  for (const [word] of prompt
    .slice(0, 4_000)
    .toLowerCase()
    .matchAll(/[a-z]+|\d+|[^\sa-z\d]/g)) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
    found.add((hash ^ (hash >>> 15)) & (BUCKETS - 1));
    const pair = Math.imul(hash ^ before, 0x85ebca6b);
    if (before !== 0) found.add((pair ^ (pair >>> 13)) & (BUCKETS - 1));
    before = hash;
  }
  return Uint32Array.from(found);
}

const bucketsByRow = new WeakMap<Row, Uint32Array>();

function bucketsOfRow(row: Row): Uint32Array {
  const cached = bucketsByRow.get(row);
  if (cached) return cached;
  const buckets = bucketsOf(row.prompt);
  bucketsByRow.set(row, buckets);
  return buckets;
}

/** A logistic regression over hashed 1- and 2-grams, by AdaGrad over a few epochs. */
class Head {
  readonly #weights = new Float32Array(BUCKETS);
  readonly #squares = new Float32Array(BUCKETS).fill(1e-6);
  #bias: number;
  #biasSquares = 1;

  constructor(bias: number) {
    this.#bias = bias;
  }

  logit(buckets: Uint32Array): number {
    let sum = 0;
    for (const at of buckets) sum += this.#weights[at]!;
    return this.#bias + sum / Math.sqrt(Math.max(1, buckets.length));
  }

  learn(buckets: Uint32Array, target: number, offset = 0): void {
    const error = target - sigmoid(this.logit(buckets) + offset);
    const value = 1 / Math.sqrt(Math.max(1, buckets.length));
    for (const at of buckets) {
      const gradient = error * value - DECAY * this.#weights[at]!;
      this.#squares[at]! += gradient * gradient;
      this.#weights[at]! += (RATE * gradient) / Math.sqrt(this.#squares[at]!);
    }
    this.#biasSquares += error * error;
    this.#bias += (RATE * error) / Math.sqrt(this.#biasSquares);
  }
}

/**
 * Trains a head for each model on the first rows of `teach` with all labels. Each head begins at the model's declared quality. Returns the
 * predictions for `test`.
 */
export function ngramPredictions(
  teach: Sheet,
  count: number,
  test: Sheet,
  declared: Float64Array,
  seed: number,
): Float64Array {
  const m = declared.length;
  const heads = Array.from(declared, (share) => new Head(logitOf(share)));
  const chance = chanceOf(seed);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (const row of shuffled(count, chance)) {
      const buckets = bucketsOfRow(teach.rows[row]!);
      heads.forEach((head, i) => {
        head.learn(buckets, teach.labels[row * m + i]!);
      });
    }
  }
  const predicted = new Float64Array(test.labels.length);
  test.rows.forEach((row, at) => {
    heads.forEach((head, i) => {
      predicted[at * m + i] = sigmoid(head.logit(bucketsOfRow(row)));
    });
  });
  return predicted;
}

/** Returns the difficulty of prompts, learned from other sources: one head for all models, in addition to each model's mean. */
export function foreignDifficulty(foreign: readonly Row[], test: readonly Row[], seed: number): Float64Array {
  const sums = new Map<string, [sum: number, count: number]>();
  for (const { source, labels } of foreign) {
    for (const [model, label] of labels) {
      const [sum, count] = sums.get(`${source}/${model}`) ?? [0, 0];
      sums.set(`${source}/${model}`, [sum + label, count + 1]);
    }
  }
  const usual = (source: string, model: string): number => {
    const [sum, count] = sums.get(`${source}/${model}`)!;
    return sum / count;
  };
  const head = new Head(0);
  const chance = chanceOf(seed);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (const at of shuffled(foreign.length, chance)) {
      const { source, labels } = foreign[at]!;
      let [got, expected] = [0, 0];
      for (const [model, label] of labels) {
        got += label / labels.size;
        expected += usual(source, model) / labels.size;
      }
      head.learn(bucketsOfRow(foreign[at]!), got, logitOf(expected));
    }
  }
  return Float64Array.from(test, (row) => -head.logit(bucketsOfRow(row)));
}
