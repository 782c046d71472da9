import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { decode, encode, countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { canonicalLanguage } from '../../src/core/request/languages.ts';
import { addTextSize, estimateTokens, tokenWeight, utf8Bytes } from '../../src/core/request/tokens.ts';
import { tries } from '../deep/effort.ts';
import { inTime } from '../support/in-time.ts';

/** Any UTF-16 string, including lone surrogates, also around the edges of the pieces in which long strings are counted. */
const anyText = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.integer({ min: 0, max: 0xffff }),
        fc.integer({ min: 0xd7ff, max: 0xe000 }),
        fc.integer({ min: 0x20, max: 0x7f }),
      ),
      { maxLength: 300 },
    ),
    fc.constantFrom(0, 200, 21_700, 43_600),
  )
  .map(([codes, pad]) => 'é'.repeat(pad) + String.fromCharCode(...codes));

describe('the bytes of a text', () => {
  test('are the bytes of UTF-8, for any string', () => {
    const encoder = new TextEncoder();
    fc.assert(
      fc.property(anyText, (text) => utf8Bytes(text) === encoder.encode(text).length),
      tries('bytes are those of UTF-8, for any string', 200, 20_000),
    );
  });
});

const TEXTS = join(import.meta.dir, '../../bench/texts');
const texts = new Map(
  readdirSync(TEXTS).map((file) => [file.replace('.txt', ''), readFileSync(join(TEXTS, file), 'utf8')]),
);
const textOf = (kind: string) => texts.get(kind)!;

describe('the size of a text', () => {
  const isSum = (add: typeof addTextSize) =>
    fc.property(anyText, fc.constantFrom('', 'plain', 'plain '.repeat(400)), (text, before) => {
      const size = { tokens: 0, bytes: 0 };
      for (const one of [before, text, before]) add(size, one);
      const tokens = estimateTokens(text) + 2 * estimateTokens(before);
      expect(size).toEqual({ tokens, bytes: utf8Bytes(text) + 2 * utf8Bytes(before) });
    });

  test('is its tokens and bytes, whatever was measured before', () => {
    fc.assert(isSum(addTextSize), tries('the size of a text is its tokens and bytes', 200, 20_000));
    const ofCharacters: typeof addTextSize = (size, text) => {
      size.tokens += estimateTokens(text);
      size.bytes += text.length;
    };
    expect(fc.check(isSum(ofCharacters), { endOnFailure: true }).failed).toBeTrue();
  });
});

describe('the estimated tokens of a text', () => {
  test('are one for a short word, three digits or a mark, and more in scripts without spaces', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens('four')).toBe(1);
    expect(estimateTokens('four more')).toBe(2);
    expect(estimateTokens('1234567')).toBe(3);
    expect(estimateTokens('...')).toBe(2);
    expect(estimateTokens('你好世界')).toBe(5);
    expect(estimateTokens('안녕')).toBe(3);
    expect(estimateTokens('🎉')).toBe(3);
    expect(estimateTokens('\n'.repeat(20))).toBeLessThan(3);
    expect(estimateTokens(' '.repeat(20))).toBe(1);
  });

  test.each([...texts.keys()])('for %s are between half and about twice the count of tokenizers', (kind) => {
    for (const count of [o200k(textOf(kind)), cl100k(textOf(kind))]) {
      expect(tokenWeight(textOf(kind)) / count).toBeWithin(0.5, 2.1);
    }
  });

  test('for English and code are within a sixth of the count of tokenizers', () => {
    for (const kind of ['english', 'python', 'typescript', 'sql', 'json', 'markdown', 'digits', 'hex', 'base64']) {
      expect(tokenWeight(textOf(kind)) / o200k(textOf(kind))).toBeWithin(0.84, 1.16);
    }
  });

  test('for Chinese, Japanese and Korean are not too few', () => {
    for (const kind of ['chinese', 'japanese', 'korean']) {
      expect(tokenWeight(textOf(kind))).toBeGreaterThan(o200k(textOf(kind)));
      expect(tokenWeight(textOf(kind))).toBeGreaterThan(0.9 * cl100k(textOf(kind)));
    }
  });

  test('never exceed its bytes, rounded up, and never fall below 0', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const weight = tokenWeight(text);
        return weight >= 0 && (text.length > 2000 || weight <= utf8Bytes(text));
      }),
    );
  });

  test('add up to about the same over pieces of one token, as upstreams send them', () => {
    for (const [kind, text] of texts) {
      const pieces = encode(text.slice(0, 1_500)).map((token) => decode([token]));
      const sum = pieces.reduce((total, piece) => total + tokenWeight(piece), 0);
      // Random text is cut within a class of characters.
      const least = kind === 'hex' || kind === 'digits' ? 0.6 : 0.9;
      expect(sum / tokenWeight(text.slice(0, 1_500))).toBeWithin(least, 1.2);
    }
  });

  test('for a long text are estimated from samples, in proportion to its length', () => {
    const text = textOf('english').repeat(300);
    expect(estimateTokens(text) / (300 * tokenWeight(textOf('english')))).toBeWithin(0.9, 1.1);
    const half = 'word '.repeat(50_000) + '你好'.repeat(125_000);
    expect(estimateTokens(half) / (tokenWeight('word '.repeat(400)) * 125 + 275_000)).toBeWithin(0.95, 1.05);
  });

  test('for 10 MB take no longer than for 10 kB', async () => {
    const text = 'x'.repeat(10_000_000);
    await inTime(2_000, () => {
      for (let i = 0; i < 100; i++) estimateTokens(text);
    });
  });
});

describe('the name of a programming language', () => {
  test('is canonical for every alias', () => {
    const same: Record<string, readonly string[]> = {
      javascript: ['JS', 'Node.js', 'ECMAScript', ' javascript '],
      go: ['Golang', 'GO'],
      cpp: ['C++', 'c plus  plus'],
      csharp: ['C#', 'C-Sharp'],
      typescript: ['TS', 'tsx'],
      python: ['py', 'Python3'],
      c: ['C', 'C99'],
      visualbasic: ['VB.NET'],
    };
    for (const [name, others] of Object.entries(same)) {
      for (const other of [name, ...others]) expect(canonicalLanguage(other)).toBe(name);
    }
  });

  test('stays unchanged in lower case if it is unknown, even if objects have a property of that name', () => {
    expect(canonicalLanguage('COBOL')).toBe('cobol');
    expect(canonicalLanguage('__proto__')).toBe('__proto__');
    expect(canonicalLanguage('constructor')).toBe('constructor');
  });

  test('is its own canonical name', () => {
    fc.assert(
      fc.property(fc.string(), (name) => canonicalLanguage(canonicalLanguage(name)) === canonicalLanguage(name)),
    );
  });
});
