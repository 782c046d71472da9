import { expect, test } from 'bun:test';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { Sweep } from '../../src/server/sweep.ts';

function sweepOf(graceMs: number) {
  const swept: string[] = [];
  const errors: string[] = [];
  let now = 5_000;
  const instance = { reachedForMs: Number.POSITIVE_INFINITY };
  const onError = (part: string) => errors.push(part);
  const sweep = new Sweep({ graceMs, instance, clock: () => now, timers: processTimers, onError });
  const pass = (ms: number) => {
    now += ms;
    return sweep.tick();
  };
  return { sweep, swept, errors, pass, instance };
}

test('the first sweep runs a minute after its instance began, and not before', async () => {
  const { sweep, swept, pass } = sweepOf(60_000);
  sweep.add('holds', async () => void swept.push('holds'));
  await sweep.begin();
  await pass(59_999);
  expect(swept).toEqual([]);
  await pass(1);
  await pass(180_000);
  expect(swept).toEqual(['holds', 'holds']);
  await sweep.stop();
});

test('if no instance can come back, all parts are swept in their order during the start', async () => {
  const { sweep, swept } = sweepOf(0);
  sweep.add('holds', async () => void swept.push('holds'));
  sweep.add('payments', async () => void swept.push('payments'));
  await sweep.begin();
  expect(swept).toEqual(['holds', 'payments']);
  await sweep.stop();
});

test('if no instance can come back, a part that cannot be swept fails the start', async () => {
  const { sweep } = sweepOf(0);
  sweep.add('holds', () => Promise.reject(new Error('disk full')));
  await expect(sweep.begin()).rejects.toThrow('disk full');
});

test('after a time without the store, other instances get a minute again before a sweep', async () => {
  const { sweep, swept, errors, pass } = sweepOf(60_000);
  let isAway = false;
  sweep.add('holds', async () => {
    if (isAway) throw new Error('away');
    swept.push('holds');
  });
  sweep.add('payments', async () => void swept.push('payments'));
  await pass(60_000);
  isAway = true;
  // The second part is not tried if the first part could not read the store.
  await pass(10_000);
  isAway = false;
  await pass(59_999);
  expect([swept, errors]).toEqual([['holds', 'payments'], ['holds']]);
  await pass(1);
  expect(swept).toEqual(['holds', 'payments', 'holds', 'payments']);
});

test('after the store was away between two sweeps, other instances get a minute again, although no part has failed', async () => {
  const { sweep, swept, pass, instance } = sweepOf(60_000);
  sweep.add('holds', async () => void swept.push('holds'));
  await pass(60_000);
  for (const reached of [0, 10_000, 59_999]) {
    instance.reachedForMs = reached;
    await pass(10_000);
  }
  expect(swept).toEqual(['holds']);
  instance.reachedForMs = 60_000;
  await pass(1);
  expect(swept).toEqual(['holds', 'holds']);
});
