import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { droppedText } from '../../../src/gateway/money/extras.ts';
import { tries } from '../../deep/effort.ts';

test.each<[string[], string]>([
  [[], ''],
  [['seed'], 'seed'],
  [['include[1]', 'top_logprobs'], 'include[1], top_logprobs'],
  [
    ['grüße', 'a,b', '100%', 'two words', 'line\r\nx-evil: 1'],
    'gr%C3%BC%C3%9Fe, a%2Cb, 100%25, two%20words, line%0D%0Ax-evil:%201',
  ],
  [['\ud800'], '%EF%BF%BD'],
  [['a', 'and 12 more', 'b'], 'a, b, and 12 more'],
])('the header writes the names %j as %j', (dropped, text) => {
  expect(droppedText(dropped)).toBe(text);
});

test('the header of dropped fields counts names that do not fit in 1,024 bytes, together with names that were omitted earlier', () => {
  const names = Array.from({ length: 64 }, (_, at) => `field_number_${at}_of_many`);
  const text = droppedText([...names, 'and 100 more']);
  const shown = text.split(', ');
  expect(text.length).toBeLessThanOrEqual(1_024);
  expect(shown.slice(0, -1)).toEqual(names.slice(0, shown.length - 1));
  expect(shown.at(-1)).toBe(`and ${164 - (shown.length - 1)} more`);
  expect(droppedText(['ü'.repeat(2_000), 'seed'])).toBe('and 2 more');
});

const LAW = 'for any dropped fields the header is valid, has at most 1,024 bytes, and states the number of fields';
test(LAW, () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).filter((name) => !/^and \d+ more$/.test(name)),
      ),
      (names) => {
        const text = droppedText(names);
        expect(new Headers({ dropped: text }).get('dropped')).toBe(text);
        expect(text.length).toBeLessThanOrEqual(1_024);
        const [, rest] = /(?:^|, )and (\d+) more$/.exec(text) ?? [];
        const shown = names.length - Number(rest ?? 0);
        const named = text.split(', ').slice(0, shown).map(decodeURIComponent);
        if (shown > 0) expect(named).toEqual(names.slice(0, shown).map((name) => name.toWellFormed()));
      },
    ),
    tries(LAW, 40, 2_000),
  );
});
