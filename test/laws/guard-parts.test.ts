import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { literalFinder } from '../../plugins/guards/literals.ts';
import { findNationalNumbers } from '../../plugins/guards/national-numbers.ts';
import { FINDERS as SECRETS } from '../../plugins/guards/secrets.ts';
import { type Finder, matchesAtOnce, matchesInSteps } from '../../plugins/guards/spans.ts';
import type { GuardMatch, PreparedGuard } from '../../src/contract/guard.ts';
import { MATCHES_MAX } from '../../src/contract/guard-matches.ts';
import { checkPure, finished } from '../../src/contract/guard-steps.ts';
import { linearPattern } from '../../src/core/text/linear-pattern.ts';
import { findCards, findEmails, findIbans, findIps, findPhones } from '../../src/core/text/personal.ts';
import { allIn, stepsIn, type TextFinder, type TextSpan } from '../../src/core/text/search.ts';
import { tries } from '../deep/effort.ts';

/** The law: a text that is inspected in parts has the same matches as when it is inspected as a whole, wherever the parts begin and end. */

const PIECES = [
  ...['ada@example.com', 'ada@', '@example.org', `${'x'.repeat(70)}@mail.example.org`, `a@${'b.'.repeat(140)}de`],
  ...['4111 1111 1111 1111', '4111 1111 1111 1112 ', '0000 0000 0000 0000 ', '4111-1111-1111-1111', '1 100 100 100 '],
  ...['DE89 3704 0044 0532 0130 00', '+49 30 901820', '030 1234567 / ', '(', '123-45-6789', '2026-10-07', '3.14159265'],
  ...['10.0.0.1', '1.1.1.1.', '::1', 'fe80::1', '192.168.0.1:8080', 'bsn 111222333', '85.07.30-033.28'],
  ...[
    'sk-live-1234567890abcdef',
    'AKIAIOSFODNN7EXAMPLE',
    'Bearer   abcdef0123456789',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.sig',
  ],
  ...['password: Tr0ub4dor&3', 'api_key = "', 'postgres://me:hunter22@db', '-----BEGIN PRIVATE KEY-----\nMIIE\nAAAA\n'],
  ...['aB3dE5gH7jK9mN1pQ3rS5tU7', 'falcon', 'falcon heavy', 'Falcons', 'afalcon', 'x-123', 'x-12', 'aXa', 'aaa'],
  ...[' ', '. ', '\n', '-', '9', 'a', '@', '👍', 'ä', ' and then a sentence without anything follows here. '],
];

/** Texts in which a piece can be repeated, so that a match or a run of signs is longer than a part. */
const texts = fc
  .array(fc.tuple(fc.constantFrom(...PIECES), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 60 }))), {
    minLength: 1,
    maxLength: 12,
  })
  .map((pieces) => pieces.map(([piece, count]) => piece.repeat(count)).join(''))
  // Nothing is cut in a text that is shorter than what a finder looks ahead.
  .map((text) => text.repeat(Math.ceil(1_400 / text.length)));

const PERSONAL: readonly Finder[] = [
  ['email', findEmails],
  ['iban', findIbans],
  ['card', findCards],
  ...(['be', 'br', 'de', 'es', 'fr', 'gb', 'it', 'nl', 'pl', 'se', 'us'] as const).map(
    (country): Finder => [`national-${country}`, findNationalNumbers(country)],
  ),
  ['ip', findIps],
  ['phone', findPhones],
];
const allowed = literalFinder(['falcon heavy', 'aXa'], true);
const WORDS: readonly Finder[] = [
  ['word', literalFinder(['falcon', 'a', 'axa'], true), allowed],
  ...['x-[0-9]{3}', 'aa?a', '\\w+@', '(?i)\\bfalcon\\b', '[0-9 ]+', '^4', '👍+'].map(
    (source): Finder => ['pattern', linearPattern(source).find, allowed],
  ),
];
const GUARDS = { 'personal-data': PERSONAL, secrets: SECRETS, words: WORDS } as const;

type InParts = (find: TextFinder, text: string, step: number) => readonly TextSpan[];
const AHEAD = 1_024;
const inSteps: InParts = (find, text, step) => {
  const steps = stepsIn(find, text, AHEAD, step);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
};
/** Parts that do not overlap. */
const withoutOverlap: InParts = (find, text, step) => {
  const found: TextSpan[] = [];
  for (let at = 0; at < text.length; at += step)
    for (const [from, to] of allIn(find, text.slice(at, at + step))) found.push([at + from, at + to]);
  return found;
};
/** Parts that forget a match that has not ended at the end of a part. */
const withoutGrowth: InParts = (find, text, step) => {
  const found: TextSpan[] = [];
  for (let at = 0; at < text.length; at += step)
    find(text.slice(0, at + step + AHEAD), at, Math.min(text.length, at + step), found);
  return found;
};

const EVERY = Object.values(GUARDS).flat();
const steps = fc.integer({ min: 1, max: 400 });

const findsAlike = (inParts: InParts) =>
  fc.property(texts, steps, fc.nat(EVERY.length - 1), (text, step, index) => {
    const [, find] = EVERY[index]!;
    expect(inParts(find, text, step)).toEqual(allIn(find, text));
  });

