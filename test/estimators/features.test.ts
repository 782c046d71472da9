import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { anyText, prepared, preparedWith } from './worlds.ts';

/** Version, 23 form features, then the buckets. */
const FORM_BYTES = 2 + 2 * 23;
const BYTES_MAX = FORM_BYTES + 2 * (2 * 600 - 1);

function bucketsOf(bytes: Uint8Array): number[] {
  const count = (bytes.length - FORM_BYTES) / 2;
  return Array.from({ length: count }, (_, at) => bytes[FORM_BYTES + 2 * at]! + 256 * bytes[FORM_BYTES + 2 * at + 1]!);
}

const longText = fc.tuple(anyText, fc.integer({ min: 1, max: 400 })).map(([text, times]) => text.repeat(times));

describe('the features of a text', () => {
  test('are bounded, with each bucket once in ascending order', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, longText), (text) => {
        const bytes = prepared.read(text);
        const buckets = bucketsOf(bytes);
        return bytes.length <= BYTES_MAX && buckets.every((bucket, at) => at === 0 || bucket > buckets[at - 1]!);
      }),
    );
  });

  test('depend on the text and the secret alone, not on earlier texts', () => {
    fc.assert(
      fc.property(anyText, anyText, (text, other) => {
        const first = prepared.read(text);
        prepared.read(other);
        return Bun.deepEquals(first, prepared.read(text)) && Bun.deepEquals(first, preparedWith().read(text));
      }),
    );
  });

  test.each([[[0x1234_5679, 0x9abc_def0]], [[0x1234_5678, 0x9abc_def1]]] as const)(
    'have other buckets under another secret, by either half of it',
    (secret) => {
      const text = 'one small step for a man, one giant leap for mankind';
      const [one, other] = [prepared, preparedWith({}, secret)].map((reader) => bucketsOf(reader.read(text)));
      expect(one!.length).toBeGreaterThan(15);
      expect(one!.filter((bucket) => other!.includes(bucket)).length).toBeLessThan(3);
    },
  );

  test('ignore capitals, and distinguish numbers only by their number of digits', () => {
    const [one, other] = ['solve 17 Über', 'SOLVE 42 ÜBER'].map((text) => bucketsOf(prepared.read(text)));
    expect(one).toEqual(other!);
  });

  test('distinguish the order of words by pairs, and ignore words after 600 tokens', () => {
    const [one, other] = ['dog bites man', 'man bites dog'].map((text) => bucketsOf(prepared.read(text)));
    expect(one).not.toEqual(other!);
    const many = 'a b '.repeat(300);
    expect(bucketsOf(prepared.read(`${many}zebra`))).toEqual(bucketsOf(prepared.read(many)));
  });

  test('hold the same length and no words if only the length is requested', () => {
    const lengthOf = (bytes: Uint8Array) => bytes.slice(4, 6);
    fc.assert(
      fc.property(fc.oneof(anyText, longText), (text) => {
        const bytes = prepared.read(text, true);
        return bucketsOf(bytes).length === 0 && Bun.deepEquals(lengthOf(bytes), lengthOf(prepared.read(text)));
      }),
    );
  });

  test('of the empty text are those of no text', () => {
    expect(bucketsOf(prepared.read(''))).toEqual([]);
  });
});
