import { afterEach, expect, test } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { addressOf } from '../../src/store/postgres/address.ts';
import { Connection, USUAL_BOUNDS } from '../../src/store/postgres/connection.ts';
import { waitFor } from '../support/answers.ts';
import { freePort } from '../support/ports.ts';
import { OWNER, own, ownFolder } from '../support/postgres.ts';
import { runHere } from '../support/run-here.ts';
import { runToEnd, type Signalbox } from '../support/signalbox.ts';
import { ask, audit, booked, COST, makeKey, startStage } from '../system/postgres/stage.ts';
import { effort } from './effort.ts';

/** `npm run test:deep -- programs`: PgBouncer between servers and their database, and a restored dump, with the real programs. */
const { proved } = effort('programs', 1, 1);

/** The major version of the PostgreSQL that the tests use. */
const OWN_MAJOR = 18;
const missing = ['pgbouncer', 'pg_dump', 'pg_restore'].filter((name) => Bun.which(name) === null);
if (missing.length > 0)
  throw new Error(
    `This section needs ${missing.join(', ')}. On Debian and Ubuntu: apt-get install pgbouncer postgresql.`,
  );

/**
 * Returns a PostgreSQL whose version this machine's `pg_dump` supports, because it refuses later ones. Undefined means the PostgreSQL of
 * the tests.
 */
