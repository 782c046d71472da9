import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { TOKEN_BYTES_MAX } from '../../../src/core/request/tokenizer.ts';
import { countTokens, readRanks, type TokenVocabulary } from '../../../src/providers/tokenizer/byte-pairs.ts';
import { tries } from '../../deep/effort.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';
import { inTime, leastOf } from '../../support/in-time.ts';

/** Another implementation provides the true counts. */
const { numRuns, seed } = tries('tokens equal another implementation’s count for any text', 50, 20_000);

const vocabulary = (name: string, pieces: RegExp): TokenVocabulary => {
  const file = new URL(import.meta.resolve(`gpt-tokenizer/data/${name}.tiktoken`));
  return { ranks: readRanks(readFileSync(file, 'utf8')), pieces };
};
const plainly = { disallowedSpecial: new Set<string>() };
const TOKENIZERS = [
  ['o200k_base', vocabulary('o200k_base', O200K_TOKEN_SPLIT_REGEX), (text: string) => o200k(text, plainly)],
  ['cl100k_base', vocabulary('cl100k_base', CL100K_TOKEN_SPLIT_REGEX), (text: string) => cl100k(text, plainly)],
] as const;

const TEXTS = join(import.meta.dir, '../../../bench/texts');
const corpus = readdirSync(TEXTS).map((name) => readFileSync(join(TEXTS, name), 'utf8'));
const excerpt = fc
  .tuple(fc.constantFrom(...corpus), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(200))
  .map(([text, at, length]) => text.slice(at * text.length, at * text.length + length));
const repeated = fc
  .tuple(
    fc.constantFrom('a', 'aA', "'s t", ' \n', '\t \r\n', '09', '中文', 'ไท', '\ud800x', '<|endoftext|>'),
    fc.nat(40),
  )
  .map(([unit, times]) => unit.repeat(times));
const anyText = fc.oneof(excerpt, repeated, fc.string({ unit: 'grapheme' }), fc.string({ unit: anyCodePoint }));

describe.each(TOKENIZERS)('tokens of %s', (_, own, truth) => {
  const count = (text: string) => {
    const counting = countTokens(text, own);
    let step = counting.next();
    while (!step.done) step = counting.next();
    return step.value;
  };
  /** The tokens that a text adds anywhere within another. */
  const seam = count('');

  test('tokens equal another implementation’s count for any text; special tokens count as text', () => {
    fc.assert(
      fc.property(anyText, (text) => count(text) - seam === truth(text)),
      { numRuns, seed },
    );
  });

  test('tokens have at most as many bytes as the bound of a count assumes', () => {
    const longest = [...own.ranks.keys()].reduce((most, { length }) => Math.max(most, length), 0);
    expect(longest).toBeLessThanOrEqual(TOKEN_BYTES_MAX);
  });

  test('tokens of adjacent texts are never more than the sum of both', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.constantFrom('', '\n', ': '), (a, b, between) => {
        expect(truth(a + between + b)).toBeLessThanOrEqual(count(a) + count(b) + truth(between));
      }),
      { numRuns, seed },
    );
  });

  test('tokens of a piece that is too long to merge at once are never too few, and counted quickly', async () => {
    for (const unit of ['a', 'qzx', ' ', '中文字', 'สวัสดี', '=-']) {
      const text = unit.repeat(3_000 / unit.length);
      expect(count(text)).toBeGreaterThanOrEqual(truth(text));
    }
    await inTime(2_000, () => count('a'.repeat(100_000)));
  });

  test('tokens are counted in short steps, whatever the text is', async () => {
    for (const text of ['qzx'.repeat(30_000), 'word '.repeat(20_000), '\n'.repeat(100_000)]) {
      const longest = await leastOf(100, () => {
        const counting = countTokens(text, own);
        let longest = 0;
        for (let last = performance.now(); !counting.next().done; last = performance.now()) {
          longest = Math.max(longest, performance.now() - last);
        }
        return longest;
      });
      expect(longest).toBeLessThan(100);
    }
  });
});
