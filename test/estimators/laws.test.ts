import { describe } from 'bun:test';
import fc from 'fast-check';
import type { EstimatorCatalog, EstimatorModel, Finding } from '../../src/contract/estimator.ts';
import { logitOf, moved, sigmoid } from '../../src/core/estimate.ts';
import {
  catalogs,
  empty,
  find,
  type Law,
  misfinding,
  modelOf,
  mutant,
  play,
  prepared,
  prove,
  question,
  steps,
  wrapped,
} from './worlds.ts';

const task = fc.nat(2);
const same = (a: Finding, b: Finding): boolean => Bun.deepEquals(a, b);
const isWithin = (value: number, from: number, to: number): boolean => value >= from && value <= to;

const cold: Law = {
  says: 'without outcomes and text, Q is exactly the declared quality',
  holds: (open) =>
    fc.property(catalogs, task, (catalog, at) => {
      const { quality, length } = find(open().over(catalog), catalog, at, null);
      return length === 0 && catalog.models.every((model, i) => Object.is(quality[i], model.quality[at]));
    }),
  mutants: {
    'log odds and back': misfinding((into, _, declared) => {
      declared.forEach((share, at) => {
        into.quality[at] = sigmoid(logitOf(share));
      });
    }),
    'a text of no length': misfinding((into, _, declared) => {
      declared.forEach((share, at) => {
        into.quality[at] = moved(share, 0.1);
      });
    }),
  },
};

const monotone: Law = {
  says: 'without outcomes, the length of a question swaps no two models',
  holds: (open) =>
    fc.property(catalogs, task, fc.array(question, { maxLength: 40 }), question, (catalog, at, before, text) => {
      const estimator = open().over(catalog);
      for (const seen of before) find(estimator, catalog, at, seen, true);
      const { quality } = find(estimator, catalog, at, text);
      const by = catalog.models.map((model, i) => [model.quality[at]!, quality[i]!] as const);
      return by.every(([before, after]) => by.every(([other, then]) => before < other || after >= then - 1e-15));
    }),
  mutants: {
    'length that weighs on good models alone': misfinding((into, _, declared) => {
      declared.forEach((share, at) => {
        into.quality[at] = share > 0.5 ? moved(share, -40 * Math.abs(into.length)) : share;
      });
    }),
  },
};

const reversed = ({ tasks, models }: EstimatorCatalog): EstimatorCatalog => ({ tasks, models: models.toReversed() });

const orderless: Law = {
  says: 'the order of the catalog changes nothing',
  holds: (open) =>
    fc.property(catalogs, steps, task, question, (catalog, lived, at, text) => {
      const [one, other] = [catalog, reversed(catalog)].map((seen) => {
        const estimator = open().over(seen);
        play(estimator, seen, lived);
        return find(estimator, seen, at, text);
      });
      return Bun.deepEquals([...one!.quality], [...other!.quality].reverse());
    }),
  mutants: {
    'earlier models that are better': misfinding(({ quality }) => {
      quality.forEach((share, at) => {
        quality[at] = share - at / 1_000;
      });
    }),
  },
};

const newcomer = modelOf('z', 0.95, [null, 0.2, null]);

const independent: Law = {
  says: 'a new model changes no other estimate, unless it is the first with a declared quality for a task',
  holds: (open) =>
    fc.property(catalogs, steps, task, question, (catalog, lived, at, text) => {
      const memory = open();
      play(memory.over(catalog), catalog, lived);
      const before = find(memory.over(catalog), catalog, at, text);
      const isDeclared = (task: number) => catalog.models.some(({ stated }) => stated[task] === 1);
      const stated = newcomer.stated.map((own, task) => (isDeclared(task) ? own : 0));
      const more = { ...catalog, models: [{ ...newcomer, stated }, ...catalog.models] };
      const after = find(memory.over(more), more, at, text);
      return Bun.deepEquals([...before.quality], [...after.quality].slice(1));
    }),
  mutants: {
    'estimates about the mean of the candidates': misfinding(({ quality }) => {
      const mean = quality.reduce((sum, share) => sum + share, 0) / quality.length;
      quality.forEach((share, at) => {
        quality[at] = share - mean;
      });
    }),
  },
};

const sound: Law = {
  says: 'after any requests and outcomes, Q is 0 to 1 and the sum of its parts',
  holds: (open) =>
    fc.property(catalogs, steps, task, fc.option(question, { nil: null }), (catalog, lived, at, text) => {
      const estimator = open().over(catalog);
      const estimated = play(estimator, catalog, lived);
      const { quality, length, outcomes, text: words, trust } = find(estimator, catalog, at, text);
      return (
        [...quality, ...estimated, trust].every((share) => isWithin(share, 0, 1)) &&
        catalog.models.every((model, i) => quality[i] === moved(model.quality[at]!, length + outcomes[i]! + words[i]!))
      );
    }),
  mutants: {
    'outcomes that are not told of': misfinding(({ outcomes }) => outcomes.fill(0)),
    'odds without a bound': misfinding(({ quality, length, outcomes }, _, declared) => {
      declared.forEach((share, at) => {
        quality[at] = share * (1 + length + outcomes[at]!);
      });
    }),
  },
};

