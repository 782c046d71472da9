import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Microcredits } from '../../../src/core/money/credits.ts';
import { equalDecimals, usdText, usdWriter } from '../../../src/core/money/usd.ts';
import { fraction } from '../../ledger/csv-support.ts';

const amounts = fc.array(fc.integer({ min: -(10 ** 14), max: 10 ** 14 }), { minLength: 2, maxLength: 20 });
const worths = fc.constantFrom('0.001', '1', '0.0375', '0.123456789012', '999.9');

type Writer = (usdPerCredit: string | null) => (amount: Microcredits) => string | null;

/** Adds decimals without binary fractions, in units that are smaller than any of their digits. */
const sumOf = (texts: readonly string[]): bigint =>
  texts.map(fraction).reduce((sum, [digits, over]) => sum + digits * (10n ** 24n / over), 0n);

const law = (writer: Writer) =>
  fc.property(amounts, worths, (all, worth) => {
    const write = writer(worth);
    const total = all.reduce((sum, one) => sum + one, 0);
    expect(sumOf(all.map((one) => write(one)!))).toBe(sumOf([write(total)!]));
  });

test('Rows in USD add up to their total, to the last digit, whatever a Credit is worth', () => {
  fc.assert(law(usdWriter), { seed: 45, numRuns: 500 });
});

test('the law of USD amounts detects a writer that computes with doubles', () => {
  const byDoubles: Writer = (worth) => (amount) => ((amount / 1e6) * Number(worth)).toFixed(9);
  expect(fc.check(law(byDoubles), { seed: 45, numRuns: 500 }).failed).toBeTrue();
});

test('A column for people has the same number of decimals in each row, at least cents, and rounds no amount', () => {
  expect(equalDecimals(['1234567', '-0.5', '0'], 2)).toEqual(['1,234,567.00', '-0.50', '0.00']);
  expect(equalDecimals(['0.000172', '1'], 2)).toEqual(['0.000172', '1.000000']);
  expect(equalDecimals([null, '0'], 0)).toEqual(['-', '0']);
  expect(usdText(1_234_500_000, '0.001')).toBe('1.2345 USD');
});
