import { describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import type { Candidates, PreparedStrategy, StrategyPlugin } from '../../src/contract/strategy.ts';
import { qualityFactor } from '../../src/tools/conformance/candidates.ts';
import { tries } from '../deep/effort.ts';
import { candidates, emphasis, floor, margin, rawWeights, reference, weights } from './generators.ts';

const strategies = shipped.filter((plugin): plugin is StrategyPlugin => plugin.kind === 'strategy');

/** Candidates of a strategy. */
const seen: fc.Arbitrary<Candidates> = fc
  .tuple(candidates, reference, qualityFactor)
  .map(([list, costReference, factor]) => ({
    n: list.length,
    quality: Float64Array.from(list, ({ q }) => q),
    cost: Float64Array.from(list, ({ c }) => c / 1e6),
    latency: Float64Array.from(list, ({ l }) => l),
    costReference,
    qualityFactor: factor,
  }));
const options = fc
  .tuple(rawWeights, fc.record({ quality_margin: margin, quality_floor: floor, emphasis }))
  .map(([own, within]) => ({ ...own, ...within }));
const callerWeights = fc.option(
  weights.map(({ cost, quality }) => ({ cost: cost / (cost + quality), quality: quality / (cost + quality) })),
  { nil: undefined },
);

/** The host rounds utilities to a billionth. */
const CLOSE = 2e-9;

const addUp = (prepare: (given: Record<string, unknown>) => PreparedStrategy) =>
  fc.property(seen, options, callerWeights, (given, chosen, caller) => {
    const strategy = prepare(chosen);
    const out = new Float64Array(given.n);
    strategy.score(given, out, caller);
    return out.every((utility, at) => {
      const sum = Object.values(strategy.parts!(given, at, caller)).reduce((all, part) => all + part, 0);
      return Math.abs(sum - utility) <= CLOSE * Math.max(1, Math.abs(utility));
    });
  });

const preparedBy =
  ({ options: schema, prepare }: StrategyPlugin) =>
  (given: Record<string, unknown>) => {
    const known = Object.entries(given).filter(([name, value]) => name in schema.properties && value !== undefined);
    return prepare(Value.Default(schema, Object.fromEntries(known)) as Record<string, unknown>);
  };

for (const plugin of strategies) {
  describe(`${plugin.name}:`, () => {
    test('the parts of a utility add up to it', () => {
      fc.assert(addUp(preparedBy(plugin)), tries(`${plugin.name}: the parts of a utility add up to it`, 500, 20_000));
    });

    test('the law detects a missing part', () => {
      const without = (given: Record<string, unknown>): PreparedStrategy => {
        const strategy = preparedBy(plugin)(given);
        return {
          ...strategy,
          parts: (...args) => Object.fromEntries(Object.entries(strategy.parts!(...args)).slice(0, -1)),
        };
      };
      expect(fc.check(addUp(without), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
    });
  });
}
