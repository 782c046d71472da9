import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { ask, bookedWell, COST, isReady, type MadeKey, makeKey, type Stage, sendTwo, startStage } from './stage.ts';

/** A database that becomes unavailable and returns, as callers see it. */
const AT_ONCE_MS = 4_000;
/** An older copy of keys must not be used (`docs/state.md`), ms. */
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

/** Sends two requests, and kills the database once both are upstream. */
async function sendAndKill(box: Signalbox, key: MadeKey) {
  const under = await sendTwo(stage, box, key);
  await stage.fleet.database.kill();
  return under;
}

/** Sends a request of each kind. Returns the answers of the server. */
async function askAll(key: MadeKey, limited: MadeKey) {
  const withId = { 'idempotency-key': crypto.randomUUID() };
  const paths = ['/admin/keys', '/admin/ledger', '/admin/cluster', '/v1/models'];
  return {
    told: [await ask(here, key), await ask(here, limited), await ask(here, key, {}, withId)],
    read: await Promise.all(paths.map(async (path) => [path, (await here.get(path)).status] as const)),
  };
}

/** Returns `GET` statuses that the documentation lacks, and errors that do not say how to continue. */
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

test('while the database is away, new requests get 503 at once, and running requests report a price that is booked later', async () => {
  const key = await makeKey(stage, 'blue');
  const limited = await makeKey(stage, 'limited', { requests_per_minute: 100_000 });
  await ask(here, limited);
  const under = await sendAndKill(here, key);
  await waitFor(async () => !(await isReady(here)));
  const until = performance.now() + COPY_MS + 500;
  for (let isLast = false; !isLast; await Bun.sleep(1_500)) {
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
});
