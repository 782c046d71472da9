import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Slices } from '../../src/http/slices.ts';

const SLICE = 65_536;

test('a text goes out as its UTF-8, whole, in slices that are bounded, whatever came before', () => {
  const text = fc
    .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 30_000 }))
    .map(([unit, times]) => unit.repeat(times));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), (texts) => {
      const slices = new Slices();
      for (const one of texts) {
        slices.put(one);
        const pieces: Uint8Array[] = [];
        for (let piece = slices.next(); piece !== null; piece = slices.next()) pieces.push(piece);
        expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(SLICE);
        expect(Math.min(...pieces.map(({ length }) => length))).toBeGreaterThan(0);
        expect(Buffer.concat(pieces).equals(Buffer.from(one))).toBeTrue();
      }
      expect(slices.next()).toBeNull();
    }),
    { numRuns: 20 },
  );
});
