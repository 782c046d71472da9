import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { BusiestTokenCounts, CachedTokenCounts, SUBJECTS_MAX } from '../../../src/admin/alerts/cached-tokens.ts';
import { effort } from '../../deep/effort.ts';

const { runs, seed, proved } = effort('cached tokens', 10, 500);
const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

test('tokens count in the windows that contain them, and are forgotten after a day', () => {
  const counts = new CachedTokenCounts();
  counts.add(100, 90, 0);
  counts.add(50, 0, 30 * MINUTE);
  counts.add(10, 5, 30 * MINUTE + 1);
  expect(counts.within(60 * MINUTE, 31 * MINUTE)).toEqual({ input: 160, cached: 95, prompts: 3 });
  expect(counts.within(20 * MINUTE, 31 * MINUTE)).toEqual({ input: 60, cached: 5, prompts: 2 });
  counts.add(1, 1, DAY);
  expect(counts.within(9_999 * MINUTE, DAY)).toEqual({ input: 61, cached: 6, prompts: 3 });
});

test('the tokens of each subject count apart, and a subject without requests for a day is forgotten', () => {
  const counts = new BusiestTokenCounts<string>();
  counts.add('a', () => 'first', 100, 90, 0);
  counts.add('b', () => 'other', 10, 0, 10 * MINUTE);
  counts.add('a', () => 'second', 50, 0, 10 * MINUTE);
  expect(counts.within(60 * MINUTE, 10 * MINUTE)).toEqual([
    { id: 'a', about: 'first', input: 150, cached: 90, prompts: 2 },
    { id: 'b', about: 'other', input: 10, cached: 0, prompts: 1 },
  ]);
  expect(counts.within(5 * MINUTE, 12 * MINUTE)).toMatchObject([{ input: 50 }, { input: 10 }]);
  counts.add('b', () => 'other', 1, 1, DAY);
  expect(counts.within(DAY, DAY + 10 * MINUTE).map(({ id }) => id)).toEqual(['b']);
});

type Counts = Pick<BusiestTokenCounts<null>, 'add' | 'within'>;

/** Some keys send large prompts among many keys that send small ones; the sequence decides who comes when. */
const traffic = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 9 }).map((at) => [`busy-${at}`, 10_000] as const) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 5_000 }).map((at) => [`rare-${at}`, 100] as const) },
  ),
  { minLength: 2_000, maxLength: 3_000 },
);

const law = (make: () => Counts) =>
  fc.property(traffic, (requests) => {
    const counts = make();
    const sent = new Map<string, number>();
    for (const [id, input] of requests) {
      counts.add(id, () => null, input, 0, 0);
      sent.set(id, (sent.get(id) ?? 0) + input);
    }
    const kept = counts.within(DAY, 0);
    if (kept.length > SUBJECTS_MAX) return false;
    // A subject with more than this share of the tokens is never among those that make room for others.
    const most = sent.values().reduce((a, b) => a + b, 0) / SUBJECTS_MAX;
    const inputs = new Map(kept.map(({ id, input }) => [id, input]));
    return [...sent].every(([id, input]) => input <= most || inputs.has(id));
  });

test('a server keeps the counts of the busiest subjects, however many others there are, in bounded memory', () => {
  fc.assert(
    law(() => new BusiestTokenCounts<null>()),
    { numRuns: runs, seed },
  );
  proved('each subject with more than a two-hundredth of the tokens is counted, and never more than 200 subjects are');
});

/** Counts each subject, and lets `evict` make room. */
function counting(evict: (inputs: Map<string, number>) => void): Counts {
  const inputs = new Map<string, number>();
  return {
    add(id, _about, input) {
      if (!inputs.has(id)) evict(inputs);
      inputs.set(id, (inputs.get(id) ?? 0) + input);
    },
    within: () => [...inputs].map(([id, input]) => ({ id, about: null, input, cached: 0, prompts: 1 })),
  };
}

test.each([
  ['never makes room', () => {}],
  [
    'makes room by age',
    (inputs: Map<string, number>) => {
      if (inputs.size >= SUBJECTS_MAX) inputs.delete(inputs.keys().next().value ?? '');
    },
  ],
] as const)('the law of the busiest subjects detects a counter that %s', (_, evict) => {
  expect(
    fc.check(
      law(() => counting(evict)),
      { numRuns: 50, seed, endOnFailure: true },
    ).failed,
  ).toBe(true);
});
