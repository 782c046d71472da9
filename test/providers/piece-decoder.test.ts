import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { PieceDecoder } from '../../src/providers/piece-decoder.ts';
import { tries } from '../deep/effort.ts';

const LAW = 'bytes in pieces are decoded as the whole is';

/** Text and invalid bytes, with byte order marks, cut anywhere. */
const pieces = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 4 }),
        fc.constant(Buffer.from('\ufeff')),
      ),
      { maxLength: 8 },
    ),
    fc.array(fc.nat(60), { maxLength: 6 }),
  )
  .map(([bytes, cuts]) => {
    const whole = Buffer.concat(bytes);
    const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).toSorted((a, b) => a - b), whole.length];
    return { whole, pieces: places.slice(1).map((end, at) => whole.subarray(places[at], end)) };
  });

const lawOf = (decoded: (pieces: readonly Uint8Array[]) => string) =>
  fc.property(pieces, ({ whole, pieces: parts }) => {
    expect(decoded(parts)).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole));
  });

test(LAW, () => {
  fc.assert(
    lawOf((parts) => {
      const decoder = new PieceDecoder();
      return parts.map((piece) => decoder.decode(piece)).join('') + decoder.end();
    }),
    tries(LAW, 500, 20_000),
  );
});

test('the test detects a decoder that treats each piece as a whole text', () => {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const law = lawOf((parts) => parts.map((piece) => decoder.decode(piece)).join(''));
  expect(fc.check(law, { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
});
