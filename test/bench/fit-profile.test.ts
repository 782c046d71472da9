import { expect, test } from 'bun:test';
import { digest, HELD_OUT, learn, promptsOf, SETS_OF_PROMPTS } from '../../bench/profile-fit.ts';
import tables from '../../src/routing/profile/tables.json' with { type: 'json' };
import { effort, isDeep } from '../deep/effort.ts';

test('the committed tables of the prompt reader follow from the prompts and features of today: else run `bun bench/fit-profile.ts`', () => {
  expect(tables.digest).toBe(digest());
});

test.if(isDeep)('the committed tables of the prompt reader are those that the labelled prompts teach', () => {
  const { proved } = effort('profile', 0, 1);
  const { tasks, languages } = tables;
  expect(Bun.hash(JSON.stringify(learn()))).toBe(Bun.hash(JSON.stringify({ tasks, languages })));
  proved('the labelled prompts teach the committed figures again');
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
    ['frozen', 'standing-heldout', 'difficulty-heldout', ...HELD_OUT.authors.map((name) => `authors/${name}`)]
      .flatMap(wordsOf)
      .map(({ words }) => words),
  );
  const both = [...SETS_OF_PROMPTS, 'basics', 'difficulty'].flatMap(wordsOf).filter(({ words }) => heldOut.has(words));
  expect(both.map(({ id }) => id)).toEqual([]);
});
