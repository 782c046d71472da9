import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { sliceEnd } from '../../src/http/kit/stream.ts';

const SLICE = 65_536;

test('a text is sent completely as UTF-8, in slices of limited size', () => {
  const text = fc
    .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 30_000 }))
    .map(([unit, times]) => unit.repeat(times));
  fc.assert(
    fc.property(text, (whole) => {
      const pieces: Buffer[] = [];
      for (let at = 0, end = 0; at < whole.length; at = end) {
        end = sliceEnd(whole, at);
        pieces.push(Buffer.from(whole.slice(at, end)));
      }
      for (const { length } of pieces) expect(length).toBeWithin(1, SLICE + 1);
      expect(Buffer.concat(pieces).equals(Buffer.from(whole))).toBeTrue();
    }),
    { numRuns: 40 },
  );
});
