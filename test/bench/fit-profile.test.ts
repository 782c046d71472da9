import { expect, test } from 'bun:test';
import { digest, examplesBySet, fit, SETS, taughtFeatures, taughtStems } from '../../bench/profile-fit.ts';
import stems from '../../src/routing/profile/stems.json' with { type: 'json' };
import features from '../../src/routing/profile/weights.json' with { type: 'json' };
import { effort, isDeep } from '../deep/effort.ts';
import { promptsOf } from '../routing/profile/prompts.ts';

test('the committed weights of the profile follow from the prompts and features of today: else run `bun bench/fit-profile.ts`', () => {
  expect([features.digest, stems.digest]).toEqual([digest(), digest()]);
});

test.if(isDeep)('the committed weights of the profile are those that the labelled prompts teach', () => {
  const { proved } = effort('profile', 0, 1);
  const examples = [...examplesBySet().values()].flat();
  const weights = fit(examples);
  expect(taughtFeatures(weights)).toEqual(features.rows);
  expect(taughtStems(weights)).toEqual(stems.rows);
  proved(`${examples.length} examples of labelled prompts teach the committed weights again`);
});

test('no prompt that is tuned on is held out, in whatever case and with whatever punctuation', () => {
  const wordsOf = (name: string) =>
    promptsOf(name).map(({ id, request }) => ({
      id,
      words: JSON.stringify(request.messages)
        .toLowerCase()
        .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' '),
    }));
  const heldOut = new Set(
    ['frozen', 'standing-heldout', 'difficulty-heldout'].flatMap(wordsOf).map(({ words }) => words),
  );
  const both = [...SETS, 'difficulty'].flatMap(wordsOf).filter(({ words }) => heldOut.has(words));
  expect(both.map(({ id }) => id)).toEqual([]);
});
