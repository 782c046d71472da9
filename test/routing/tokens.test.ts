import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicalLanguage } from '../../src/core/languages.ts';
import { estimateTokens, tokenWeight, utf8Bytes } from '../../src/core/tokens.ts';

/** Any string of UTF-16, lone surrogates included, around the edge between the two ways of counting. */
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
    fc.constantFrom(0, 200, 510, 3000),
  )
  .map(([codes, pad]) => 'é'.repeat(pad) + String.fromCharCode(...codes));

describe('the bytes of a text', () => {
  test('are those of UTF-8, for any string', () => {
    const encoder = new TextEncoder();
    fc.assert(
      fc.property(anyText, (text) => utf8Bytes(text) === encoder.encode(text).length),
      { numRuns: 3000 },
    );
  });
});

describe('the estimated tokens of a text', () => {
  test('are a fourth of English, half of other alphabets, and each ideograph', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens('four')).toBe(1);
    expect(estimateTokens('fives')).toBe(2);
    expect(estimateTokens('Привет')).toBe(3);
    expect(estimateTokens('你好世界')).toBe(4);
    expect(estimateTokens('안녕')).toBe(2);
  });

  test('never exceed its bytes, rounded up, and never fall below 0', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const weight = tokenWeight(text);
        return weight >= 0 && (text.length > 2000 || weight <= utf8Bytes(text));
      }),
    );
  });

  test('of a long text are sampled, in proportion to its length', () => {
    const text = 'word '.repeat(100_000);
    expect(estimateTokens(text)).toBe(text.length / 4);
  });

  test('of 10 MB take no longer than of 10 kB', () => {
    const text = 'x'.repeat(10_000_000);
    const start = performance.now();
    for (let i = 0; i < 100; i++) estimateTokens(text);
    expect(performance.now() - start).toBeLessThan(500);
  });
});

describe('the name of a programming language', () => {
  test('is one, whatever it is called', () => {
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

  test('that nobody knows stays as it is, in lower case, also one that objects have', () => {
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
