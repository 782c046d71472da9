import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { auto, autoCheap, autoFast } from '../../plugins/strategies/auto.ts';
import { weighted } from '../../plugins/strategies/weighted.ts';
import type { StrategyPlugin } from '../../src/contract/strategy.ts';
import type { Model, PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { dominates } from '../../src/tools/conformance/candidates.ts';
import { tries } from '../deep/effort.ts';
import { decisionOf, facts, loaded, prepared } from '../routing/build.ts';
import {
  type Candidate,
  candidates,
  decideWith,
  type Law,
  prove,
  reportCoverage,
  type Trial,
  through,
  trials,
  weights,
} from './generators.ts';
import { host, mutant, scores, ties } from './mutants.ts';

reportCoverage();

/** Half of the margins are 0, and so are many worths of a second. */
const margins = fc
  .tuple(fc.constantFrom(0, 0.05, 1), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([most, share]) => ({
    margin: most,
    strong_margin: most * share,
  }));
const dials = fc
  .tuple(margins, fc.constantFrom(0, 0.1, 1_000), fc.constantFrom(1, 3))
  .map(([own, second_worth, step_cost]) => ({ ...own, second_worth, step_cost }));
const cases: readonly (readonly [StrategyPlugin, fc.Arbitrary<Trial>])[] = [
  [weighted, trials({ weights })],
  [auto, trials({ options: dials })],
  [autoFast, trials({ options: margins })],
  [autoCheap, trials({ options: margins })],
];

test('the laws cover every shipped strategy', () => {
  const strategies = shipped.filter(({ kind }) => kind === 'strategy').map(({ name }) => name);
  expect(cases.map(([{ name }]) => name).sort()).toEqual(strategies.sort());
});

const dominance = (trial: fc.Arbitrary<Trial>): Law => ({
  says: 'no candidate ranks above a candidate that is at least as good in Q, C and L and better in one of them',
  holds: (rank) =>
    fc.property(trial, (given) => {
      const ranking = rank(given);
      return ranking.every((above, at) => ranking.slice(at + 1).every((below) => !dominates(below, above)));
    }),
  mutants: {
    'ties broken only by ID': host(scores.quality, ties.byIdAlone),
    'ties that ignore latency': host(scores.quality, ties.withoutLatency),
    'ties in the catalog’s order': host(scores.quality, ties.byCatalogOrder),
    'cost as a merit': mutant((i, { quality, cost }) => quality[i]! + cost[i]! / 1e6),
    'latency as a merit': mutant((i, { quality, latency }) => quality[i]! + latency[i]! / 1e6),
  },
});

const isSame = (a: Trial, b: Trial, plugin: StrategyPlugin) =>
  Bun.deepEquals(decideWith(plugin, a), decideWith(plugin, b), true);

for (const [plugin, trial] of cases) {
  describe(`${plugin.name}:`, () => {
    prove(plugin.name, through(plugin), dominance(trial));

    test('the same inputs give the same whole decision, also after other decisions', () => {
      fc.assert(
        fc.property(trial, trial, (given, between) => {
          const first = decideWith(plugin, given);
          decideWith(plugin, between);
          expect(decideWith(plugin, given)).toStrictEqual(first);
        }),
        tries(`${plugin.name}: the same inputs give the same whole decision, also after other decisions`, 25, 1_000),
      );
    });
  });
}

test('a strategy that remembers earlier requests would break determinism', () => {
  let count = 0;
  const moody: StrategyPlugin = {
    ...weighted,
    prepare: () => ({
      reason: 'moody',
      score: ({ n, quality }, out) => {
        count++;
        for (let i = 0; i < n; i++) out[i] = count % 2 === 0 ? quality[i]! : -quality[i]!;
      },
    }),
  };
  const property = fc.property(trials({ weights }), (given) => isSame(given, given, moody));
  expect(fc.check(property, { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
});

/** Writes the candidates as a policy, in the given order. */
function yamlOf(list: readonly Candidate[]): string {
  const models = list.map(
    ({ id, q, c, l }) => `  ${id}:
    provider: sim
    price: { input: 0, output: 0, per_request: ${(c / 1e9).toFixed(9)} }
    context_window: 100000
    max_output: 8192
    quality: { default: ${q} }
    latency: { ttft_ms: ${l} }`,
  );
  return `version: 1\nproviders:\n  sim: { adapter: simulated }\nmodels:\n${models.join('\n')}\n`;
}

describe('the order of the models in the policy’s files', () => {
  const SELECTORS = ['auto', 'auto-fast', 'auto-cheap'];
  const shuffles = fc.tuple(candidates, fc.infiniteStream(fc.nat())).map(([list, keys]) => {
    const plain = list.map((one) => ({ ...one, q: Math.round(one.q * 100) / 100, l: Math.round(one.l) }));
    const keyed = plain.map((one) => [keys.next().value, one] as const).sort(([a], [b]) => a - b);
    return [plain, keyed.map(([, one]) => one)] as const;
  });
  const decisions = (from: PolicySnapshot) =>
    SELECTORS.map((selector) => {
      const { ranked, ...rest } = decisionOf(from, facts({ model: selector }), prepared(from, selector));
      return { ...rest, ranked: ranked.map(({ model, ...one }) => ({ ...one, id: from.models[model]!.id })) };
    });
  const agrees = (load: (list: readonly Candidate[]) => PolicySnapshot) =>
    fc.property(shuffles, ([a, b]) => Bun.deepEquals(decisions(load(a)), decisions(load(b))));

  test('the order of the models in the policy’s files never affects a decision', () => {
    fc.assert(
      agrees((list) => loaded(yamlOf(list))),
      tries('the order of the models in the policy’s files never matters', 8, 600),
    );
  });

  test('the law detects a loader that keeps the order of the files', () => {
    const unsorted = (list: readonly Candidate[]): PolicySnapshot => {
      const sorted = loaded(yamlOf(list));
      const models: Model[] = list.map(({ id }) => sorted.models[sorted.modelIndex.get(id)!]!);
      return { ...sorted, models, modelIndex: new Map(models.map(({ id }, at) => [id, at])) };
    };
    expect(fc.check(agrees(unsorted), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
  });
});
