import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { PagesMax } from '../../src/core/policy/snapshot.ts';
import { expectedInput, inputBound } from '../../src/routing/input-tokens.ts';
import { tries } from '../deep/effort.ts';
import { facts, model } from './build.ts';

const A_REQUEST: PagesMax = { request: 100, file: null };
const A_FILE: PagesMax = { request: null, file: 40 };
const reader = (...pagesMax: PagesMax[]) =>
  model('reader', { pageTokensMax: 700, pagesMax, contextWindow: 1_000_000, maxOutput: 8_000 });
const asked = (pdfs: number, more = {}) => facts({ inputTokens: 20, inputTokensMax: 100, pdfs, pages: pdfs, ...more });

describe('PDFs are held', () => {
  test('PDFs are bounded by the pages that a provider reads: per request, per file, or the maximum over several providers', () => {
    expect(inputBound(reader(A_REQUEST), asked(1))).toBe(100 + 100 * 700);
    expect(inputBound(reader(A_REQUEST), asked(5))).toBe(100 + 100 * 700);
    expect(inputBound(reader(A_FILE), asked(1))).toBe(100 + 40 * 700);
    expect(inputBound(reader(A_FILE), asked(5))).toBe(100 + 5 * 40 * 700);
    expect(inputBound(reader({ request: 100, file: 40 }), asked(5))).toBe(100 + 100 * 700);
    expect(inputBound(reader(A_REQUEST, A_FILE), asked(5))).toBe(100 + 5 * 40 * 700);
  });

  test('PDFs are bounded by the model’s window less the rest of the prompt', () => {
    const narrow = { ...reader(A_FILE), contextWindow: 20_000 };
    expect(inputBound(narrow, asked(1))).toBe(20_000);
    expect(inputBound(narrow, asked(1, { inputTokensMax: 30_000 }))).toBe(30_000);
  });

  test('PDFs have no bound if one of the two figures is missing, so no budget can pay for them', () => {
    expect(inputBound(model('plain', { pageTokensMax: 700 }), asked(1))).toBeNull();
    expect(inputBound(model('plain', { pagesMax: [A_FILE] }), asked(1))).toBeNull();
  });

  test('PDFs are bounded by the provider’s count plus its margin if that is less, unless the request uses the provider’s tools', () => {
    const counted = (tokens: number) => asked(1, { serviceCounts: { reader: { tokens, margin: 50 } } });
    expect(inputBound(reader(A_FILE), counted(900))).toBe(950);
    expect(inputBound(reader(A_FILE), counted(900_000))).toBe(100 + 40 * 700);
    expect(inputBound(model('other', { pageTokensMax: 700, pagesMax: [A_FILE] }), counted(900))).toBe(100 + 40 * 700);
    expect(expectedInput(counted(900), reader(A_FILE))).toBe(900);
    const addOns = { units: [], toolUses: {}, rereadings: 1, unpriced: [] };
    expect(inputBound(reader(A_FILE), { ...counted(900), addOns })).toBe(2_000_000);
  });
});

test('the expected tokens of PDFs depend on their pages, never exceed the model’s maximum per page, and exclude no model', () => {
  expect(expectedInput(asked(1, { pages: 3 }), reader(A_FILE))).toBe(20 + 3 * 700);
  expect(expectedInput(asked(1, { pages: 3 }), { ...reader(A_FILE), pageTokensMax: null })).toBe(20 + 3 * 2_300);
  expect(expectedInput(asked(1, { pages: 9_999 }), reader(A_FILE))).toBe(1_000_000 - 8_000);
});

/** The most that a provider bills for a prompt: all pages that it reads, within its window. */
const law = (boundOf: typeof inputBound) =>
  fc.property(
    fc.record({
      pdfs: fc.integer({ min: 1, max: 9 }),
      text: fc.integer({ min: 0, max: 20_000 }),
      pageTokensMax: fc.integer({ min: 1, max: 8_000 }),
      contextWindow: fc.integer({ min: 1_000, max: 1_000_000 }),
      pagesMax: fc.array(
        fc.oneof(
          fc.record({ request: fc.integer({ min: 1, max: 1_000 }), file: fc.constant(null) }),
          fc.record({ request: fc.constant(null), file: fc.integer({ min: 1, max: 1_000 }) }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
      at: fc.nat(2),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    ({ pdfs, text, at, share, ...figures }) => {
      const one = figures.pagesMax[at % figures.pagesMax.length]!;
      const pages = one.request ?? one.file! * pdfs;
      const billed = Math.min(figures.contextWindow, text + Math.floor(pages * figures.pageTokensMax * share));
      const bound = boundOf(model('m', figures), facts({ inputTokensMax: text, pdfs, pages: pdfs }));
      expect(bound).toBeGreaterThanOrEqual(billed);
    },
  );

describe('a provider that keeps to its figures never bills more than the bound', () => {
  test('for any of a model’s providers and any files', () => {
    fc.assert(law(inputBound), tries('the bound of PDFs is never below a bill within the stated pages', 500, 200_000));
  });

  test.each<[string, typeof inputBound]>([
    ['counts several files once', (given, request) => inputBound(given, { ...request, pdfs: 1 })],
    [
      'considers only one provider',
      (given, request) => inputBound({ ...given, pagesMax: given.pagesMax.slice(0, 1) }, request),
    ],
    [
      'uses the number of pages that the bytes suggest',
      (given, { inputTokensMax, pages }) => inputTokensMax + pages * given.pageTokensMax!,
    ],
  ])('the test detects a bound that %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 500, endOnFailure: true, seed: 1 }).failed).toBe(true);
  });
});
