import { expect, test } from 'bun:test';
import { leastOf } from '../../support/in-time.ts';
import { fakeHealth } from './support.ts';

/** The time to take up so many endpoints, ms. */
function takeUp(count: number): number {
  const { health } = fakeHealth();
  const began = performance.now();
  for (let at = 0; at < count; at++) health.endpoint('provider', `upstream-${at}`, `model-${at}`);
  return performance.now() - began;
}

test('eight times the endpoints take up to twenty times as long, not sixty-four', async () => {
  expect(await leastOf(20, async () => takeUp(16_000) / takeUp(2_000))).toBeLessThan(20);
});

test('an endpoint behind another address begins with the speed of its twin, until the last of them is forgotten', () => {
  const { health } = fakeHealth();
  const first = health.endpoint('p', 'u', 'm', 'one');
  expect(health.endpoint('p', 'u', 'm', 'one')).toBe(first);
  expect(health.endpoint('p', 'u', 'm', 'two')).not.toBe(first);
});
