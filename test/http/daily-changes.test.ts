import { expect, test } from 'bun:test';
import { SignalboxError } from '../../src/core/errors.ts';
import { CHANGES_A_DAY, DailyChanges } from '../../src/http/daily-changes.ts';

const DAY_MS = 86_400_000;
const request = () => new Request('http://gateway.example/admin/keys', { method: 'POST' });

function waitOf(changes: DailyChanges, user: string): number | null {
  try {
    changes.take(request(), user);
    return null;
  } catch (cause) {
    return cause instanceof SignalboxError ? (cause.info.retryAfterMs ?? 0) : 0;
  }
}

test('the changes of a user count for a day from the first change, and a refused request does not count', () => {
  let now = 0;
  const changes = new DailyChanges(() => now);
  const refused = request();
  changes.take(refused, 'ann');
  for (let at = 1; at < CHANGES_A_DAY; at++) expect(waitOf(changes, 'ann')).toBeNull();
  now = 1_000;
  expect([waitOf(changes, 'ann'), waitOf(changes, 'bob')]).toEqual([DAY_MS - 1_000, null]);
  changes.giveBack(refused);
  changes.giveBack(refused);
  expect([waitOf(changes, 'ann'), waitOf(changes, 'ann')]).toEqual([null, DAY_MS - 1_000]);
  now = DAY_MS;
  expect(waitOf(changes, 'ann')).toBeNull();
});

test('the changes of at most 10,000 users are counted', () => {
  const changes = new DailyChanges(() => 0);
  for (let at = 0; at < CHANGES_A_DAY; at++) waitOf(changes, 'ann');
  for (let at = 0; at < 9_999; at++) waitOf(changes, `user ${at}`);
  expect(waitOf(changes, 'ann')).toBe(DAY_MS);
  waitOf(changes, 'one more');
  expect(waitOf(changes, 'ann')).toBeNull();
});
