import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isAbove, shownCredits, shownMs } from '../../../src/core/money/ceiling.ts';

/** Figures of at most 6 decimals with the floating-point error of a sum of doubles. */
const noisy = fc
  .record({ micros: fc.integer({ min: 1, max: 1e10 }), ulps: fc.integer({ min: -8, max: 8 }) })
  .map(({ micros, ulps }) => ({ exact: micros / 1e6, sum: (micros / 1e6) * (1 + ulps * Number.EPSILON) }));

const showsExact = (shown: (credits: number) => number) => fc.property(noisy, ({ exact, sum }) => shown(sum) === exact);

describe('an estimate that callers see', () => {
  test('an estimate that callers see has no floating-point error of the sum that it comes from', () => {
    expect(shownCredits(1.0275000000000003)).toBe(1.0275);
    expect(shownCredits(3.3000000000000003)).toBe(3.3);
    expect(shownMs(4500.000000000001)).toBe(4500);
    fc.assert(showsExact(shownCredits), { numRuns: 2000 });
  });

  test('an estimate that callers see would have a floating-point error if the last bit were rounded up', () => {
    const strict = (credits: number) => Math.ceil(credits * 1e6) / 1e6;
    expect(fc.check(showsExact(strict), { numRuns: 2000 }).counterexample).not.toBeNull();
  });

  test('an estimate that callers see is rounded up, and admits its own model if it is sent back as a ceiling', () => {
    expect([shownCredits(0), shownCredits(1e-9), shownCredits(1.0275001)]).toEqual([0, 1e-6, 1.027501]);
    expect([shownMs(0), shownMs(0.2), shownMs(4500.001)]).toEqual([0, 1, 4501]);
    const estimates = fc.oneof(
      noisy.map(({ sum }) => sum),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
    );
    fc.assert(
      fc.property(
        estimates,
        (estimate) => !isAbove(estimate, shownCredits(estimate)) && !isAbove(estimate, shownMs(estimate)),
      ),
      { numRuns: 5000 },
    );
  });

  test('an estimate exceeds a ceiling that is lower by more than floating-point error, and never exceeds a missing ceiling', () => {
    expect([isAbove(1.0275, 1.027499), isAbove(1e-9, 0), isAbove(4500, 4499)]).toEqual([true, true, true]);
    expect([isAbove(1.0275000000000003, 1.0275), isAbove(0, 0), isAbove(5, null)]).toEqual([false, false, false]);
  });
});
