import { expect, test } from 'bun:test';
import { Features, PLACE } from '../../../src/routing/profile/features.ts';
import { COLUMNS, checkOf, LinearTable, SLOT_BITS, SLOT_BYTES, slotOf } from '../../../src/routing/profile/table.ts';
import { Words } from '../../../src/routing/profile/words.ts';

const featuresOf = (text: string): Features => {
  const words = new Words().read(text);
  const features = new Features();
  features.addWords(words, 0, words.size, PLACE.question, 1);
  return features;
};

test('a table adds the figures of the features that it has, and nothing for others', () => {
  const { hashes, values } = featuresOf('prove');
  const bytes = new Uint8Array(SLOT_BYTES << SLOT_BITS);
  const at = slotOf(hashes[0]!) * SLOT_BYTES;
  // A nibble of 8 stands for 0, and one of 9 and 15 for 1 and 7.
  bytes.set([checkOf(hashes[0]!), 0xf9, ...Array.from({ length: SLOT_BYTES - 2 }, () => 0x88)], at);
  const table = new LinearTable({ scales: Array.from({ length: COLUMNS }, () => 0.5), base64: bytes.toBase64() });
  const sumsOf = (text: string) => [...table.add(featuresOf(text), COLUMNS, new Float64Array(COLUMNS))];
  const rest = Array.from({ length: COLUMNS - 2 }, () => 0);
  expect(sumsOf('prove')).toEqual([0.5 * values[0]!, 3.5 * values[0]!, ...rest]);
  expect(sumsOf('PROVE prove')[0]).toBeGreaterThan(0);
  expect(sumsOf('improve')).toEqual([0, 0, ...rest]);
});

test('a word counts once, whatever its case and accents, and a longer text counts less per word', () => {
  const [one, twice] = ['résumé please', 'Resume please RESUME please'].map(featuresOf);
  expect(new Set(twice!.hashes.subarray(0, twice!.size))).toEqual(
    new Set([...one!.hashes.subarray(0, one!.size), ...featuresOf('please resume').hashes.subarray(0, 3)]),
  );
  expect(featuresOf('a b c d e f').values[0]).toBeLessThan(featuresOf('a b c').values[0]!);
});