/** `guessed` is worth 100 outcomes, a task's own quality a precision of 30 or more. */
function mostMoved(model: EstimatorModel, weight: number, error: number): number {
  const share = Math.min(0.98, Math.max(0.02, model.general));
  const precision = 100 * Math.max(0.05, share * (1 - share));
  return weight * Math.abs(error) * (1 / precision + 1 / 30);
}

const gradual: Law = {
  says: 'an outcome moves Q towards the score, by no more than its weight over that of the declaration',
  holds: (open) =>
    fc.property(
      catalogs,
      steps,
      fc.constantFrom(0, 1),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (catalog, lived, score, w) => {
        const estimator = open().over(catalog);
        play(estimator, catalog, lived);
        const before = find(estimator, catalog, 0, null).outcomes[0]!;
        const last = { model: 'a', task: 0, text: null, score, weight: w, probability: 1, among: 1 };
        play(estimator, catalog, [last]);
        const by = find(estimator, catalog, 0, null).outcomes[0]! - before;
        const model = catalog.models[0]!;
        const p = sigmoid(logitOf(model.quality[0]!) + before);
        const towards = (score - p) * by;
        return towards >= 0 && Math.abs(by) <= mostMoved(model, w, score - p) + 1e-6;
      },
    ),
  mutants: {
    'inverted scores': () => mutant((real) => ({ learn: (one) => real.learn({ ...one, score: 1 - one.score }) })),
    'ignored weights': () => mutant((real) => ({ learn: (one) => real.learn({ ...one, weight: 1 }) })),
    'an outcome that counts twice': () =>
      mutant((real) => ({
        learn(one) {
          real.learn({ ...one, weight: 1 });
          return real.learn(one);
        },
      })),
  },
};

/** Sets the declared quality of the first model at the first task to `share`. */
function edited({ tasks, models }: EstimatorCatalog, share: number): EstimatorCatalog {
  const [first, ...rest] = models;
  const { id, general, quality, stated } = first!;
  const figures = tasks.map((_, at) => (at === 0 ? share : stated[at] ? quality[at]! : null));
  return { tasks, models: [modelOf(id, general, figures), ...rest] };
}

const within = fc.double({ min: 0.05, max: 0.95, noNaN: true });
const scores = fc.array(fc.constantFrom(0, 1), { maxLength: 20 });

const editable: Law = {
  says: 'a new declared quality counts at once, by its share against the outcomes of the task',
  holds: (open) =>
    fc.property(catalogs, within, within, scores, (any, from, to, lived) => {
      const catalog = edited(any, from);
      const memory = open();
      const asked = lived.map((score) => ({
        model: 'a',
        task: 0,
        text: null,
        score,
        weight: 1,
        probability: 1,
        among: 1,
      }));
      const estimated = play(memory.over(catalog), catalog, asked);
      const mass = estimated.reduce((sum, p) => sum + Math.max(0.05, p * (1 - p)), 0);
      const after = edited(catalog, to);
      const [z, then] = [catalog, after].map((one) => {
        const { outcomes } = find(memory.over(one), one, 0, null);
        return logitOf(one.models[0]!.quality[0]!) + outcomes[0]!;
      });
      const expected = ((logitOf(to) - logitOf(from)) * 30) / (30 + mass);
      return Math.abs(then! - z! - expected) < 1e-5;
    }),
  mutants: {
    'shifts stored as shifts': () => {
      let kept: Float32Array | null = null;
      return wrapped(empty(), (real) => ({
        estimate(inquiry, into, seen) {
          real.estimate(inquiry, into, seen);
          if (!seen) into.outcomes.set(kept ?? into.outcomes);
          if (!seen) kept = into.outcomes.slice();
        },
      }));
    },
  },
};

/** Two memories before and after the same requests. */
const livesAlike: Law = {
  says: 'a saved and reopened memory continues unchanged',
  holds: (open) =>
    fc.property(catalogs, steps, steps, task, question, (catalog, before, after, at, text) => {
      const kept = open();
      play(kept.over(catalog), catalog, before);
      const parts = [...kept.save(true)].flatMap(([name, bytes]) => (bytes ? [[name, bytes] as const] : []));
      const opened = prepared.open(new Map(parts));
      const [one, other] = [kept, opened].map((memory) => {
        const estimator = memory.over(catalog);
        const estimated = play(estimator, catalog, after);
        return { estimated, known: estimator.known(), found: find(estimator, catalog, at, text) };
      });
      return (
        same(one!.found, other!.found) && Bun.deepEquals([one!.estimated, one!.known], [other!.estimated, other!.known])
      );
    }),
  mutants: {
    'without the shared words': () => without('shared'),
    'without own words': () => without('words:a'),
    'without the means of requests': () => without('tasks'),
  },
};

function without(part: string) {
  const memory = empty();
  return {
    ...wrapped(memory, () => ({})),
    save: () => new Map([...memory.save(true)].filter(([name]) => name !== part)),
  };
}

describe('learned:', () => {
  for (const law of [cold, monotone, orderless, independent, sound, gradual, editable, livesAlike]) prove(law);
});
