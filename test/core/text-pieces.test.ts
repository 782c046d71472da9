import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { JsonEnd } from '../../src/core/json/end.ts';
import { GatheredText } from '../../src/core/text/gathered-text.ts';

const cut = (text: string, at: readonly number[]): string[] => {
  const places = [0, ...at.map((place) => place % (text.length + 1)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
};

test('a gathered text equals the sum of its pieces, whenever the text is read', () => {
  const pieces = fc.array(fc.tuple(fc.string({ unit: 'binary', maxLength: 4 }), fc.boolean()), { maxLength: 400 });
  fc.assert(
    fc.property(pieces, (all) => {
      const text = new GatheredText();
      let whole = '';
      for (const [piece, isRead] of all) {
        text.add(piece);
        whole += piece;
        if (isRead) expect([text.value, text.isEmpty]).toEqual([whole, whole === '']);
      }
      expect([text.isEmpty, text.value]).toEqual([whole === '', whole]);
    }),
    { numRuns: 200 },
  );
});

test('the end of an object, a list or a string is found in the piece that contains it, however the text is cut', () => {
  const value = fc.oneof(fc.string(), fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));
  const places = fc.array(fc.nat(), { maxLength: 9 });
  fc.assert(
    fc.property(value, places, fc.constantFrom(undefined, 2), (one, at, space) => {
      const text = JSON.stringify(one, null, space);
      const end = new JsonEnd();
      for (const piece of cut(text.slice(0, -1), at)) {
        end.add(piece);
        expect(end.isReached).toBeFalse();
      }
      end.add(text.slice(-1));
      expect(end.isReached).toBeTrue();
      end.add(' [');
      expect(end.isReached).toBeTrue();
    }),
    { numRuns: 300 },
  );
});
