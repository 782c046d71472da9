import { describe, expect, test } from 'bun:test';
import { bytesOf, promptsOf, type Score, scoreOf } from './prompts.ts';

/** Labelled prompts that the prompt reader is fitted to. */
const TUNED = [
  ...['dev', 'acts', 'everyday', 'everyday-more', 'terse', 'traps', 'talks', 'exams'],
  ...['standing', 'standing-more', 'misread', 'pasted'],
];
/**
 * Prompts that were written before the prompt reader and are never used for tuning. The hashes of the prompts make every edit visible here.
 */
const KEPT = {
  frozen: 'b94b8ebc7bd26583bdba5d5662c5700854ac674cc54949b3b023fe0de8432ad2',
  'standing-heldout': 'd8b67bec457d9dfb4b5b72c7e62d4e4057394efcff6ae9881f46b6cef27c35a7',
} as const;

const report = ({ shares, byTask, confusions }: Score): string =>
  [JSON.stringify(shares), JSON.stringify(byTask), ...confusions].join('\n');

function expectAtLeast(score: Score, least: number): void {
  const { task, naturalLanguage, languages, needs } = score.shares;
  const isGood = task >= least && naturalLanguage >= least && languages >= least && needs === 1;
  if (!isGood) console.log(report(score));
  expect(score.shares.needs).toBe(1);
  expect(score.shares.task).toBeGreaterThanOrEqual(least);
  expect(score.shares.naturalLanguage).toBeGreaterThanOrEqual(least);
  expect(score.shares.languages).toBeGreaterThanOrEqual(least);
}

describe('labelled prompts', () => {
  test('the labelled prompts cover every task in a dozen languages or more', () => {
    const all = [...TUNED, ...Object.keys(KEPT)].flatMap(promptsOf);
    const kinds = (of: (prompt: (typeof all)[number]) => string) => Map.groupBy(all, of);
    expect(all.length).toBeGreaterThanOrEqual(400);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(kinds(({ task }) => task).size).toBe(12);
    expect([...kinds(({ language }) => language).values()].filter(({ length }) => length >= 5).length).toBeGreaterThan(
      14,
    );
  });

  test('the held-out prompts are unchanged', () => {
    for (const [name, sha256] of Object.entries(KEPT)) {
      const hash = new Bun.CryptoHasher('sha256').update(bytesOf(name)).digest('hex');
      expect([name, hash]).toEqual([name, sha256]);
    }
  });

  test('prompts used for tuning are read correctly', () => {
    expectAtLeast(scoreOf(TUNED.flatMap(promptsOf)), 0.95);
  });

  test('held-out prompts are read correctly', () => {
    expectAtLeast(scoreOf(promptsOf('frozen')), 0.85);
  });

  test('held-out prompts under system prompts are read correctly', () => {
    expectAtLeast(scoreOf(promptsOf('standing-heldout')), 0.8);
  });
});
