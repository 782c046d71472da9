import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { slowProviders } from '../../src/console/shell/providers.ts';

/** Tests which providers the console calls slow on Overview and Fleet. */
type Report = NonNullable<Parameters<typeof slowProviders>[0]>;
type Judge = typeof slowProviders;
const SEED = 47;

const line = (value: string) =>
  fc.record({
    value: fc.constant(value),
    name: fc.constant(value),
    whole: fc.record({
      requests: fc.oneof(fc.nat(40), fc.constantFrom(19, 20)),
      ttft_ms: fc.record({ p50: fc.option(fc.oneof(fc.nat(20), fc.constantFrom(100, 149, 150, 151))) }),
    }),
  });
const NAMES = ['', 'east', 'north', 'south', 'west'];
const reports: fc.Arbitrary<Report> = fc
  .uniqueArray(fc.constantFrom(...NAMES), { maxLength: 5 })
  .chain((names) => fc.tuple(...names.map(line)))
  .map((series) => ({ series }));

/**
 * Slow are exactly the providers with at least 20 requests in both periods whose time grew by at least half. The worst comes first, and the
 * unit of time makes no difference.
 */
const law = (judge: Judge) =>
  fc.check(
    fc.property(fc.option(reports), fc.option(reports), fc.constantFrom(1, 8), (now, before, unit) => {
      const inUnit = (report: Report | null) =>
        report && {
          series: report.series.map((one) => {
            const { requests, ttft_ms } = one.whole;
            return { ...one, whole: { requests, ttft_ms: { p50: ttft_ms.p50 === null ? null : ttft_ms.p50 * unit } } };
          }),
        };
      const named = judge(inUnit(now), inUnit(before)).map(({ name }) => name);
      const timesOf = (name: string): number => {
        const [here, there] = [now, before].map((report) => report?.series.find(({ value }) => value === name)?.whole);
        if (name === '' || !here || !there || here.requests < 20 || there.requests < 20) return 0;
        const [ms, usual] = [here.ttft_ms.p50, there.ttft_ms.p50];
        return ms === null || usual === null || usual === 0 ? 0 : ms / usual;
      };
      const slow = NAMES.filter((name) => timesOf(name) >= 1.5);
      expect(named.toSorted()).toEqual(slow.toSorted());
      named.forEach((name, at) => void (at > 0 && expect(timesOf(name)).toBeLessThanOrEqual(timesOf(named[at - 1]!))));
    }),
    { numRuns: 2_000, seed: SEED },
  );

test(`a provider is slow if its time grew by at least half, with 20 requests in both periods (seed ${SEED})`, () => {
  const { failed, counterexample } = law(slowProviders);
  expect([failed, counterexample]).toEqual([false, null]);
});

/** Mutants that check less. */
const MUTANTS: Readonly<Record<string, Judge>> = {
  'the slowest alone': (now, before) => slowProviders(now, before).slice(0, 1),
  'any order': (now, before) => slowProviders(now, before).toReversed(),
  'only the current number of requests': (now, before) =>
    slowProviders(
      now,
      before && { series: before.series.map((one) => ({ ...one, whole: { ...one.whole, requests: 20 } })) },
    ),
  'twice the time': (now, before) => slowProviders(now, before).filter(({ ttftMs, usualMs }) => ttftMs >= 2 * usualMs),
  milliseconds: (now, before) => slowProviders(now, before).filter(({ ttftMs, usualMs }) => ttftMs - usualMs >= 50),
};
test.each(Object.keys(MUTANTS))('the mutant that compares %s breaks the law', (name) => {
  expect(law(MUTANTS[name]!).failed).toBe(true);
});
