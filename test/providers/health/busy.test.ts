import { expect, test } from 'bun:test';
import { begun, FORCED, fail, fakeHealth, limited } from './support.ts';

test('an endpoint counts the attempts that have begun and not ended, however they end', () => {
  const endpoint = fakeHealth().health.endpoint('p', 'u', 'm');
  const attempts = [begun(endpoint), begun(endpoint), begun(endpoint)];
  expect(endpoint.busy).toBe(3);
  attempts[0]!.completed(1, 1, null);
  attempts[1]!.dropped();
  attempts[1]!.failed(limited(), true);
  expect(endpoint.busy).toBe(1);
  attempts[2]!.failed(limited(), true);
  expect(endpoint.busy).toBe(0);
});

test('an endpoint recovers when an ejection ends with an answer, and not when a cool-down ends', () => {
  const { health, time } = fakeHealth();
  const endpoint = health.endpoint('p', 'u', 'm');
  begun(endpoint).failed(limited(500), true);
  time.now = 1_000;
  health.publish();
  begun(endpoint).completed(1, 1, null);
  expect(endpoint.recoveredAt).toBe(Number.NEGATIVE_INFINITY);
  fail(endpoint, 5);
  time.now = 5_000;
  begun(endpoint, FORCED).completed(1, 1, null);
  expect(endpoint.recoveredAt).toBe(5_000);
});
