import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Trie } from '../../../src/routing/profile/trie.ts';
import { tries } from '../../deep/effort.ts';

/** A pattern that was found: its index in the list, and the offset after it. */
type Match = readonly [pattern: number, end: number];
type Find = (patterns: readonly string[], text: string, from: number) => Match[];

const byTrie: Find = (patterns, text, from) => {
  const trie = new Trie(patterns.map((pattern, at) => [pattern, at]));
  const matches: Match[] = [];
  const found = trie.matchAt(text, from, text.length);
  for (let nth = 0; nth < found; nth++) {
    const group = trie.groups[nth]!;
    const values = trie.values.subarray(group + 1, group + 1 + trie.values[group]!);
    for (const value of values) matches.push([value, trie.ends[nth]!]);
  }
  return matches;
};

const MARKS = '\u0301*';

/** Finds the same with one expression per pattern: marks are skipped, and up to three characters may be between words. */
const oneByOne: Find = (patterns, text, from) =>
  patterns.flatMap((pattern, at): Match[] => {
    const isOpen = pattern.endsWith('*');
    const words = pattern
      .replace('*', '')
      .split('_')
      .map((word) => [...word].join(MARKS));
    const source = words.join(`${MARKS}[ '-]{1,3}`) + (isOpen ? '' : `${MARKS}(?![\u0301a-zд])`);
    const expression = new RegExp(source, 'iy');
    expression.lastIndex = from;
    return expression.test(text) ? [[at, expression.lastIndex]] : [];
  });

/** Words with few letters, so that patterns share beginnings and occur often. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'z', 'д'), minLength: 1, maxLength: 3 });
const pattern = fc
  .tuple(fc.array(word, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([words, isOpen]) => words.join('_') + (isOpen ? '*' : ''));
const piece = fc.oneof(word, fc.constantFrom('A', 'Д', 'b\u0301', ' ', ' ', "'", '-', ', ', '\n', '7'));
const text = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(''));

const law = (find: Find) =>
  fc.property(fc.array(pattern, { minLength: 1, maxLength: 12 }), text, (patterns, one) => {
    for (let from = 0; from < one.length; from++) {
      if (!/[a-zд]/i.test(one.charAt(from))) continue;
      const found = find(patterns, one, from);
      const ends = found.map(([, end]) => end);
      expect(ends).toEqual(ends.toSorted((a, b) => a - b));
      expect(found.toSorted(([a], [b]) => a - b)).toEqual(oneByOne(patterns, one, from));
    }
  });

test('a trie finds every pattern that begins at a position, shortest first, and no other', () => {
  fc.assert(law(byTrie), tries('a trie finds every pattern', 150, 20_000));
});

test.each([
  [
    'words were open-ended',
    (patterns, one, from) =>
      byTrie(
        patterns.map((each) => each.replace(/\*?$/, '*')),
        one,
        from,
      ),
  ],
  ['a phrase continued after a comma', (patterns, one, from) => byTrie(patterns, one.replaceAll(',', ' '), from)],
  ['marks ended a word', (patterns, one, from) => byTrie(patterns, one.replaceAll('\u0301', '.'), from)],
  ['a pattern were forgotten', (patterns, one, from) => byTrie(patterns, one, from).slice(0, 1)],
] as const satisfies readonly (readonly [string, Find])[])('a trie would be wrong if %s', (_, mutant) => {
  expect(fc.check(law(mutant), { numRuns: 20_000, seed: 29, endOnFailure: true }).failed).toBe(true);
});

test('a trie has room for any number of patterns', () => {
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(0x61 + at));
  const words = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => `q${a}${b}${c}q`)));
  const trie = new Trie(words.map((each, at) => [each, at]));
  for (const [at, each] of words.entries()) {
    expect(trie.matchAt(each, 0, each.length)).toBe(1);
    expect(trie.values[trie.groups[0]! + 1]).toBe(at);
  }
});
