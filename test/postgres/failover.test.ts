import { expect, test } from 'bun:test';
import type { Timers } from '../../src/core/timers.ts';
import { RENEW_MS } from '../../src/store/lease.ts';
import { processTimers } from '../../src/telemetry/process-timers.ts';
import { waitFor } from '../support/answers.ts';
import { startServers } from '../support/postgres-servers.ts';
import type { Signalbox } from '../support/signalbox.ts';

/** Leases are renewed ten times a second. */
const timers: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === RENEW_MS ? 100 : ms, run),
};

const ask = async (at: Signalbox): Promise<number> =>
  (await at.post('/v1/chat/completions', { model: 'sim-small', messages: [{ role: 'user', content: 'Hi.' }] })).status;

test('behind a failover that may have lost commits servers grant nothing, and none starts until an operator accepts', async () => {
  await using fleet = await startServers(1, { timers }, true);
  const [server] = fleet.servers as [Signalbox];
  expect(await ask(server)).toBe(200);
  await fleet.database.copyAside();
  await waitFor(async () => (await ask(server)) === 200);
  await fleet.database.takeOver();
  const words = /a standby of the database has taken over, or a backup was restored, which may lack what was answered/;
  await waitFor(async () => {
    const { problem } = (await (await server.get('/admin/status')).json()) as { problem: string | null };
    return words.test(problem ?? '');
  }, 45_000);
  expect(await ask(server)).toBe(503);
  await expect(fleet.start()).rejects.toThrow(words);
  expect(await server.run('db', 'accept')).toMatchObject({ code: 0, err: '' });
  // It may know of rows that are gone.
  expect(await ask(server)).toBe(503);
  expect(await ask(await fleet.start())).toBe(200);
}, 120_000);
