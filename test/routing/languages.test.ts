import { describe, expect, test } from 'bun:test';
import { isRefusal } from '../../src/routing/decide.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { facts, model, outcomeOf, snapshot } from './build.ts';

const TASKS = ['general', 'coding', 'tool_use', 'chat'].map((name) => ({
  ...{ name, expectedOutputTokens: 400, defaultInputTokens: 500, minUsefulOutput: 64 },
}));
const tasks = { languageWorth: 0.04, tasks: TASKS, taskIndex: new Map(TASKS.map(({ name }, at) => [name, at])) };
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
