import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type StemIndex, StemRows } from '../../../src/routing/profile/stem-rows.ts';
import { tries } from '../../deep/effort.ts';

/** Generates stems from a few values, so that they are often equal or adjacent, and also any stems. */
const stem = fc.oneof(fc.integer({ min: -3, max: 12 }), fc.integer());
const entries = fc.array(fc.tuple(stem, fc.integer({ min: 1, max: 0xffff })), { maxLength: 60 });
type Entries = readonly (readonly [number, number])[];

const law = (indexOf: (all: Entries) => StemIndex) =>
  fc.property(entries, fc.array(stem, { maxLength: 60 }), (all, others) => {
    const expected = new Map(all);
    const index = indexOf(all);
    for (const one of [...expected.keys(), ...others]) expect(index.get(one)).toBe(expected.get(one));
  });

test('StemRows returns the same row for a stem as a map, and none for an unknown stem', () => {
  fc.assert(
    law((all) => new StemRows(all)),
    tries('rows of stems are those of a map', 300, 20_000),
  );
  expect(() => new StemRows([[1, 0]])).toThrow(RangeError);
  expect(() => new StemRows([[1, 0x1_0000]])).toThrow(RangeError);
});

test.each([
  ['the search stopped at the first place', (stem: number) => stem & 63],
  ['only the last bits of a stem were compared', (stem: number) => stem & 0xff],
] as const)('would be wrong if %s', (_, keyOf) => {
  const mutant = (all: Entries): StemIndex => {
    const rows = new Map(all.map(([one, row]) => [keyOf(one), row]));
    return { get: (one) => rows.get(keyOf(one)) };
  };
  expect(fc.check(law(mutant), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
});
