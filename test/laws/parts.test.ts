import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import type { Candidates, RequestStrategy, StrategyPlugin } from '../../src/contract/strategy.ts';
import { tries } from '../deep/effort.ts';
import { usual } from '../routing/build.ts';
import { candidates, rawWeights, reference } from './generators.ts';

/** The shipped strategies that score each request. A strategy that orders models once has no parts. */
const strategies = shipped
  .filter((plugin): plugin is StrategyPlugin => plugin.kind === 'strategy')
  .flatMap(({ name }) => {
    const strategy = usual(name);
    return strategy.per === 'build' ? [] : [{ name, strategy }];
  });

/** Candidates of a strategy. */
const seen: fc.Arbitrary<Candidates> = fc.tuple(candidates, reference).map(([list, unit]) => ({
  n: list.length,
  quality: Float64Array.from(list, ({ q }) => q),
  cost: Float64Array.from(list, ({ c }) => c / 1e6),
  latency: Float64Array.from(list, ({ l }) => l),
  reference: unit,
}));
const callerWeights = fc.option(
  rawWeights.map(({ quality, cost, latency }) => {
    const sum = quality + cost + latency;
    return { quality: quality / sum, cost: cost / sum, latency: latency / sum };
  }),
  { nil: undefined },
);

/** The host rounds utilities to a billionth. */
const CLOSE = 2e-9;

const addUp = (strategy: RequestStrategy) =>
  fc.property(seen, callerWeights, (given, caller) => {
    const out = new Float64Array(given.n);
    strategy.score(given, out, caller);
    return out.every((utility, at) => {
      const sum = Object.values(strategy.parts!(given, at, caller)).reduce((all, part) => all + part, 0);
      return Math.abs(sum - utility) <= CLOSE * Math.max(1, Math.abs(utility));
    });
  });

describe.each(strategies)('$name:', ({ name, strategy }) => {
  test('the parts of a utility add up to it', () => {
    fc.assert(addUp(strategy), tries(`${name}: the parts of a utility add up to it`, 500, 20_000));
  });

  test('the law detects a missing part', () => {
    const without: RequestStrategy = {
      ...strategy,
      parts: (...args) => Object.fromEntries(Object.entries(strategy.parts!(...args)).slice(0, -1)),
    };
    expect(fc.check(addUp(without), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
  });
});
