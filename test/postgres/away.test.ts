import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, temporaryFolder } from '../support/signalbox.ts';
import { ask, bookedWell, COST, isReady, type MadeKey, makeKey, type Stage, sendTwo, startStage } from './stage.ts';

/** A database that goes away and comes back, as callers see it. */
const AT_ONCE_MS = 4_000;
/** A copy of keys that is older serves nothing (`docs/state.md`). */
const COPY_MS = 5_000;
let stage: Stage;
let here: Signalbox;
beforeAll(async () => {
  stage = await startStage(1, { own: true, limit: 1_000 });
  [here] = stage.fleet.servers as [Signalbox];
});
afterEach(async () => {
  stage.gate.open();
  await stage.fleet.database.start().catch(() => {});
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The two that are upstream; the database is killed behind them. */
async function sendAndKill(box: Signalbox, key: MadeKey) {
  const under = await sendTwo(stage, box, key);
  await stage.fleet.database.kill();
  return under;
}

/** How requests of every kind are answered now, each once. */
async function askAll(key: MadeKey, limited: MadeKey) {
  const withId = { 'idempotency-key': crypto.randomUUID() };
  const paths = ['/admin/keys', '/admin/ledger', '/admin/cluster', '/v1/models'];
  return {
    told: [await ask(here, key), await ask(here, limited), await ask(here, key, {}, withId)],
    read: await Promise.all(paths.map(async (path) => [path, (await here.get(path)).status] as const)),
  };
}

/** Statuses by `GET` that no document tells of, and failures that do not say how to go on. */
async function surprises(): Promise<string[]> {
  const { paths } = (await (await here.get('/docs/json')).json()) as {
    paths: Record<string, { get?: { responses: object } }>;
  };
  const found = Object.entries(paths).map(async ([path, { get }]) => {
    if (!get) return [];
    const { status, headers, body } = await here.get(path.replaceAll(/\{\w+\}/g, 'x'));
    await body?.cancel();
    const isTold =
      `${status}` in get.responses && (status < 500 || path === '/readyz' || headers.get('retry-after') !== null);
    return isTold ? [] : [`${path}: ${status}`];
  });
  return (await Promise.all(found)).flat();
}

test('while it is away requests are told 503 at once, what is under way tells its price, and that is booked', async () => {
  const key = await makeKey(stage, 'blue');
  const limited = await makeKey(stage, 'limited', { requests_per_minute: 100_000 });
  await ask(here, limited);
  const under = await sendAndKill(here, key);
  await waitFor(async () => !(await isReady(here)));
  const until = performance.now() + COPY_MS + 500;
  expect(await surprises()).toEqual([]);
  for (let isLast = false; !isLast; await Bun.sleep(500)) {
    const isYoung = performance.now() < until;
    isLast = !isYoung;
    const { told, read } = await askAll(key, limited);
    for (const one of told) {
      expect(one).toMatchObject({ status: 503, code: 'overloaded', retryAfter: expect.any(String), micro: 0 });
      expect(one.ms).toBeLessThan(AT_ONCE_MS);
    }
    for (const [path, status] of read)
      if (status !== 503) expect([path, status, isYoung]).toEqual(['/v1/models', 200, true]);
    expect(await isReady(here)).toBe(false);
  }
  expect(await surprises()).toEqual([]);
  expect(await under.told()).toEqual([COST, COST]);
  await stage.fleet.database.start();
  await waitFor(() => isReady(here));
  expect(await bookedWell(here, 'blue')).toBe(2 * COST);
}, 60_000);

test('a process that is killed with a full spool books it at its next start, and commands on the home folder tell of it before', async () => {
  const { fleet } = stage;
  const home = temporaryFolder();
  const data = join(home, 'processes', '3');
  const mortal = await fleet.start({ data, isProcess: true });
  const key = await makeKey(stage, 'green');
  const under = await sendAndKill(mortal, key);
  await waitFor(async () => !(await isReady(mortal)));
  expect(await under.told()).toEqual([COST, COST]);
  mortal.signal('SIGKILL');
  await mortal.exited;
  await fleet.stop(mortal);
  await fleet.database.start();
  const told = await runHere(['ledger', 'audit', '--data', home], { DATABASE_URL: fleet.url });
  expect(told.err).toContain(`2 settlements are in ${join(data, 'settlements.spool')} (0.884 Credits)`);
  const again = await fleet.start({ data, isProcess: true });
  await waitFor(() => isReady(here));
  expect(await bookedWell(again, 'green')).toBe(2 * COST);
  await fleet.stop(again);
  rmSync(home, { recursive: true });
}, 60_000);
