import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { closest, editDistance } from '../../../src/core/text/edit-distance.ts';

/** Computes the whole table, without a bound. */
function wholeTable(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => [i, ...Array<number>(b.length).fill(0)]);
  for (let j = 0; j <= b.length; j++) table[0]![j] = j;
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++)
      table[i]![j] = Math.min(
        table[i - 1]![j]! + 1,
        table[i]![j - 1]! + 1,
        table[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
  return table[a.length]![b.length]!;
}

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 14 });

test('the number of edits equals the result of the whole table, up to the bound', () => {
  fc.assert(
    fc.property(word, word, fc.nat(15), (a, b, most) => {
      expect(editDistance(a, b, most)).toBe(Math.min(wholeTable(a, b), most + 1));
    }),
    { seed: 66, numRuns: 3_000 },
  );
});

test('the closest name is the first name with the fewest edits', () => {
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 8 }), fc.nat(6), (name, known, most) => {
      const near = known
        .map((one) => ({ one, edits: wholeTable(name, one) }))
        .filter(({ one, edits }) => edits <= most && edits < one.length);
      const least = Math.min(...near.map(({ edits }) => edits));
      expect(closest(name, known, most)).toBe(near.find(({ edits }) => edits === least)?.one ?? null);
    }),
    { seed: 66, numRuns: 1_000 },
  );
});
