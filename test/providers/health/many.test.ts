import { expect, test } from 'bun:test';
import { leastOf } from '../../support/in-time.ts';
import { fakeHealth } from './support.ts';

/** Returns the time in ms to create this many endpoints. */
function takeUp(count: number): number {
  const { health } = fakeHealth();
  const began = performance.now();
  for (let at = 0; at < count; at++) health.endpoint('provider', `upstream-${at}`, `model-${at}`);
  return performance.now() - began;
}

test('eight times as many endpoints take up to twenty times as long, not sixty-four times', async () => {
  expect(await leastOf(20, async () => takeUp(16_000) / takeUp(2_000))).toBeLessThan(20);
});

test('an endpoint at another address begins with the speed of the endpoints of the same name, until the last of them is forgotten', () => {
  const { health } = fakeHealth();
  const first = health.endpoint('p', 'u', 'm', { name: 'p', id: 'one' });
  expect(health.endpoint('p', 'u', 'm', { name: 'p', id: 'one' })).toBe(first);
  expect(health.endpoint('p', 'u', 'm', { name: 'p', id: 'two' })).not.toBe(first);
});
