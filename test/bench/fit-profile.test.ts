import { expect, test } from 'bun:test';
import { examplesBySet, fit, SETS, taughtFeatures, taughtStems } from '../../bench/profile-fit.ts';
import { STEMS } from '../../src/routing/profile/stems.ts';
import { WEIGHTS } from '../../src/routing/profile/weights.ts';
import { promptsOf } from '../routing/profile/prompts.ts';

test('the committed weights of the profile are those that the labelled prompts teach', () => {
  const weights = fit([...examplesBySet().values()].flat());
  expect(taughtFeatures(weights)).toEqual(WEIGHTS);
  expect(taughtStems(weights)).toEqual(STEMS.trim().split(/\s+/));
}, 120_000);

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
