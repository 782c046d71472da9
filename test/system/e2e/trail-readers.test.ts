import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../../src/store/sqlite/open.ts';
import { waitFor } from '../../support/answers.ts';
import { type DeafCaller, startDeafCaller } from '../../support/deaf-caller.ts';
import { expectError } from '../../support/error-contract.ts';
import { residentMiB } from '../../support/process.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder, withKey } from '../../support/signalbox.ts';

/** Clients that verify and export a long audit trail, and read the export slowly or not at all. */

/** The server counts idle time in steps of 4 s, so that this means 4 to 8 s. */
const STALLED_S = 5;
const ENTRIES = 500;
/** The size of an entry in characters, as for a key with a thousand models. */
const ENTRY = 16_000;
const env = { SIGNALBOX_API_KEY: makeTestKey() };
const data = temporaryFolder();
let box: Signalbox;
const deaf: DeafCaller[] = [];

beforeAll(async () => {
  const store = await openSqlite(join(data, 'signalbox.db'), ALL_TABLES);
  const entry = { time: 0, actor: { kind: 'cli', name: 'alice' }, action: 'change' } as const;
  const details = { models: 'm'.repeat(ENTRY) };
  const subject = { kind: 'key', id: 'k' };
  await store.commit(Array.from({ length: ENTRIES }, () => store.trail.add({ ...entry, details, subject })));
  await store.close();
  box = await startSignalbox({ data, env, stalledS: STALLED_S });
});
afterAll(async () => {
  await box.stop();
  rmSync(data, { recursive: true });
});
afterEach(() => {
  for (const caller of deaf.splice(0)) caller.hangUp();
});

const EXPORT = '/admin/trail/export';
const requestOf = (key: string, path: string) =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n\r\n`;

function exportDeaf(url: string, key: string, path = EXPORT): DeafCaller {
  const caller = startDeafCaller(Number(new URL(url).port), requestOf(key, path));
  deaf.push(caller);
  return caller;
}

/** Returns the status of an export that is closed at once. */
async function statusOf(key: string, on = box): Promise<number> {
  const { status, body } = await on.get(EXPORT, withKey(key));
  await body?.cancel();
  return status;
}

const auditors = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, at) => box.makeKey('--name', `auditor ${at}`, '--scope', 'admin')));

test.each(['/admin/trail/verify', EXPORT])('%s lets the server handle other requests while it reads', async (path) => {
  let isOver = false;
  const reading = box
    .get(path)
    .then((response) => response.text())
    .finally(() => {
      isOver = true;
    });
  let between = 0;
  for (; !isOver; between++) expect((await box.get('/healthz')).status).toBe(200);
  expect((await reading).length).toBeGreaterThan(0);
  expect(between).toBeGreaterThan(10);
});

test('only one verification runs at a time: another of the same key gets 429, and another caller gets 503', async () => {
  const [other = ''] = await auditors(1);
  const first = box.get('/admin/trail/verify');
  const again = box.get('/admin/trail/verify');
  const others = box.get('/admin/trail/verify', withKey(other));
  expect((await again).headers.get('retry-after')).toBe('1');
  await expectError(await again, 'rate_limit_exceeded');
  await expectError(await others, 'overloaded');
  expect(await (await first).json()).toMatchObject({ is_whole: true, faults: [] });
  expect(await (await box.get('/admin/trail/verify', withKey(other))).json()).toMatchObject({ is_whole: true });
});

test('a trail export that is closed early, or requested with HEAD, uses no place', async () => {
  for (let at = 0; at < 5; at++) {
    expect((await box.get(EXPORT, { method: 'HEAD' })).status).toBe(200);
    await waitFor(async () => (await statusOf(box.key)) === 200);
    const leaving = new AbortController();
    const left = box.get(EXPORT, { signal: leaving.signal }).catch(() => null);
    leaving.abort();
    await left;
  }
  await waitFor(async () => (await statusOf(box.key)) === 200);
});

test('clients that read nothing are disconnected although they send more, and release their places; a slow client is not', async () => {
  const [first = '', ...keys] = await auditors(5);
  const [last = ''] = keys;
  const slow = exportDeaf(box.url, box.key);
  for (const key of [first, first, first, first, ...keys.flatMap((key) => [key, key, key])].slice(0, 15))
    exportDeaf(box.url, key);
  // The test also reads the trail as a list, which is not a stream.
  exportDeaf(box.url, last, '/admin/trail?limit=60');
  await waitFor(async () => (await statusOf(first)) === 429);
  await waitFor(async () => (await statusOf(last)) === 503);
  const begun = performance.now();
  let received = 0;
  const reading = setInterval(() => {
    received += Math.max(0, slow.read(3_000));
  }, 20);
  try {
    await waitFor(async () => (await statusOf(first)) === 200, 30_000);
    await waitFor(() => deaf.every((caller) => caller === slow || !caller.send(Buffer.from('x'))), 10_000);
    // The slow client has read for longer than a client may be idle.
    await waitFor(() => performance.now() - begun > 2 * STALLED_S * 1_000, 30_000);
    const so = received;
    await waitFor(() => received > so + 200_000, 10_000);
  } finally {
    clearInterval(reading);
  }
});

test('each stalled export of the trail holds one page in memory and no more', async () => {
  const copy = temporaryFolder();
  cpSync(join(data, 'signalbox.db'), join(copy, 'signalbox.db'));
  const server = await startSignalbox({ data: copy, env, isProcess: true });
  try {
    const keys = await Promise.all([0, 1, 2, 3].map((at) => server.makeKey('--name', `${at}`, '--scope', 'admin')));
    await (await server.get(EXPORT)).text();
    const before = residentMiB(server.pid);
    for (const key of keys) for (let at = 0; at < 4; at++) exportDeaf(server.url, key);
    await waitFor(async () => (await statusOf(env.SIGNALBOX_API_KEY, server)) === 503);
    expect(residentMiB(server.pid) - before).toBeLessThan(32);
  } finally {
    await server.stop();
    rmSync(copy, { recursive: true });
  }
});
