import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AmountTerms, clearNumber, readAmount } from '../../../src/core/money/amount.ts';
import { parseDecimal } from '../../../src/core/money/decimal.ts';
import { usdText } from '../../../src/core/money/usd.ts';
import { creditsText } from '../../../src/core/text/text.ts';
import { fraction } from '../../ledger/csv-support.ts';

const RUNS = { seed: 85, numRuns: 500 };
type Reader = typeof readAmount;

const worths = fc.constantFrom('0.001', '1', '0.0375', '0.123456789012', '999.9', '0.0000007');
const amounts = fc.oneof(fc.integer({ min: -(10 ** 15), max: 10 ** 15 }), fc.integer({ min: -2_000, max: 2_000 }));
/** Amounts with at most three decimals. */
const thousandths = fc.integer({ min: -2_000_000, max: 2_000_000 }).map((amount) => amount * 1_000);
const termsOf = (worth: string, bare: AmountTerms['bare'] = 'Credits'): AmountTerms => ({
  bare,
  usdPerCredit: parseDecimal(worth),
});

/**
 * Every amount that Signalbox writes can be entered again, in Credits and in USD, and is the same to the microcredit. An amount with three
 * decimals, such as `1.234 Credits`, needs another zero.
 */
const roundTrip = (read: Reader) =>
  fc.property(fc.oneof(amounts, thousandths), worths, (amount, worth) => {
    const again = (text: string) => {
      const [, number = '', unit = ''] = /^(\S+)( .*)?$/.exec(text) ?? [];
      return read(clearNumber(number) + unit, termsOf(worth));
    };
    expect(again(creditsText(amount))).toBe(amount);
    expect(again(usdText(amount, worth))).toBe(amount);
    expect(again(String(amount / 1e6).includes('e') ? creditsText(amount) : String(amount / 1e6))).toBe(amount);
  });

const digits = fc.bigInt({ min: 0n, max: 10n ** 12n });
const decimals = fc.integer({ min: 0, max: 9 });

/** USD become the largest number of microcredits that is not worth more. */
const roundedDown = (read: Reader) =>
  fc.property(digits, decimals, worths, (number, scale, worth) => {
    const text = String(number).padStart(scale + 1, '0');
    const usd = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
    const converted = read(`$${usd}`, termsOf(worth));
    if (typeof converted !== 'number') return expect(converted.problem).not.toBe('');
    const [upc, over] = fraction(worth);
    const isWithin = (microcredits: bigint) => microcredits * upc * 10n ** BigInt(scale) <= number * over * 1_000_000n;
    expect(isWithin(BigInt(converted))).toBeTrue();
    expect(isWithin(BigInt(converted) + 1n)).toBeFalse();
    expect(read(usd, termsOf(worth, 'USD'))).toBe(converted);
    expect(read(`-${usd} USD`, termsOf(worth))).toBe(converted === 0 ? 0 : -converted);
  });

/** A text that means two numbers is never read as one of them. */
const noGuess = (read: Reader) =>
  fc.property(
    fc.stringMatching(/^[1-9]\d{0,2}([.,]\d{1,4}){1,3}$/),
    fc.constantFrom('', '$', ' USD', ' Credits'),
    (number, unit) => {
      const text = unit === '$' ? `$${number}` : `${number}${unit}`;
      const result = read(text, termsOf('1'));
      const isGrouped = /^\d{1,3}(,\d{3})*(\.\d+)?$/.test(number) && !/^\d{1,3}\.\d{3}$/.test(number);
      if (!isGrouped) expect(typeof result).toBe('object');
      else if (typeof result === 'number') expect(result).toBe(Math.floor(Number(`${number.replaceAll(',', '')}e6`)));
    },
  );

test('Every amount that Signalbox writes can be entered again, and is the same to the microcredit', () => {
  fc.assert(roundTrip(readAmount), RUNS);
});

test('USD become the largest number of microcredits that is not worth more', () => {
  fc.assert(roundedDown(readAmount), RUNS);
});

