import { expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import { learned } from '../../plugins/estimators/learned.ts';
import { anyText as anyTextOf } from '../../src/conformance/any-text.ts';
import {
  declaredQualities,
  type PastRequest,
  pastRequests,
  replay,
  TASKS,
} from '../../src/conformance/estimator-history.ts';
import type {
  Estimator,
  EstimatorCatalog,
  EstimatorMemory,
  EstimatorModel,
  Finding,
  PreparedEstimator,
} from '../../src/contract/estimator.ts';
import { effort } from '../deep/effort.ts';

const { runs: numRuns, seed, proved } = effort('learning', 50, 5_000);

const SECRET = [0x1234_5678, 0x9abc_def0] as const;

/** The shipped estimator with these options over its defaults. */
export function preparedWith(options: object = {}, secret: readonly [number, number] = SECRET): PreparedEstimator {
  const full = Value.Default(learned.options, Value.Clone(options));
  if (!Value.Check(learned.options, full)) throw new Error('these are no options of `learned`');
  return learned.prepare(full, secret);
}

export const prepared = preparedWith();
export const empty = (): EstimatorMemory => prepared.open(new Map());

/** A model of a policy; null tasks have the general quality. */
export function modelOf(id: string, general: number, tasks: readonly (number | null)[]): EstimatorModel {
  return {
    id,
    general,
    quality: Float64Array.from(tasks, (figure) => figure ?? general),
    stated: Uint8Array.from(tasks, (figure) => (figure === null ? 0 : 1)),
    basis: 'guessed',
  };
}

export function findingFor({ models }: EstimatorCatalog): Finding {
  const n = models.length;
  const [outcomes, text, counts] = [new Float32Array(n), new Float32Array(n), new Float32Array(n)];
  return { quality: new Float64Array(n), outcomes, text, counts, length: 0, trust: 0 };
}

/** The finding for a question that is only explained. */
export function find(
  estimator: Estimator,
  catalog: EstimatorCatalog,
  task: number,
  text: string | null,
  seen = false,
): Finding {
  const into = findingFor(catalog);
  const features = text === null ? null : prepared.read(text);
  estimator.estimate({ features, task, declared: declaredQualities(catalog, task) }, into, seen);
  return into;
}

/** Applies requests to an estimator; returns the estimate before each outcome. */
export const play = (estimator: Estimator, catalog: EstimatorCatalog, steps: readonly PastRequest[]): number[] =>
  replay(estimator, prepared, { catalog, steps });

const IDS = ['a', 'b', 'c', 'd', 'e'];
const share = fc.oneof(fc.constantFrom(0, 0.5, 0.9, 1), fc.double({ min: 0, max: 1, noNaN: true }));

export const anyText = anyTextOf(60);

/** Words that repeat, as in real questions. */
const wordy: fc.Arbitrary<string> = fc
  .array(fc.constantFrom('poem', 'integral', 'Why', '?', 'sum', '12', '\n', 'A. ', 'function', 'ż'), { maxLength: 9 })
  .map((words) => words.join(' '));

export const question: fc.Arbitrary<string> = fc.oneof({ weight: 4, arbitrary: wordy }, anyText);

export const catalogs: fc.Arbitrary<EstimatorCatalog> = fc
  .array(fc.tuple(share, fc.array(fc.option(share), { minLength: TASKS.length, maxLength: TASKS.length })), {
    minLength: 2,
    maxLength: 4,
  })
  .map((all) => ({ tasks: TASKS, models: all.map(([general, tasks], at) => modelOf(IDS[at]!, general, tasks)) }));

export const steps = pastRequests(question, 12);

/** The shipped estimator with a plausible mistake. */
export const mutant = (change: (real: Estimator, catalog: EstimatorCatalog) => Partial<Estimator>): EstimatorMemory =>
  wrapped(empty(), change);

export function wrapped(
  memory: EstimatorMemory,
  change: (real: Estimator, catalog: EstimatorCatalog) => Partial<Estimator>,
): EstimatorMemory {
  return {
    over(catalog) {
      const real = memory.over(catalog);
      const plain: Estimator = {
        estimate: (inquiry, into, seen) => real.estimate(inquiry, into, seen),
        learn: (outcome) => real.learn(outcome),
        known: () => real.known(),
        telling: (...asked) => real.telling(...asked),
      };
      return { ...plain, ...change(real, catalog) };
    },
    forget: (model) => memory.forget(model),
    save: (everything) => memory.save(everything),
  };
}

/** A mutant that changes the finding. */
export const misfinding = (change: (into: Finding, catalog: EstimatorCatalog, declared: Float64Array) => void) => () =>
  mutant((real, catalog) => ({
    estimate(inquiry, into, seen) {
      real.estimate(inquiry, into, seen);
      change(into, catalog, inquiry.declared);
    },
  }));

export interface Law {
  /** The law in a sentence. */
  readonly says: string;
  /** Whether it holds in one case, with fresh memories. */
  holds(open: () => EstimatorMemory): fc.IProperty<unknown>;
  /** Estimators that break it, by name; the test must detect each. */
  readonly mutants: Readonly<Record<string, () => EstimatorMemory>>;
}

/** Tests the law against the shipped estimator and each mutant. */
export function prove({ says, holds, mutants }: Law): void {
  test(says, () => {
    fc.assert(holds(empty), { numRuns, seed });
    proved(says);
  });
  for (const [name, open] of Object.entries(mutants)) {
    test(`${says} (${name} breaks it)`, () => {
      expect(fc.check(holds(open), { numRuns: 3_000, endOnFailure: true }).failed).toBe(true);
    });
  }
}
