import { expect, test } from 'bun:test';
import { digest, HELD_OUT, learn, promptsOf, SETS_OF_PROMPTS } from '../../bench/profile-fit.ts';
import weights from '../../src/routing/profile/weights.json' with { type: 'json' };
import { SHIPPED_WORDS } from '../../src/routing/profile/word-table.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { READER } from '../support/chat-body.ts';

test('the committed weights of the profile follow from the prompts and features of today: else run `bun bench/fit-profile.ts`', () => {
  expect(weights.digest).toBe(digest());
});

test.if(isDeep)('the committed weights of the profile are those that the labelled prompts teach', () => {
  const { proved } = effort('profile', 0, 1);
  const committed = SHIPPED_WORDS.slice();
  try {
    const { features, words } = learn();
    expect(features).toEqual(weights.rows);
    // The fit changes the shipped table, so `words` must be compared before the table is restored.
    expect(Bun.hash(words)).toBe(Bun.hash(committed));
  } finally {
    SHIPPED_WORDS.set(committed);
    READER.forget();
  }
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