async function readableByDump(): Promise<{ readonly major: number; readonly bin?: string }> {
  const { out } = await runToEnd(['pg_dump', '--version'], {});
  const major = Number(/(\d+)/.exec(out)?.[1]);
  if (major >= OWN_MAJOR) return { major: OWN_MAJOR };
  const bin = `/usr/lib/postgresql/${major}/bin`;
  if (!existsSync(join(bin, 'initdb')))
    throw new Error(
      `pg_dump ${major} reads no PostgreSQL ${OWN_MAJOR}: this section needs pg_dump ${OWN_MAJOR}, or a server of version ${major} (apt-get install postgresql-${major}).`,
    );
  return { major, bin };
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Starts a PgBouncer with its default settings in front of a database. */
async function startPooler(port: number, mode: 'session' | 'transaction') {
  const folder = ownFolder();
  const at = freePort();
  const lines = ['[databases]', `* = host=127.0.0.1 port=${port} user=signalbox`, '[pgbouncer]'];
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: at,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
  };
  for (const [name, value] of Object.entries(settings)) lines.push(`${name} = ${value}`);
  own(join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`);
  let child: ChildProcess | null = null;
  const start = () => {
    child = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], { ...OWNER, stdio: 'ignore' });
  };
  const stop = async () => {
    const gone = new Promise((resolve) => child?.on('exit', resolve));
    child?.kill('SIGKILL');
    await gone;
  };
  start();
  ends.push(async () => {
    await stop();
    rmSync(folder, { recursive: true });
  });
  const urlFor = (url: string) => url.replace(`:${port}/`, `:${at}/`);
  const open = () => Connection.open(addressOf(urlFor(`postgres://signalbox@127.0.0.1:${port}/postgres`)));
  await waitFor(async () => (await open().catch(() => null))?.close().then(() => true));
  return { urlFor, start, stop };
}

const ROOM = 100;

test('servers with a PgBouncer in session mode spend a budget completely and no more, and continue after its restart', async () => {
  const stage = await startStage(0, { limit: (ROOM * COST) / 1e6 });
  ends.push(() => stage[Symbol.asyncDispose]());
  const { fleet } = stage;
  const pooler = await startPooler(fleet.database.port, 'session');
  const env = { DATABASE_URL: pooler.urlFor(fleet.url) };
  const [one, two] = [await fleet.start({ env, isProcess: true }), await fleet.start({ env, isProcess: true })];
  const key = await makeKey(stage, 'pooled');
  const told = await Promise.all(Array.from({ length: ROOM + 20 }, (_, at) => ask(at % 2 === 0 ? one : two, key)));
  expect(told.filter(({ status, micro }) => status === 200 && micro === COST)).toHaveLength(ROOM);
  expect(told.filter(({ status }) => status === 402)).toHaveLength(20);
  expect(await booked(two, 'pooled')).toBe(ROOM * COST);
  expect(await audit(one)).toBe('nothing wrong');

  const more = await makeKey(stage, 'restarted');
  await pooler.stop();
  expect(await ask(one, more)).toMatchObject({ status: 503, retryAfter: expect.any(String) });
  pooler.start();
  for (const box of [one, two]) await waitFor(async () => (await ask(box, more)).status === 200);
  expect(await audit(two)).toBe('nothing wrong');

  // The database itself limits the time of a transaction whose process is paused.
  const connection = await Connection.open(addressOf(env.DATABASE_URL), { ...USUAL_BOUNDS, statementMs: 100 });
  ends.push(() => connection.close());
  expect(connection.isPooled).toBe(true);
  await expect(connection.run('SELECT pg_sleep(1)')).rejects.toMatchObject({ code: '57014' });
  const [row] = await fleet.database.run(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE pid = ${connection.backend}`,
  );
  expect(row?.n).toBe(1);
  proved(
    `PgBouncer in session mode: of ${told.length} requests at once at two servers ${ROOM} had room and were booked`,
  );
});

test('servers and commands refuse a PgBouncer in transaction mode with a sentence that names the setting', async () => {
  const stage = await startStage(1);
  ends.push(() => stage[Symbol.asyncDispose]());
  const { fleet } = stage;
  const [straight] = fleet.servers as [Signalbox];
  const pooler = await startPooler(fleet.database.port, 'transaction');
  const url = pooler.urlFor(fleet.url);
  const words = 'a connection pooler gives each transaction another session; set pool_mode = session in the pooler';
  for (let tries = 0; tries < 3; tries++)
    await expect(fleet.start({ env: { DATABASE_URL: url } })).rejects.toThrow(words);
  for (const command of [
    ['db', 'status'],
    ['db', 'migrate'],
    ['instances', '--offline'],
    ['keys', 'create', '--name', 'pooled', '--offline'],
  ]) {
    const { code, err } = await runHere([...command, '--data', straight.data], { DATABASE_URL: url });
    expect([command, code, err]).toEqual([command, 1, expect.stringContaining(words)]);
  }
  proved('PgBouncer in transaction mode is refused at the start');
});

test('after restoring a dump taken under traffic into another database, no server starts until an operator accepts, and the books are complete', async () => {
  const { major, bin } = await readableByDump();
  const stage = await startStage(1, { limit: 1_000, own: { ...(bin !== undefined && { bin }) } });
  ends.push(() => stage[Symbol.asyncDispose]());
  const { fleet } = stage;
  const { database } = fleet;
  const [old] = fleet.servers as [Signalbox];
  const key = await makeKey(stage, 'dumped');
  let told = 0;
  const many = async (count: number) => {
    for (const { status } of await Promise.all(Array.from({ length: count }, () => ask(old, key)))) {
      expect(status).toBe(200);
      told++;
    }
  };
  await many(20);
  let isDone = false;
  const traffic = (async () => {
    while (!isDone) await many(4);
  })();
  const file = join(old.data, 'dump');
  expect(await runToEnd(['pg_dump', '--format=custom', `--file=${file}`, fleet.url], {})).toEqual({
    code: 0,
    out: '',
    err: '',
  });
  isDone = true;
  await traffic;
  await database.create('restored');
  const url = database.urlOf('restored');
  const restored = await runToEnd(['pg_restore', '--exit-on-error', `--dbname=${url}`, file], {});
  expect(restored).toEqual({ code: 0, out: '', err: '' });
  await fleet.stop(old);

  const env = { DATABASE_URL: url };
  await expect(fleet.start({ env })).rejects.toThrow(/grants nothing: .*a backup was restored/);
  expect(await runHere(['db', 'accept'], env)).toMatchObject({ code: 0, err: '' });
  const server = await fleet.start({ env });
  // Requests that were running during the dump are resolved once their server has certainly ended.
  const kept = await waitFor(() => booked(server, 'dumped').catch(() => null), 150_000);
  expect(kept % COST).toBe(0);
  expect(kept).toBeGreaterThanOrEqual(20 * COST);
  expect(kept).toBeLessThanOrEqual(told * COST);
  expect(await audit(server)).toBe('nothing wrong');
  expect((await ask(server, key)).micro).toBe(COST);
  expect(await booked(server, 'dumped')).toBe(kept + COST);
  proved(`pg_dump ${major} under ${told} requests, restored: accepted by an operator, whole, and served from`);
});
