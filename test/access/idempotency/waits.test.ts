import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import { Idempotency } from '../../../src/access/idempotency/idempotency.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { loneInstance } from '../../store/memory/instance.ts';
import { storeInMemory } from '../../store/memory/store.ts';

test('if a run ends without an answer, the server reads the store once, however many repeats wait', async () => {
  const store = storeInMemory();
  let reads = 0;
  const head = store.idempotency.head.bind(store.idempotency);
  store.idempotency.head = (name) => {
    reads++;
    return head(name);
  };
  const idempotency = new Idempotency({
    ...{ store, instance: loneInstance(), now: Date.now, timers: processTimers },
    isOpen: async () => false,
    giveBack: async () => 0,
  });
  const request = { keyId: 'key', secret: 'secret', idempotencyKey: 'name', body: Buffer.from('body') };
  const first = await idempotency.claim(request);
  const runs: string[] = [];
  const wait = async (): Promise<void> => {
    const claim = await idempotency.claimInTurn(request, { signal: AbortSignal.timeout(60_000), ms: 60_000 });
    runs.push(claim.kind);
    if (claim.kind === 'run') await claim.run.drop();
  };
  const waits = Array.from({ length: 50 }, wait);
  await setImmediate();
  if (first.kind !== 'run') throw new Error('the first request did not run');
  reads = 0;
  await first.run.drop();
  await Promise.all(waits);
  expect(runs).toEqual(Array(50).fill('run'));
  // Each of the 50 runs begins with a read.
  expect(reads).toBe(50);
});
