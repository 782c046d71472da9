import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../src/admin/use-cases/policy/hypothetical.ts';
import type { CloseModel, PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { readRouteRequest } from '../../src/dialects/openai-chat/reader.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { tries } from '../deep/effort.ts';
import { loaded } from '../routing/build.ts';

/** The laws of a reference price that the policy does not state. Each law comes with plausible wrong rules that it must detect. */
interface Line {
  readonly id: string;
  readonly quality: number;
  readonly input: number;
  readonly output: number;
  /** Whether the model's provider has a key in the environment. */
  readonly isSetUp: boolean;
}

interface Reference {
  readonly model: string | null;
  readonly input: number;
  readonly output: number;
}

/** Returns the reference price of a policy with these models. */
type Rule = (models: readonly Line[]) => Reference;

const SIZES = { input: 500, output: 400 };
const SHIPPED: Reference = { model: null, input: 1, output: 4 };
const ENV = { SET_KEY: 'key-of-the-test' };
const textOf = (models: readonly Line[], more = 'version: 2'): string => `${more}
providers:
  alone: { adapter: simulated }
  set: { adapter: openai-compatible, base_url: https://set.example, api_key_env: SET_KEY }
  unset: { adapter: openai-compatible, base_url: https://unset.example, api_key_env: UNSET_KEY }
models:
  embedder: { provider: alone, operations: [embed], embedding: { dimensions: 8 }, price: { input: 0.001, output: 0.001 }, context_window: 9000, max_output: 900, quality: { default: 1 } }
${models.map(lineOf).join('')}`;

const lineOf = ({ id, quality, input, output, isSetUp }: Line): string => {
  const provider = input + output === 0 ? 'alone' : isSetUp ? 'set' : 'unset';
  return `  ${id}: { provider: ${provider}, price: { input: ${input}, output: ${output} }, context_window: 9000, max_output: 900, quality: { default: ${quality} } }\n`;
};

const load = (models: readonly Line[], more?: string): PolicySnapshot => loaded(textOf(models, more), ENV);

const byLoader: Rule = (models) => {
  const { model, usd } = load(models).referenceOrigin;
  return { model, ...usd };
};

const isPriced = ({ input, output }: Line) => input > 0 && output > 0;
const cost = ({ input, output }: Pick<Line, 'input' | 'output'>) => input * SIZES.input + output * SIZES.output;
const best = (models: readonly Line[]) => Math.max(...models.map(({ quality }) => quality));

/** Makes a wrong rule: the first model in an order, of those that count. */
const first =
  (order: (a: Line, b: Line) => number, counts: (one: Line, all: readonly Line[]) => boolean): Rule =>
  (models) => {
    const [one] = models.filter((each) => isPriced(each) && counts(each, models)).sort(order);
    return one ? { model: one.id, input: one.input, output: one.output } : SHIPPED;
  };
const cheaper = (a: Line, b: Line) => cost(a) - cost(b);
const cheaperOrEarlier = (a: Line, b: Line) => cheaper(a, b) || (a.id < b.id ? -1 : 1);
const near = ({ quality }: Line, all: readonly Line[]) => quality >= best(all) - 0.15 - 1e-9;

const price = fc.constantFrom(0, 0.25, 0.5, 1, 2, 8, 32);
const lines: fc.Arbitrary<readonly Line[]> = fc
  .array(
    fc.record({
      quality: fc.constantFrom(0.2, 0.6, 0.75, 0.8, 0.85, 0.9),
      input: price,
      output: price,
      isSetUp: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .chain((all) =>
    fc
      .shuffledSubarray([...'abcdefgh'], { minLength: all.length, maxLength: all.length })
      .map((ids) => all.map((one, at) => ({ ...one, id: ids[at]! }))),
  );

interface RuleLaw {
  readonly says: string;
  holds(rule: Rule): fc.IProperty<unknown[]>;
  readonly mutants: Readonly<Record<string, Rule>>;
}

const SAME = (a: Reference, b: Reference) => Bun.deepEquals(a, b);

const LAWS: readonly RuleLaw[] = [
  {
    says: 'it is the price of the cheapest priced model within 0.15 of the best, or of the best priced model, and of equal models the ID decides',
    holds: (rule) =>
      fc.property(lines, (models) => {
        const priced = models.filter(isPriced);
        const found = rule(models);
        if (priced.length === 0) return SAME(found, SHIPPED);
        const compared = priced.some((one) => near(one, models)) ? models : priced;
        const good = priced.filter((one) => near(one, compared));
        const cheapest = good.filter((one) => good.every((other) => cost(one) <= cost(other)));
        const [id] = cheapest.map((one) => one.id).sort();
        const { input, output } = good.find((one) => one.id === id)!;
        return SAME(found, { model: id!, input, output });
      }),
    mutants: {
      'the cheapest of all models': first(cheaperOrEarlier, () => true),
      'the price of the best model': first(cheaperOrEarlier, ({ quality }, all) => quality === best(all)),
      'the cheapest output alone': first((a, b) => a.output - b.output || (a.id < b.id ? -1 : 1), near),
    },
  },
  {
    says: 'the order of the models does not matter',
    holds: (rule) =>
      fc.property(
        lines.chain((models) =>
          fc.tuple(fc.constant(models), fc.shuffledSubarray([...models], { minLength: models.length })),
        ),
        ([models, shuffled]) => SAME(rule(models), rule(shuffled)),
      ),
    mutants: { 'the first of equally cheap models': first(cheaper, near) },
  },
  {
    says: 'the environment does not matter: models whose provider has no key count, too',
    holds: (rule) =>
      fc.property(lines, (models) => SAME(rule(models), rule(models.map((one) => ({ ...one, isSetUp: true }))))),
    mutants: { 'the models that can be served': first(cheaperOrEarlier, (one, all) => one.isSetUp && near(one, all)) },
  },
  {
    says: 'a model that is neither the best, nor the best priced one, nor the reference can be removed',
    holds: (rule) =>
      fc.property(lines, fc.nat(), (models, at) => {
        const one = models[at % models.length]!;
        const found = rule(models);
        const matters =
          one.id === found.model || one.quality === best(models) || one.quality === best(models.filter(isPriced));
        return matters || SAME(found, rule(models.filter((other) => other !== one)));
      }),
    mutants: {
      'the median price': first(cheaperOrEarlier, (one, all) => {
        const priced = all.filter(isPriced).sort(cheaperOrEarlier);
        return one === priced[priced.length >> 1];
      }),
    },
  },
  {
    says: 'if all prices are multiplied, the reference price is multiplied, too',
    holds: (rule) =>
      fc.property(lines, fc.constantFrom(0.25, 2, 64), (models, factor) => {
        const scaled = models.map((one) => ({ ...one, input: one.input * factor, output: one.output * factor }));
        const { model, input, output } = rule(models);
        if (model === null) return SAME(rule(scaled), SHIPPED);
        return SAME(rule(scaled), { model, input: input * factor, output: output * factor });
      }),
    mutants: {
      'the model nearest to the shipped price': first(
        (a, b) => Math.abs(cost(a) - 2100) - Math.abs(cost(b) - 2100),
        near,
      ),
    },
  },
];

describe('a reference price that a policy of version 2 does not state:', () => {
  for (const { says, holds, mutants } of LAWS) {
    test(says, () => {
      fc.assert(holds(byLoader), tries(`reference price: ${says}`, 80, 1000));
    });
    test.each(Object.entries(mutants))(`${says}: the law detects %s`, (_, mutant) => {
      expect(fc.check(holds(mutant), { numRuns: 20_000, endOnFailure: true }).failed).toBe(true);
    });
  }

  test('a policy that writes the derived price out has the same scale', () => {
    const law = fc.property(lines, (models) => {
      const { referencePrice, referenceOrigin } = load(models);
      const { input, output } = referenceOrigin.usd;
      const stated = load(models, `version: 2\nreference_price: { input: ${input}, output: ${output} }`);
      return Bun.deepEquals(stated.referencePrice, referencePrice) && stated.referenceOrigin.source === 'stated';
    });
    fc.assert(law, tries('a reference price that is written out', 40, 500));
  });

  test('version 1 keeps the default price', () => {
    const law = fc.property(lines, (models) => {
      const { referenceOrigin } = load(models, 'version: 1');
      return Bun.deepEquals(referenceOrigin, {
        source: 'default',
        model: null,
        usd: { input: 1, output: 4 },
        basis: null,
      });
    });
    fc.assert(law, tries('the reference price of version 1', 20, 250));
  });

  test('only the first endpoint of a model counts, at its uncached price', () => {
    const { referenceOrigin } = loaded(`version: 2
providers: { sim: { adapter: simulated } }
models:
  m:
    context_window: 9000
    max_output: 900
    quality: { default: 0.5 }
    price: { input: 8, output: 9 }
    endpoints:
      - { provider: sim, price: { input: 3, cached_input: 0.3, output: 7 } }
      - { provider: sim, upstream: other, price: { input: 1, output: 1 } }
`);
    expect(referenceOrigin).toMatchObject({ source: 'model', model: 'm', usd: { input: 3, output: 7 } });
  });

  test('one stated key is enough to state the price', () => {
    const { referenceOrigin } = load([], 'version: 2\nreference_price: { output: 9 }');
    expect(referenceOrigin).toEqual({ source: 'stated', model: null, usd: { input: 1, output: 9 }, basis: null });
    expect(load([], 'version: 2\nreference_price: {}').referenceOrigin.source).toBe('default');
  });
});

/** Returns the close models of a policy: the models with which a small change of a quality changes the reference price a lot. */
type CloseRule = (models: readonly Line[]) => readonly CloseModel[];

describe('a model close to the line of nearly best models', () => {
  const rule: CloseRule = (models) => load(models).referenceOrigin.basis?.close ?? [];
  const priceAbove0 = fc.constantFrom(0.25, 0.5, 1, 2, 8, 32);
  const closer = fc
    .array(
      fc.record({
        quality: fc.constantFrom(0.7, 0.73, 0.74, 0.75, 0.76, 0.77, 0.8, 0.9),
        input: priceAbove0,
        output: priceAbove0,
      }),
      { minLength: 1, maxLength: 5 },
    )
    .map((all) => all.map((one, at) => ({ ...one, isSetUp: true, id: 'abcde'[at]! })));
  const withQuality = (models: readonly Line[], id: string, quality: number) =>
    models.map((one) => (one.id === id ? { ...one, quality } : one));

  /** Each reported model moves the price as reported, by at least a half, if it is only just on the other side. */
  const isSound = (close: CloseRule) =>
    fc.property(closer, (models) =>
      close(models).every(({ model, quality, isWithin, other }) => {
        const line = best(models) - 0.15;
        const moved = byLoader(withQuality(models, model, isWithin ? line - 0.001 : line));
        const [before, after] = [cost(byLoader(models)), cost(moved)];
        return (
          Math.abs(quality - line) <= 0.02 + 1e-9 &&
          SAME(moved, { model: other.model, ...other.usd }) &&
          (isWithin ? after >= 1.5 * before : before >= 1.5 * after)
        );
      }),
    );
  /** If a change of one quality by at most 0.02, which leaves the best quality as it is, moves the price by a half, a model is reported. */
  const isComplete = (close: CloseRule) =>
    fc.property(closer, fc.nat(), fc.constantFrom(-0.02, -0.01, 0.01, 0.02), (models, at, change) => {
      const { id, quality } = models[at % models.length]!;
      const others = best(models.filter((one) => one.id !== id));
      if (quality > others || quality + change > others) return true;
      const costs = [models, withQuality(models, id, quality + change)].map((all) => cost(byLoader(all)));
      return Math.max(...costs) < 1.5 * Math.min(...costs) || close(models).length > 0;
    });

  test('moves the reference price as its note says', () => {
    fc.assert(isSound(rule), tries('close models', 150, 1000));
    const wider: CloseRule = (models) =>
      models.map(({ id, quality, input, output }) => ({
        ...{ model: id, quality, isWithin: quality >= best(models) - 0.15 },
        other: { model: id, usd: { input, output } },
      }));
    expect(fc.check(isSound(wider), { numRuns: 1000, endOnFailure: true }).failed).toBe(true);
  });

  test('is reported whenever such a change moves the price by a half', () => {
    fc.assert(isComplete(rule), tries('all close models', 300, 1000));
    const onlyAbove: CloseRule = (models) => rule(models).filter(({ isWithin }) => isWithin);
    const onlyBelow: CloseRule = (models) => rule(models).filter(({ isWithin }) => !isWithin);
    for (const mutant of [onlyAbove, onlyBelow]) {
      expect(fc.check(isComplete(mutant), { numRuns: 3000, endOnFailure: true }).failed).toBe(true);
    }
  });
});

const runtimeOf = (models: readonly Line[]): Runtime =>
  buildRuntime(load(models.map((one) => ({ ...one, isSetUp: true }))), createRegistry(shipped), () => 'x');

/** Returns the ranked models of a request to a selector, best first; empty if it is refused. */
function ranked(runtime: Runtime, selector: string, task_type: string, ids: readonly string[]) {
  const request = readRouteRequest({ model: selector, task_type });
  const key = { id: 'law', labels: {}, models: ids };
  const outcome = decideFor(hypotheticalFacts({ request, key, timeMs: 0 }, runtime), runtime);
  if (isRefusal(outcome)) return [];
  return outcome.ranked.map((one) => ({ ...one, id: runtime.snapshot.models[one.model]!.id }));
}

describe('decisions with a derived reference price:', () => {
  const asked = fc.tuple(lines, fc.constantFrom('general', 'coding', 'classification'));
  const idsOf = (models: readonly Line[]) => models.map(({ id }) => id);

  test('auto-cheap never costs more and auto-fast is never slower than auto', () => {
    const law = fc.property(asked, ([models, task]) => {
      const runtime = runtimeOf(models);
      const [auto, cheap, fast] = ['auto', 'auto-cheap', 'auto-fast'].map(
        (selector) => ranked(runtime, selector, task, idsOf(models))[0]!,
      );
      return cheap!.costCredits <= auto!.costCredits && fast!.latencyMs <= auto!.latencyMs;
    });
    fc.assert(law, tries('auto-cheap and auto-fast with a derived reference price', 60, 800));
  });

  /** `rank` ranks some models of a policy. */
  const independence = (rank: (models: readonly Line[], task: string, ids: readonly string[]) => readonly string[]) =>
    fc.property(asked, fc.nat(), ([models, task], at) => {
      const left = models[at % models.length]!.id;
      const all = rank(models, task, idsOf(models)).filter((id) => id !== left);
      const some = rank(
        models,
        task,
        idsOf(models).filter((id) => id !== left),
      );
      // Both rankings have at most the choice and three alternatives.
      return all.every((id, place) => some[place] === id);
    });
  const rankedIds = (runtime: Runtime, task: string, ids: readonly string[]) =>
    ranked(runtime, 'auto-cheap', task, ids).map(({ id }) => id);

  test('a model that a key may not use changes the order of no other models', () => {
    const law = independence((models, task, ids) => rankedIds(runtimeOf(models), task, ids));
    fc.assert(law, tries('independence with a derived reference price', 60, 800));
  });

  test('a model that a key may not use changes the order of no other models: the law detects a reference price of the candidates', () => {
    const law = independence((models, task, ids) =>
      rankedIds(runtimeOf(models.filter(({ id }) => ids.includes(id))), task, ids),
    );
    expect(fc.check(law, { numRuns: 3000, endOnFailure: true }).failed).toBe(true);
  });
});
