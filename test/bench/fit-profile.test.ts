import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { digest, examplesBySet, fit, SETS, taughtFeatures, taughtStems } from '../../bench/profile-fit.ts';
import { STEMS } from '../../src/routing/profile/stems.ts';
import { WEIGHTS } from '../../src/routing/profile/weights.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { promptsOf } from '../routing/profile/prompts.ts';

const FILE = join(import.meta.dir, '../../src/routing/profile/weights.ts');

test('the committed weights of the profile follow from the prompts and features of today: else run `bun bench/fit-profile.ts`', () => {
  expect(readFileSync(FILE, 'utf8')).toContain(`Digest of what it follows from: ${digest()}.`);
});

test.if(isDeep)('the committed weights of the profile are those that the labelled prompts teach', () => {
  const { proved } = effort('profile', 0, 1);
  const examples = [...examplesBySet().values()].flat();
  const weights = fit(examples);
  expect(taughtFeatures(weights)).toEqual(WEIGHTS);
  expect(taughtStems(weights)).toEqual(STEMS.trim().split(/\s+/));
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
