import { describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { Facts } from '../../src/core/request/facts.ts';
import { certify } from '../../src/routing/certify.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { languageWorth } from '../../src/routing/evaluate.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { story } from '../../src/routing/story.ts';
import { byQuality, decisionOf, facts, model, outcomeOf, registry, snapshot } from './build.ts';

const TASKS = ['general', 'coding', 'tool_use', 'chat'].map((name) => ({
  ...{ name, expectedOutputTokens: 400, defaultInputTokens: 500, minUsefulOutput: 64 },
}));
const tasks = { tasks: TASKS, taskIndex: new Map(TASKS.map(({ name }, at) => [name, at])) };
const one = (id: string, languages: readonly string[], lacks: readonly string[] = [], q = 0.8) =>
  model(id, {
    ...{ q, quality: Float64Array.from(TASKS, () => q), languages: new Set(languages) },
    lacksLanguages: new Set(lacks),
  });

const eligible = (from: ReturnType<typeof snapshot>, languages: readonly string[]): string[] => {
  const outcome = outcomeOf(from, facts({ languages }));
  return isRefusal(outcome) ? [] : outcome.ranked.map((each) => from.models[each.model]!.id).sort();
};

describe('a required language', () => {
  const from = snapshot([one('a', ['rust', 'klingon']), one('b', ['go'], ['cobol']), one('c', [])], tasks);

  test('keeps the models that declare the language', () => {
    expect(eligible(from, ['rust'])).toEqual(['a']);
    expect(eligible(from, ['rust', 'go'])).toEqual([]);
  });

  test('keeps all models except those that lack the language, if no model declares it', () => {
    expect(eligible(from, ['haskell'])).toEqual(['a', 'b', 'c']);
    expect(eligible(from, ['cobol'])).toEqual(['a', 'c']);
    expect(eligible(from, ['haskell', 'cobol', 'rust'])).toEqual(['a']);
  });

  test('may be a language that only a model declares', () => {
    expect(eligible(from, ['klingon'])).toEqual(['a']);
  });

  test('refuses an unknown name, and suggests the nearest language', () => {
    for (const [name, meant] of [
      ['brainfuk', ' (did you mean `brainfuck`?)'],
      ['pyton', ' (did you mean `python`?)'],
      ['dothraki', ''],
    ] as const) {
      const outcome = outcomeOf(from, facts({ languages: [name] }));
      if (!isRefusal(outcome)) throw new Error('not refused');
      const { message } = refusalError(outcome, from);
      expect(message).toContain(`\`${name}\` is not a known programming language${meant}`);
      expect(message).not.toMatch(/\?;|\?\.$/);
    }
  });

  test('is reported as not handled, or as not stated by the policy', () => {
    const outcome = outcomeOf(from, facts({ model: 'b', named: ['b'], languages: ['cobol', 'rust'] }));
    if (!isRefusal(outcome)) throw new Error('not refused');
    expect(refusalError(outcome, from).message).toContain(
      'it does not handle cobol, and the policy does not say whether it handles rust',
    );
  });
});

describe('a language of the question', () => {
  const coding = (languagesSeen: readonly string[], more: Partial<Facts> = {}) =>
    facts({ task: 'coding', languagesSeen, ...more });
  const from = snapshot([one('declares', ['rust']), one('lacks', [], ['rust']), one('unknown', [])], tasks);

  test('adds its worth for a model that declares it, half for unknown support, nothing for a model that lacks it', () => {
    const { ranked } = decisionOf(from, coding(['rust']), byQuality);
    expect(ranked.map((each) => [from.models[each.model]!.id, Number(each.quality.toFixed(4))])).toEqual([
      ['declares', 0.84],
      ['unknown', 0.82],
      ['lacks', 0.8],
    ]);
  });

  test('adds the mean over all languages, up to a quality of 1', () => {
    const { ranked } = decisionOf(from, coding(['go', 'rust']), byQuality);
    expect(ranked.map((each) => Number(each.quality.toFixed(4)))).toEqual([0.83, 0.82, 0.81]);
    const good = snapshot([one('best', ['rust'], [], 0.99)], tasks);
    expect(decisionOf(good, coding(['rust']), byQuality).ranked[0].quality).toBe(1);
  });

  test('changes no quality that people see, whatever it adds', () => {
    fc.assert(
      fc.property(fc.subarray(['go', 'rust', 'haskell']), fc.double({ min: 0, max: 1, noNaN: true }), (seen, worth) => {
        const { ranked } = decisionOf({ ...from, languageWorth: worth }, coding(seen), byQuality);
        expect(ranked.map(({ share }) => share)).toEqual([0.8, 0.8, 0.8]);
        for (const { share, quality } of ranked) expect(quality).toBeGreaterThanOrEqual(share!);
      }),
    );
  });

  test('counts in proportion to the share of coding tasks', () => {
    expect(languageWorth(coding(['rust'], { task: 'general' }), from)).toBe(0);
    expect(languageWorth(coding(['rust'], { task: 'tool_use' }), from)).toBe(0.04);
    const mix = [
      { task: 'chat', share: 0.75 },
      { task: 'coding', share: 0.25 },
    ];
    expect(languageWorth(coding(['rust'], { task: 'chat', mix }), from)).toBe(0.01);
    expect(languageWorth(coding([]), from)).toBe(0);
    // The two models do not state whether they support the language.
    expect(languageWorth(coding(['haskell']), from)).toBe(0);
  });

  test('is shown in the certificate and the explanation', () => {
    const given = { id: 1, seed: '00', strategy: byQuality, reason: 'quality' };
    const request = coding(['go', 'rust']);
    const certificate = certify(from, request, given);
    const ofModel = (id: string) => certificate.candidates.find((each) => each.model === id)!.languages;
    expect(ofModel('declares')).toEqual([
      { language: 'go', state: 'unknown', adds: 0.01 },
      { language: 'rust', state: 'declared', adds: 0.02 },
    ]);
    expect(ofModel('lacks').map(({ adds }) => adds)).toEqual([0.01, 0]);
    expect(story(certificate, request)).toContain(
      'Quality added for programming languages: declares +0.01 for go (support unknown), +0.02 for rust; unknown +0.01 for go (support unknown), +0.01 for rust (support unknown).',
    );
    expect(certify(from, facts(), given).candidates.flatMap(({ languages }) => languages)).toEqual([]);
  });
});

const NAMES = ['rust', 'go', 'elixir'] as const;
const state = fc.constantFrom('declared', 'unknown', 'lacked');
const known = fc.tuple(state, state, state);
type States = readonly string[];
const named = (id: string, states: States, q: number) =>
  one(
    id,
    NAMES.filter((_, at) => states[at] === 'declared'),
    NAMES.filter((_, at) => states[at] === 'lacked'),
    q,
  );

describe('among models that differ only in a language', () => {
  const RANK = { lacked: 0, unknown: 1, declared: 2 } as const;
  const isBetter = (a: States, b: States, seen: readonly string[]) =>
    NAMES.every((name, at) => !seen.includes(name) || Reflect.get(RANK, a[at]!) >= Reflect.get(RANK, b[at]!));

  /** `shareOf` returns the share of its worth that a language adds, by its state. The test also passes wrong functions. */
  function checkLaw(shareOf: (known: number) => number): void {
    const strategies = [...registry.strategies.values()];
    fc.assert(
      fc.property(
        known,
        known,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0.001, max: 1, noNaN: true }),
        fc.subarray([...NAMES], { minLength: 1 }),
        fc.constantFrom(...strategies.map(({ name }) => name)),
        (a, b, q, worth, seen, strategy) => {
          const plugin = strategies.find(({ name }) => name === strategy)!;
          // The worse model has the ID that wins ties, so a wrong order is noticed.
          const [more, less] = isBetter(a, b, seen) ? [a, b] : [b, a];
          if (!isBetter(more, less, seen)) return;
          const options = Value.Default(plugin.options, {}) as Record<string, unknown>;
          const plain = snapshot([named('x-less', less, q), named('y-more', more, q)], {
            ...tasks,
            languageWorth: worth,
          });
          const byName = new Map(
            Array.from(
              plain.languages.byName,
              ([name, each]) => [name, { ...each, known: each.known.map(shareOf) }] as const,
            ),
          );
          const languages = { ...plain.languages, byName };
          const from = { ...plain, languages };
          const request = facts({ task: 'coding', languagesSeen: seen, weights: { cost: 0.3, quality: 0.7 } });
          const { ranked } = decisionOf(from, request, plugin.prepare(options));
          const [first, second] = ranked;
          if (!second) throw new Error('one is missing');
          const isFirst = from.models[first.model]!.id === 'y-more';
          expect(isFirst || Math.abs(first.quality - second.quality) < 1e-9).toBe(true);
        },
      ),
    );
  }

  test('a model that declares a language never ranks after one that does not', () => checkLaw((known) => known));
  test('(and counting unknown languages for more would break it)', () =>
    expect(() => checkLaw((known) => (known === 0.5 ? 1.5 : known))).toThrow());
});
