import { expect, test } from 'bun:test';
import type { Timers } from '../../../src/core/time/timers.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { RENEW_MS } from '../../../src/store/lease.ts';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { ask, audit, booked, COST, makeKey, startStage } from './stage.ts';

/** Leases are renewed ten times a second. */
const timers: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === RENEW_MS ? 100 : ms, run),
};

test('after restoring a backup taken under traffic with its archive, the books are complete once an operator accepts', async () => {
  await using stage = await startStage(1, { limit: 1_000, own: { isArchived: true }, timers });
  const { fleet } = stage;
  const { database } = fleet;
  const [old] = fleet.servers as [Signalbox];
  const key = await makeKey(stage, 'restored');
  const many = async (count: number) => {
    const told = await Promise.all(Array.from({ length: count }, () => ask(old, key)));
    for (const { status } of told) expect(status).toBe(200);
  };
  await many(5);
  let isDone = false;
  let during = 0;
  const traffic = (async () => {
    for (; !isDone; during += 2) await many(2);
  })();
  await waitFor(() => during > 0);
  await database.backUp();
  isDone = true;
  await traffic;
  // The backup lacks these requests; the archive has them.
  await many(7);
  const charged = (12 + during) * COST;
  expect(await booked(old, 'restored')).toBe(charged);
  await database.restore();

  const words = /grants nothing: .*a backup was restored/;
  await expect(fleet.start()).rejects.toThrow(words);
  // A server that kept running grants requests until it renews its lease, then nothing, because it may know of rows that are lost.
  let late = 0;
  await waitFor(async () => {
    const { status } = await ask(old, key);
    if (status === 200) late++;
    return status === 503;
  }, 45_000);
  expect(await old.run('db', 'accept')).toMatchObject({ code: 0, err: '' });
  expect(await old.run('db', 'accept')).toMatchObject({
    out: 'The database was already accepted. Nothing has changed.\n',
  });
  const server = await fleet.start();
  expect(await server.run('ledger', 'backup', 'copy.db')).toMatchObject({
    code: 1,
    err: expect.stringContaining('pg_basebackup and pg_dump'),
  });
  expect(await audit(server)).toBe('nothing wrong');
  expect(await booked(server, 'restored')).toBe(charged + late * COST);
  expect((await ask(server, key)).status).toBe(200);
  expect(await booked(server, 'restored')).toBe(charged + (late + 1) * COST);
});
