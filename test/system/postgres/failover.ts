import { expect, test } from 'bun:test';
import type { Timers } from '../../../src/core/time/timers.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { RENEW_MS } from '../../../src/store/lease.ts';
import { waitFor } from '../../support/answers.ts';
import { startServers } from '../../support/postgres-servers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { audit, booked, COST, ask as chatOf, isReady, makeKey, sendTwo, startStage } from './stage.ts';

/** Leases are renewed ten times a second. */
const timers: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === RENEW_MS ? 100 : ms, run),
};

const ask = async (at: Signalbox): Promise<number> =>
  (await at.post('/v1/chat/completions', { model: 'sim-small', messages: [{ role: 'user', content: 'Hi.' }] })).status;

test('after a failover that may have lost commits, servers grant nothing and no server starts until an operator accepts', async () => {
  await using fleet = await startServers(1, {}, true);
  const [server] = fleet.servers as [Signalbox];
  expect(await ask(server)).toBe(200);
  await fleet.database.copyAside();
  await waitFor(async () => (await ask(server)) === 200);
  await fleet.database.takeOver();
  const words =
    /a standby has become the primary of the database, or a backup was restored, so it may lack commits that were acknowledged/;
  const statuses: number[] = [];
  await waitFor(async () => {
    statuses.push(await ask(server));
    const { problem } = (await (await server.get('/admin/status')).json()) as { problem: string | null };
    return words.test(problem ?? '');
  }, 45_000);
  statuses.push(await ask(server));
  expect(statuses.filter((status) => status !== 503)).toEqual([]);
  await expect(fleet.start()).rejects.toThrow(words);
  expect(await server.run('db', 'accept')).toMatchObject({ code: 0, err: '' });
  // The server may know of rows that are lost.
  expect(await ask(server)).toBe(503);
  const again = await fleet.start();
  expect(await ask(again)).toBe(200);

  // Another database has another history, although the server is the same.
  await fleet.stop(again);
  await fleet.stop(server);
  const name = fleet.url.split('/').at(-1);
  // The refused server left a connection, which would have ended with a process.
  const copied = async () => {
    await fleet.database.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    await fleet.database.create('copy', name);
    return true;
  };
  await waitFor(() => copied().catch(() => null));
  const env = { DATABASE_URL: fleet.database.urlOf('copy') };
  await expect(fleet.start({ env })).rejects.toThrow(words);
});

test('while a primary runs as a standby, requests get 503, and no answer is lost', async () => {
  await using stage = await startStage(1, { own: true, timers });
  const { database, servers } = stage.fleet;
  const [server] = servers as [Signalbox];
  const key = await makeKey(stage, 'red');
  const limited = await makeKey(stage, 'limited', { requests_per_minute: 100_000 });
  const under = await sendTwo(stage, server, key);
  await database.restartAs('standby');
  await waitFor(async () => !(await isReady(server)));
  const id = { 'idempotency-key': crypto.randomUUID() };
  for (const told of [await chatOf(server, key), await chatOf(server, limited), await chatOf(server, key, {}, id)])
    expect(told).toMatchObject({ status: 503, code: 'overloaded', retryAfter: expect.any(String) });
  for (const path of ['keys', 'ledger', 'usage', 'cluster', 'decisions'])
    expect([200, 503]).toContain((await server.get(`/admin/${path}`)).status);
  await expect(stage.fleet.start()).rejects.toThrow(/transaction_read_only is on|takes no writes/);
  expect(await under.told()).toEqual([COST, COST]);
  await database.restartAs('primary');
  await waitFor(() => isReady(server));
  await waitFor(async () => (await chatOf(server, key)).status === 200);
  expect(await booked(server, 'red')).toBe(3 * COST);
  expect(await audit(server)).toBe('nothing wrong');
});
