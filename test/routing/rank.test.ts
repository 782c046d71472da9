import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Candidates, PreparedStrategy } from '../../src/contract/strategy.ts';
import { createDecider, isRefusal } from '../../src/routing/decide.ts';
import { selectTop } from '../../src/routing/rank.ts';
import { decisionOf, facts, idsOf, model, price, snapshot } from './build.ts';

const column = (n: number, values: fc.Arbitrary<number>) => fc.array(values, { minLength: n, maxLength: n });
const few = fc.constantFrom(0, 0.5, 1);
const utilities = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(-1, 0, 1e-10, 2e-9, 0.5, 0.5 + 1e-10) },
  { weight: 3, arbitrary: fc.double({ min: -1e12, max: 1e12, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NEGATIVE_INFINITY, -1e300, 1e300) },
);
const sets = fc.integer({ min: 1, max: 12 }).chain((n) =>
  fc.record({
    n: fc.constant(n),
    quality: column(n, few),
    cost: column(n, few),
    latency: column(n, few),
    utility: column(n, utilities),
    k: fc.integer({ min: 1, max: 14 }),
  }),
);

const asCandidates = (set: { n: number; quality: number[]; cost: number[]; latency: number[] }): Candidates => ({
  n: set.n,
  quality: Float64Array.from(set.quality),
  cost: Float64Array.from(set.cost),
  latency: Float64Array.from(set.latency),
  reference: 1,
});

describe('the best k', () => {
  test('selectTop returns the first k of a full sort by utility, quality, cost, latency and ID', () => {
    fc.assert(
      fc.property(sets, (set) => {
        const utility = Float64Array.from(set.utility);
        const top: number[] = [99];
        const { faulty } = selectTop(asCandidates(set), utility, set.k, top);
        const grain = (value: number) => (Math.abs(value) < 9e6 ? Math.round(value * 1e9) / 1e9 : value);
        const wanted = set.utility.map(grain).some((value) => value !== Number.NEGATIVE_INFINITY);
        const of = (at: number) => (wanted ? grain(set.utility[at]!) : 0);
        const sorted = [...Array(set.n).keys()]
          .filter((at) => of(at) !== Number.NEGATIVE_INFINITY)
          .sort(
            (a, b) =>
              (of(a) === of(b) ? 0 : of(b) - of(a)) ||
              set.quality[b]! - set.quality[a]! ||
              set.cost[a]! - set.cost[b]! ||
              set.latency[a]! - set.latency[b]! ||
              a - b,
          );
        expect(top).toEqual(sorted.slice(0, set.k));
        expect(faulty).toBe(!wanted);
      }),
      { numRuns: 3000 },
    );
  });

  test('selectTop keeps the order of the IDs if all else is equal', () => {
    const from = snapshot(['b', 'c', 'a'].map((id) => model(id)));
    expect(idsOf(decisionOf(from, facts()), from)).toEqual(['a', 'b', 'c']);
  });
});

describe('a strategy that fails', () => {
  const from = snapshot([
    model('good-dear', { q: 0.9, cost: price(9, 9) }),
    model('good-cheap', { q: 0.9 }),
    model('bad', { q: 0.1 }),
  ]);
  const strategy = (score: PreparedStrategy['score']): PreparedStrategy => ({ reason: 'test', score });
  const failures: Record<string, PreparedStrategy['score']> = {
    throws: () => {
      throw new Error('no');
    },
    'gives NaN for one candidate': ({ n }, out) => {
      out.fill(1, 0, n);
      out[1] = Number.NaN;
    },
    'gives infinity': ({ n }, out) => void out.fill(Number.POSITIVE_INFINITY, 0, n),
    'wants nobody': ({ n }, out) => void out.fill(Number.NEGATIVE_INFINITY, 0, n),
    'writes too few': (_, out) => {
      out[0] = 1;
    },
  };
  for (const [name, score] of Object.entries(failures)) {
    test(`a strategy that ${name} is counted as faulty, and quality, cost, latency and ID decide`, () => {
      const decider = createDecider(from);
      const choice = { id: 1, seed: '0', reason: 'test', strategy: strategy(({ n }, out) => void out.fill(5, 0, n)) };
      decider.decide(facts(), choice);
      expect(decider.faults).toBe(0);
      const outcome = decider.decide(facts(), { ...choice, strategy: strategy(score) });
      if (isRefusal(outcome)) throw new Error('refused');
      expect(idsOf(outcome, from)).toEqual(['good-cheap', 'good-dear', 'bad']);
      expect(decider.faults).toBe(1);
    });
  }

  test('a strategy keeps a candidate whose utility would overflow in rounding', () => {
    const decision = decisionOf(
      from,
      facts(),
      strategy(({ n }, out) => void out.fill(-1e305, 0, n)),
    );
    expect(idsOf(decision, from)).toEqual(['good-cheap', 'good-dear', 'bad']);
  });

  test('a strategy may exclude single candidates', () => {
    const decision = decisionOf(
      from,
      facts(),
      strategy(({ n, quality }, out) => {
        for (let i = 0; i < n; i++) out[i] = quality[i]! > 0.5 ? 1 : Number.NEGATIVE_INFINITY;
      }),
    );
    expect(idsOf(decision, from)).toEqual(['good-cheap', 'good-dear']);
  });
});

describe('a decision', () => {
  const from = snapshot(
    Array.from({ length: 9 }, (_, at) => model(`m${at}`, { q: at / 10 })),
    { baseline: null },
  );

  test('a decision has the choice and as many fallbacks as the policy allows', () => {
    expect(idsOf(decisionOf(from, facts()), from)).toEqual(['m8', 'm7', 'm6', 'm5']);
  });

  test('a decision for a model that the request names has no fallback, and the model is its own baseline', () => {
    const decision = decisionOf(from, facts({ model: 'm3', named: ['m3'] }));
    expect(idsOf(decision, from)).toEqual(['m3']);
    expect(decision.baseline).toBe(3);
  });

  test('a decision measures savings against the policy’s baseline, otherwise against the best quality, the cheaper of equals', () => {
    expect(decisionOf({ ...from, baseline: 2 }, facts()).baseline).toBe(2);
    const equals = snapshot([model('a', { q: 0.9, cost: price(9, 9) }), model('b', { q: 0.9 })]);
    expect(decisionOf(equals, facts()).baseline).toBe(1);
  });

  test('a decision reserves for the most expensive endpoint and estimates for the first', () => {
    const [first] = model('x', { cost: price(1, 4) }).endpoints;
    const [second] = model('x', { cost: price(2, 8) }).endpoints;
    const [only] = decisionOf(snapshot([model('x', { endpoints: [first, second] })]), facts()).ranked;
    expect(only.costCredits).toBeCloseTo((500 * 1 + 400 * 4) / 1000, 12);
    expect(only.bound).toBe((2000 * 2 + 4096 * 8) * 1000);
  });
});
