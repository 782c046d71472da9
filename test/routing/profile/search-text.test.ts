import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { EXPRESSIONS } from '../../../src/routing/profile/hard.ts';
import { expressionsOf } from '../../../src/routing/profile/lexicon/data.ts';
import hard from '../../../src/routing/profile/lexicon/hard.json' with { type: 'json' };
import { neededPieces } from '../../../src/routing/profile/needed-pieces.ts';
import { Expressions, type WordingOf } from '../../../src/routing/profile/search-text.ts';
import { tries } from '../../deep/effort.ts';
import { promptsOf } from './prompts.ts';

/** The expressions that are searched in lower-case texts. */
const ALL = Object.values(expressionsOf(hard)).filter(({ ignoreCase }) => !ignoreCase);

/**
 * Returns the expression without the constructs that match no text, so that texts can be generated from it. The changed expression matches
 * at least as many texts.
 */
const generous = ({ source }: RegExp): RegExp =>
  new RegExp(source.replaceAll(/\(\?<?[!=](?:[^()]|\([^()]*\))*\)|\\b/g, '').replaceAll('^', ''));

describe('the pieces that an expression needs', () => {
  test.each([
    ['prove', ['prove']],
    [String.raw`\b(?:dis)?prove\b(?! me)`, ['prove']],
    ['colou?r', ['colo']],
    ['(?:even|odd) numbers', [' numbers']],
    ['(?:np|sat)', ['np', 'sat']],
    ['x+y', ['x']],
    ['(?:abc){2} of', ['abc']],
    ['proof|[a-z]', null],
    ['a*', null],
    [String.raw`\d{3} \p{L}x`, [' ']],
    [/докажи/.source, ['докажи']],
  ] as const)('of %s are %p', (source, pieces) => {
    const found = neededPieces({ source });
    expect(found === null ? null : [...found]).toEqual(pieces === null ? null : [...pieces]);
  });

  /** Any match of an expression contains one of its pieces. */
  const law = (piecesOf: typeof neededPieces) =>
    fc.property(
      fc.constantFrom(...ALL).chain((one) => fc.tuple(fc.constant(one), fc.stringMatching(generous(one)))),
      ([expression, text]) => {
        const pieces = piecesOf(expression);
        const start = generous(expression).exec(text)?.[0] ?? '';
        expect(pieces === null || pieces.some((piece) => start.includes(piece))).toBe(true);
      },
    );

  test('are in each of its matches', () => {
    fc.assert(law(neededPieces), tries('an expression’s pieces are in its matches', 30, 20_000));
  });

  const MUTANTS: Record<string, typeof neededPieces> = {
    'an alternative were forgotten': (one) => neededPieces(one)?.slice(1) ?? null,
    'a piece were too long': (one) => neededPieces(one)?.map((piece) => `${piece}s`) ?? null,
    'what is optional were needed': ({ source }) => neededPieces({ source: source.replaceAll(/\?(?!:)/g, '') }),
  };
  test.each(Object.entries(MUTANTS))('would be wrong if %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 1_000, seed: 2, endOnFailure: true }).failed).toBe(true);
  });
});

const wordingOf: WordingOf = (text, ranges) =>
  ranges
    .map(({ from, to }) => text.slice(from, to))
    .join('')
    .toLowerCase();
const readBy = (expressions: Expressions, text: string) => expressions.read(text, [{ from: 0, to: text.length }]);

describe('a text that is searched', () => {
  const used = EXPRESSIONS.all;
  const expressions = new Expressions(used, wordingOf);
  for (let at = 0; at < 16; at++) readBy(expressions, '');

  test('has what its expressions match, in any text and case', () => {
    expect(used.length).toBeGreaterThanOrEqual(28);
    const prompts = promptsOf('dev').map(({ request }) => JSON.stringify(request.messages).toLowerCase());
    const part = fc.oneof(
      fc.constantFrom(...used).chain((one) => fc.stringMatching(generous(one), { size: 'small' })),
      fc.constantFrom(...prompts),
      fc.string({ unit: 'grapheme' }),
    );
    const text = fc
      .array(fc.tuple(part, fc.boolean()), { maxLength: 4 })
      .map((parts) => parts.map(([one, isCapital]) => (isCapital ? one.toUpperCase() : one)).join(' '));
    fc.assert(
      fc.property(text, (one) => {
        const wording = readBy(expressions, one);
        for (const [place, expression] of used.entries()) {
          const found = one.toLowerCase().match(new RegExp(expression.source, 'g')) ?? [];
          if (expression.global) expect([...wording.matches(place)]).toEqual(found);
          else expect([expression.source, wording.has(place)]).toEqual([expression.source, found.length > 0]);
        }
      }),
      tries('a text has what its expressions match', 30, 5_000),
    );
  });

  test('tries no expression on a text without one of its pieces', () => {
    const tried = { source: 'secret' } as RegExp;
    let times = 0;
    tried.test = () => ++times > 0;
    const expressions = new Expressions([tried], wordingOf);
    // The first texts are read without searching for pieces.
    for (let at = 0; at < 16; at++) expect(readBy(expressions, 'nothing of the kind').has(0)).toBe(true);
    times = 0;
    expect(readBy(expressions, 'nothing of the kind').has(0)).toBe(false);
    expect(times).toBe(0);
    expect(readBy(expressions, 'a Secret').has(0)).toBe(true);
    expect(times).toBe(1);
  });

  test('is searched only in its ranges', () => {
    const sea = /sea/;
    const expressions = new Expressions([sea], wordingOf);
    for (let at = 0; at < 16; at++) readBy(expressions, '');
    const mayHave = (from: number, to: number) => {
      const ranges = [
        { from: 0, to: 3 },
        { from, to },
      ];
      return expressions.read('the sea is wide', ranges).mayHave(0);
    };
    expect(mayHave(4, 7)).toBe(true);
    // A piece that spans two ranges does not count.
    expect([mayHave(4, 6), mayHave(7, 15)]).toEqual([false, false]);
  });

  test('can be searched with at most 32 expressions, each for lower case', () => {
    expect(() => new Expressions([/a/i], wordingOf)).toThrow(
      'an expression for lower-case texts must not have the flag i: a',
    );
    const many = new Expressions(Array(33).fill(/a/), wordingOf);
    for (let at = 0; at < 16; at++) readBy(many, '');
    expect(() => readBy(many, '')).toThrow(RangeError);
  });
});
