import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseAddress } from '../../src/core/net/address.ts';
import { REDACTIONS, type Redaction } from '../../src/core/policy/content.ts';
import { redact } from '../../src/gateway/records/redact.ts';
import { inTime, leastOf } from '../support/in-time.ts';

/** Tests that texts are redacted before they are stored: all known kinds of data, completely, and in limited time. */
const all = (text: string) => redact(text, REDACTIONS);

const digits = (length: number) =>
  fc.array(fc.nat(9), { minLength: length, maxLength: length }).map((list) => list.join(''));
const letters = fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), minLength: 1, maxLength: 12 });

/** Adds the last digit with which a card number is valid (Luhn). */
function withLuhn(body: string): string {
  for (let digit = 0; digit < 10; digit++) {
    const sum = [...`${body}${digit}`].reverse().reduce((so, one, at) => {
      const value = Number(one) * (at % 2 === 1 ? 2 : 1);
      return so + (value > 9 ? value - 9 : value);
    }, 0);
    if (sum % 10 === 0) return `${body}${digit}`;
  }
  throw new Error('no digit passes');
}

function withIbanCheck(country: string, rest: string): string {
  const number = [...`${rest}${country}00`].map((sign) => String(Number.parseInt(sign, 36))).join('');
  const check = 98n - (BigInt(number) % 97n);
  return `${country}${String(check).padStart(2, '0')}${rest}`;
}

const grouped = (text: string, by: string, size = 4) => text.replace(new RegExp(`(.{${size}})(?=.)`, 'g'), `$1${by}`);

const SAMPLES: Readonly<Record<Redaction, fc.Arbitrary<string>>> = {
  email: fc
    .tuple(
      letters,
      fc.constantFrom('', '.x', '+tag', '_1'),
      letters,
      fc.constantFrom('.com', '.co.uk', '.museum', '.example'),
    )
    .map(([name, more, host, end]) => `${name}${more}@${host}${end}`),
  phone: fc.oneof(
    digits(9).map((rest) => `+49 30 ${rest}`),
    digits(8).map((rest) => `0049-89-${rest}`),
    digits(7).map((rest) => `030/${rest}`),
    digits(7).map((rest) => `(212) ${rest.slice(0, 3)}-${rest.slice(3)}`),
    digits(10).map((all10) => `${all10.slice(0, 3)}-${all10.slice(3, 6)}-${all10.slice(6)}`),
  ),
  card: fc
    .tuple(fc.constantFrom(12, 14, 15, 18), fc.constantFrom('', ' ', '-'), fc.nat())
    .chain(([length, by]) => digits(length).map((body) => grouped(withLuhn(`4${body.slice(1)}`), by)))
    // The last group of a card number that is written in groups must have more than two digits.
    .filter((card) => !/[ -]\d{1,2}$/.test(card)),
  iban: fc.oneof(
    digits(18).map((rest) => grouped(withIbanCheck('DE', rest), ' ')),
    digits(16).map((rest) => withIbanCheck('AT', rest)),
    digits(14).map((rest) => grouped(withIbanCheck('GB', `WEST${rest}`), '-')),
  ),
  ip: fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((text) => text !== '::' && parseAddress(text) !== null),
  ),
  secret: fc.constantFrom(
    'sk-proj-Abcdefghijkl0123',
    'sb_live_k7mw2pq9x4ta_abcdefghijklmnopqrstuv',
    'Bearer abcdef012345678',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  ),
};

/** Text that may come before personal data in a sentence without being part of it. */
const before = fc.constantFrom('', ' ', 'call ', '\n', '"', ' (', ', ', '. ', ': ', ' – ', '日本 ', 'x=');
const after = fc.constantFrom('', ' ', ' or so', '\n', '"', ') ', ', ', '. ', ': ', ' – ', ' 日本', '?');
const noise = fc.string({ unit: fc.constantFrom(...'aZ09 @.,:;+()/-_=#\n[]{}"eyJskDE'), maxLength: 60 });

