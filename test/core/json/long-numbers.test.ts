import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { digitsAt, type LongNumbers, longNumbersIn } from '../../../src/core/json/long-numbers.ts';
import type { OriginalPath } from '../../../src/core/json/original.ts';
import { tries } from '../../deep/effort.ts';

/** A JSON value whose numbers are bigints. */
type Exact = bigint | string | null | readonly Exact[] | { readonly [name: string]: Exact };

const values = fc.letrec<{ readonly value: Exact }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
    fc.bigInt({ min: 10n ** 15n, max: 10n ** 19n }),
    fc.bigInt({ min: -100n, max: 100n }),
    fc.string(),
    fc.constantFrom(': 4111111111111111110', '__proto__', null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string({ maxLength: 4 }), fc.constant('größe')), tie('value'), { maxKeys: 4 }),
  ),
})).value;

const isList = (value: Exact): value is readonly Exact[] => Array.isArray(value);

function written(value: Exact): string {
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value === 'string') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(written).join(', ')}]`;
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`)
    .join(',')}}`;
}

function numbersOf(value: Exact, at: OriginalPath = []): (readonly [OriginalPath, bigint])[] {
  if (typeof value === 'bigint') return [[at, value]];
  if (value === null || typeof value === 'string') return [];
  if (isList(value)) return value.flatMap((item, index) => numbersOf(item, [...at, index]));
  return Object.entries(value).flatMap(([name, member]) => numbersOf(member, [...at, name]));
}

type Read = (text: string) => LongNumbers | null;

const keepsDigits = (read: Read) =>
  fc.property(values, (value) => {
    const numbers = read(written(value));
    for (const [at, number] of numbersOf(value)) expect(digitsAt(numbers, Number(number), at)).toBe(String(number));
  });

describe('the long numbers of a JSON text', () => {
  test('have all their digits, wherever they are', () => {
    fc.assert(keepsDigits(longNumbersIn), tries('long-numbers', 300, 20_000));
  });

  test.each<[string, Read]>([
    ['keeps no digits', () => null],
    ['takes the numbers of another text', () => longNumbersIn('[1, 4111111111111111110]')],
  ])('the law finds a reader that %s', (_, mutant) => {
    expect(fc.check(keepsDigits(mutant), tries('long-numbers', 300, 300)).failed).toBeTrue();
  });

  test.each([
    ['4.111111111111111110e18', '4111111111111111110'],
    ['411111111.1111111110E+10', '4111111111111111110'],
    ['41111111111111111100e-1', '4111111111111111110'],
    ['-4111111111111111110.5', '-4111111111111111110'],
    ['4111111111111111110.000', '4111111111111111110'],
  ])('written as %s are read as %s', (number, digits) => {
    expect(digitsAt(longNumbersIn(`{"a":${number}}`), Number(number), ['a'])).toBe(digits);
  });
});