test('A text with misplaced separators is never read as a number', () => {
  fc.assert(noGuess(readAmount), RUNS);
});

test('Any text gives a whole number of microcredits or a problem', () => {
  const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[-$ ]*[\d.,]*[ ]*(USD|\$|Credits)?$/));
  fc.assert(
    fc.property(anyText, worths, (text, worth) => {
      const result = readAmount(text, termsOf(worth));
      expect(typeof result === 'number' ? Number.isSafeInteger(result) : result.problem !== '').toBeTrue();
    }),
    RUNS,
  );
});

test('The laws of amounts detect a reader that computes with doubles and takes any comma as a separator', () => {
  const byDoubles: Reader = (text, { bare, usdPerCredit }) => {
    const number = Number(text.replaceAll(/[^\d.-]/g, ''));
    if (Number.isNaN(number)) return { problem: 'is not an amount.' };
    const isUsd = /\$|USD/.test(text) || (bare === 'USD' && !text.includes('C'));
    return isUsd ? Math.floor((number / Number(fractionOf(usdPerCredit))) * 1e6) : Math.round(number * 1e6);
  };
  expect(fc.check(roundTrip(byDoubles), RUNS).failed).toBeTrue();
  expect(fc.check(roundedDown(byDoubles), RUNS).failed).toBeTrue();
  expect(fc.check(noGuess(byDoubles), RUNS).failed).toBeTrue();
  const byPoint: Reader = (text, terms) => readAmount(text.replace(/\.(\d{3})(?!\d)/, '.$10'), terms);
  expect(fc.check(noGuess(byPoint), RUNS).failed).toBeTrue();
});

const fractionOf = (worth: AmountTerms['usdPerCredit']) => (worth ? Number(worth.digits) / 10 ** worth.scale : 1);

const USUAL = termsOf('0.001');

test.each([
  ['20', 20_000_000],
  ['20,000', 20_000_000_000],
  ['$20', 20_000_000_000],
  ['20 USD', 20_000_000_000],
  ['20USD', 20_000_000_000],
  ['US$ 1,204.50', 1_204_500_000_000],
  ['20 dollars', 20_000_000_000],
  ['-$5', -5_000_000_000],
  ['$-5', -5_000_000_000],
  ['1 Credit', 1_000_000],
  [' 2.5 credits ', 2_500_000],
  ['20.0000', 20_000_000],
  ['0.125', 125_000],
  ['1000.000', 1_000_000_000],
])('%p is read as people mean it', (text, microcredits) => {
  expect(readAmount(text, USUAL)).toBe(microcredits);
});

test.each([
  ['20,5', ['20.5', '205']],
  ['1.000,50', ['1,000.5', '1.0005']],
  ['$0,500', ['0.5 USD', '500 USD']],
  ['1.000.000', ['1,000,000']],
  ['1.000', ['1,000 or 1.']],
  ['$1.000', ['1,000 USD or 1 USD']],
  ['-20.500 Credits', ['-20,500 Credits or -20.5 Credits']],
  ['1.234', ['1,234 or 1.2340']],
  ['1,00,000 Credits', ['100,000 Credits']],
])('%p is refused with its readings', (text, readings) => {
  const result = readAmount(text, USUAL);
  if (typeof result === 'number') throw new Error(`${text} was read as ${result}.`);
  for (const reading of readings) expect(result.problem).toContain(reading);
});

test.each([
  '',
  '20 EUR',
  '1e3',
  '$20 Credits',
  '--5',
  '-$-5',
  '20.',
  '.5',
  '20 000',
  '9'.repeat(65),
  '0.0000001',
  '$1e9',
])('%p is no amount', (text) => expect(typeof readAmount(text, USUAL)).toBe('object'));

test('An amount in USD is refused while no policy states the worth of a Credit', () => {
  expect(typeof readAmount('$1', { bare: 'Credits', usdPerCredit: null })).toBe('object');
  expect(readAmount('1', { bare: 'Credits', usdPerCredit: null })).toBe(1_000_000);
});