describe('personal data', () => {
  for (const kind of REDACTIONS) {
    test(`${kind}: is replaced by the name of its kind`, () => {
      fc.assert(
        fc.property(before, SAMPLES[kind], after, (head, sample, tail) => {
          const text = `${head}${sample}${tail}`;
          const clean = redact(text, [kind]);
          expect(clean).not.toContain(sample);
          expect(clean).toContain(`[${kind}]`);
          // The redaction keeps the text around the secret.
          expect(clean.replaceAll(`[${kind}]`, '').length).toBeLessThanOrEqual(head.length + tail.length);
        }),
        { numRuns: 300 },
      );
    });

    test(`${kind}: is only replaced if the policy says so`, () => {
      fc.assert(
        fc.property(SAMPLES[kind], (sample) => {
          expect(redact(sample, [])).toBe(sample);
        }),
        { numRuns: 50 },
      );
    });
  }

  test('of several kinds in one text is all replaced', () => {
    const things = fc.array(fc.tuple(fc.constantFrom(...REDACTIONS), fc.nat(), before), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(things, (picked) => {
        const samples = picked.map(([kind, seed]) => fc.sample(SAMPLES[kind], { numRuns: 1, seed })[0]!);
        const clean = all(samples.map((sample, at) => `${picked[at]![2]} ${sample}`).join(' ; '));
        for (const sample of samples) expect(clean).not.toContain(sample);
      }),
      { numRuns: 200 },
    );
  });

  test('in a redacted text is not changed by a second redaction, whatever the text', () => {
    const any = fc.array(fc.oneof(noise, ...Object.values(SAMPLES)), { maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(any, fc.subarray([...REDACTIONS]), (text, kinds) => {
        const once = redact(text, kinds);
        expect(redact(once, kinds)).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is not seen in text that only looks similar', () => {
    const plain = [
      'At 09:30:00 on 2026-11-20 version 1.2.3 of task-force had 12345678901 rows, 3.14159265 each.',
      'f(x) = x @ y; a.b.c; key: value; 1-2-3; 10/12; {"n": [1, 2, 3]}',
      'Order 4111111111111112 is not a card, DE89370400440532013001 no account, 1.2.3.256 no address.',
      'aa:bb:cc:dd:ee:ff is a network card; std::vector, if a: b',
    ];
    for (const text of plain) expect(all(text)).toBe(text);
  });
});

describe('a mutant', () => {
  test('that replaces only the first of each kind is found by the laws above', () => {
    const lazy = (text: string) => text.replace(/\S+@\S+\.\w+/, '[email]');
    const two = 'a@b.com c@d.com';
    expect(lazy(lazy(two))).not.toBe(lazy(two));
    expect(all(two)).toBe('[email] [email]');
  });
});

describe('a hostile text', () => {
  const CHARS = 65_536;
  const fill = (piece: string) => piece.repeat(Math.ceil(CHARS / piece.length)).slice(0, CHARS);
  const pieces = [
    '@',
    'a',
    'a@',
    '1',
    '1 ',
    '0 ',
    '(',
    '+',
    '1.',
    ':',
    'a:',
    '::',
    'DE89 ',
    'DE891',
    '-eyJaaaaaaaaaa',
    'eyJa.',
  ];
  const more = [
    'Bearer ',
    'authorization:',
    'sk-',
    '4111111111111111 ',
    'a@b.co',
    '1.2.3.4 ',
    '+1 ',
    '411 ',
    'a.',
    '.',
    '-',
  ];
  const gaps = [
    `Bearer${' '.repeat(CHARS)}`,
    `authorization${' '.repeat(CHARS)}`,
    `${'a'.repeat(CHARS)}@`,
    `a@${'b.'.repeat(CHARS)}`,
  ];

  test('that is a long run without a domain or address is handled at once', async () => {
    for (const run of ['-', '.', '.-', ':']) {
      const text = `a@${run.repeat(60_000)}a`;
      // Quadratic time would be several seconds.
      expect(await inTime(1_000, () => all(text))).toBe(text);
    }
  });

  test('takes at most sixteen times as long if it is four times as long', async () => {
    for (const text of [...[...pieces, ...more].map(fill), ...gaps]) {
      const time = (part: string) => {
        const since = performance.now();
        all(part);
        return performance.now() - since;
      };
      // The test measures the small and the large text at the same moment, because a busy machine slows both. A minimum
      // keeps noise from counting.
      const ratio = () => {
        const small = Math.min(...[1, 2, 3].map(() => time(text.slice(0, text.length / 4))));
        return time(text) / Math.max(small, 2);
      };
      // Quadratic time alone would give 16, without the measurement error.
      expect(await leastOf(16, ratio), JSON.stringify(text.slice(0, 20))).toBeLessThan(16);
    }
  });
});