const fails = (property: fc.IProperty<unknown>, name: string): boolean =>
  fc.check(property, { ...tries(name, 600, 2_000), numRuns: 2_000, endOnFailure: true }).failed;

describe('a long text', () => {
  test('has the same matches in parts as in the whole, for each finder', () => {
    fc.assert(findsAlike(inSteps), tries('parts-of-finders', 200, 40_000));
  });

  test.each([
    ['do not overlap', withoutOverlap],
    ['forget a match that has not ended', withoutGrowth],
  ])('has not if the parts %s', (_, mutant) => {
    expect(fails(findsAlike(mutant), 'parts-of-finders')).toBeTrue();
  });

  test.each(Object.keys(GUARDS) as (keyof typeof GUARDS)[])(
    'has the same matches of all kinds in steps: %s',
    (name) => {
      const long = fc.array(texts, { minLength: 1, maxLength: 3 }).map((all) => all.map((text) => text.repeat(16)));
      fc.assert(
        fc.property(long, (all) => {
          const window = all.map((text) => ({ text, role: 'user' as const, kind: 'text' as const }));
          const whole = matchesAtOnce(window, GUARDS[name]);
          expect(finished(matchesInSteps(window, GUARDS[name], AHEAD))).toEqual(whole);
        }),
        tries(`parts-of-${name}`, 5, 200),
      );
    },
  );

  test.each([3, MATCHES_MAX, MATCHES_MAX + 10])(
    'has at most 65,536 matches after 20,000 exceptions, of %i',
    (count) => {
      const words: readonly Finder[] = [
        ['word', literalFinder(['falcon'], true), literalFinder(['falcon heavy'], true)],
        ['other', literalFinder(['falcon', 'x'], true)],
      ];
      const text = `${'falcon heavy '.repeat(20_000)}${'falcon '.repeat(count)}`;
      const window = [{ text, role: 'user' as const, kind: 'text' as const }];
      const found = finished(matchesInSteps(window, words, AHEAD));
      expect(found).toEqual(matchesAtOnce(window, words));
      // The second finder also finds what the first one makes an exception of.
      expect(found).toHaveLength(Math.min(MATCHES_MAX, count + 20_000));
      expect(found[0]?.at?.from).toBe(13 * 20_000);
    },
  );
});

/** A guard that a third party could write: it takes no steps, so Signalbox cuts the texts. */
const plain = (reach: number, find: (text: string) => readonly TextSpan[]): PreparedGuard => ({
  kinds: ['found'],
  reach,
  check: ({ texts: given }) =>
    given.flatMap(({ text }, index) =>
      find(text).map(([from, to]) => ({ kind: 'found', at: { text: index, from, to } })),
    ),
});
const by =
  (pattern: RegExp) =>
  (text: string): readonly TextSpan[] =>
    [...text.matchAll(pattern)].map(({ index, 0: found }) => [index, index + found.length]);
const PLAIN: readonly PreparedGuard[] = [
  plain(40, by(/\bx-[0-9]{2,3}\b/g)),
  plain(24, by(/aaa/g)),
  plain(80, by(/(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{24,}/g)),
  plain(64, (text) => allIn(findCards, text)),
  plain(720, (text) => allIn(findEmails, text)),
  plain(400, by(/[^\n]{0,200}falcon[^\n]{0,200}/g)),
];

type Cut = (guard: PreparedGuard, given: readonly string[], part: number) => readonly GuardMatch[];
const asWindow = (given: readonly string[]) => ({
  side: 'input' as const,
  texts: given.map((text) => ({ text, role: 'user' as const, kind: 'text' as const })),
});
const cut: Cut = (guard, given, part) => {
  const found = checkPure(guard, asWindow(given), part);
  return found instanceof Promise ? [] : finished(found);
};
const cutApart: Cut = (guard, given, part) =>
  given.flatMap((text, index) => {
    const found: GuardMatch[] = [];
    for (let begin = 0; begin < text.length; begin += part) {
      const matches = guard.check(asWindow([text.slice(begin, begin + part)]));
      for (const { kind, at } of matches instanceof Promise ? [] : finished(matches))
        found.push({ kind, at: { text: index, from: begin + at!.from, to: begin + at!.to } });
    }
    return found;
  });

const cutsAlike = (inParts: Cut) =>
  fc.property(
    fc.constantFrom(...PLAIN),
    fc.array(texts, { minLength: 1, maxLength: 3 }),
    steps,
    (guard, given, part) => {
      const whole = guard.check(asWindow(given));
      expect(inParts(guard, given, part)).toEqual(whole instanceof Promise ? [] : finished(whole));
    },
  );

describe('a guard that takes no steps', () => {
  test('finds the same in the parts of a long text as in the whole text', () => {
    fc.assert(cutsAlike(cut), tries('parts-of-guards', 100, 20_000));
  });

  test('does not if the parts do not overlap', () => {
    expect(fails(cutsAlike(cutApart), 'parts-of-guards')).toBeTrue();
  });
});
