import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { toCredits } from '../../src/core/money/credits.ts';
import { usdText } from '../../src/core/money/usd.ts';
import { creditsText } from '../../src/core/text/text.ts';
import { loadText, SMALL, snapshotOf } from './support.ts';

const RUNS = { seed: 85, numRuns: 60 };

interface Ceilings {
  readonly constraint: unknown;
  readonly given: unknown;
  readonly expected: unknown;
}
/** Reads the three ceilings of a policy, each stated as the same text. Credits. */
type Reader = (amount: string, usdPerCredit: string) => Ceilings;

const ofPolicy: Reader = (amount, usdPerCredit) => {
  const { constraints, cases } = snapshotOf(
    loadText(`${SMALL}credits: { usd_per_credit: ${usdPerCredit} }
constraints: [{ name: cheap, max_cost_credits: ${amount} }]
cases:
  - name: cheap
    given: { model: auto, constraints: { max_cost_credits: ${amount} } }
    expect: { cost_below_credits: ${amount} }
`),
  );
  return {
    constraint: constraints[0]?.maxCostCredits,
    given: cases[0]?.given.query.constraints,
    expected: cases[0]?.expect.costBelowCredits,
  };
};

const same = (credits: number): Ceilings => ({
  constraint: credits,
  given: { max_cost_credits: credits },
  expected: credits,
});

/** An amount has one meaning in all keys of a policy, whether it is written in Credits or in USD. */
const oneMeaning = (read: Reader) =>
  fc.property(
    fc.integer({ min: 1, max: 10 ** 15 }),
    fc.constantFrom('0.001', '0.0375', '0.123456789012'),
    (amount, worth) => {
      const credits = toCredits(amount);
      expect(read(`"${creditsText(amount)}"`, worth)).toEqual(same(credits));
      expect(read(`"${usdText(amount, worth)}"`, worth)).toEqual(same(credits));
    },
  );

describe('the ceilings of constraints and cases', () => {
  test('a text in Credits or in USD counts as the same number of Credits', () => {
    fc.assert(oneMeaning(ofPolicy), RUNS);
    const byDoubles: Reader = (amount, worth) => {
      const number = Number(amount.replaceAll(/[^\d.]/g, ''));
      return same(amount.includes('USD') ? Math.floor((number / Number(worth)) * 1e6) / 1e6 : number);
    };
    expect(fc.check(oneMeaning(byDoubles), RUNS).failed).toBeTrue();
  });

  test.each([
    ['$0.02', 20],
    ['0.02USD', 20],
    ['"20,000"', 20_000],
    ['20', 20],
    // A number is read as before: it may have more decimals than Credits in the ledger.
    ['0.0000001', 1e-7],
    ['1e-7', 1e-7],
  ])('%s is %d Credits', (amount, credits) => {
    expect(ofPolicy(amount, '0.001')).toEqual(same(credits));
  });

  test('a ceiling without an amount stays absent', () => {
    const { constraints, cases } = snapshotOf(
      loadText(`${SMALL}constraints: [{ name: fast, max_latency_ms: 5000 }]
cases: [{ name: fast, given: { model: auto, constraints: { max_latency_ms: 5000 } }, expect: { latency_below_ms: 5000 } }]
`),
    );
    expect(constraints[0]?.maxCostCredits).toBeNull();
    expect(cases[0]?.given.query.constraints).toEqual({ max_latency_ms: 5_000 });
    expect(cases[0]?.expect.costBelowCredits).toBeNull();
  });
});
