import { expect, test } from 'bun:test';
import { pauseAfter } from '../../src/providers/token-count.ts';

test('the pause between token counts is two seconds, doubles with each failure after it, and is at most a minute', () => {
  let last = pauseAfter(null, 0, 0);
  const lengths = [last.ms];
  for (let again = 0; again < 6; again++) {
    last = pauseAfter(last, last.until, 0);
    lengths.push(last.ms);
  }
  expect(lengths).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
});

test('a failed count that began before the pause does not change the pause', () => {
  const pause = pauseAfter(null, 0, 0);
  expect(pauseAfter(pause, 1_999, 9_000)).toBe(pause);
});

test('the pause is at least as long as the provider requests', () => {
  expect(pauseAfter(null, 100, 30_000)).toEqual({ ms: 2_000, until: 30_100 });
});
