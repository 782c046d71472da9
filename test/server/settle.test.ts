import { expect, test } from 'bun:test';
import { settle } from '../../src/server/upkeep.ts';
import { HandTimers } from '../support/hand-timers.ts';

async function shrinksWith(inFlight: { readonly size: number }): Promise<number> {
  const timers = new HandTimers();
  let shrunk = 0;
  const { promise: started, resolve } = Promise.withResolvers<void>();
  const settled = settle(started, { inFlight }, { timers, shrink: () => void shrunk++ });
  timers.fire();
  expect(shrunk).toBe(0);
  resolve();
  await settled;
  timers.fire();
  return shrunk;
}

test('a server releases the memory of its start once, when the start is complete', async () => {
  expect(await shrinksWith({ size: 0 })).toBe(1);
});

test('a server that already answers keeps its compiled code', async () => {
  expect(await shrinksWith({ size: 1 })).toBe(0);
});
