import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { CheckReport } from '../../src/admin/doctor-report.ts';
import { lockStore } from '../../src/store/open.ts';
import { World } from '../store/hostile/world.ts';
import { startOver } from '../support/fleet.ts';
import { startOwnServer } from '../support/own-server.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Tests of `POST /admin/doctor` and `signalbox doctor`, each with a real cause. */

const VALID = 'far-key-that-is-valid-1';
const WRONG = 'far-key-that-is-wrong-2';
const ENV = { FAR_KEY: VALID, FAR_KEY_2: WRONG };
/** How far the clock of the provider is ahead, ms. */
let aheadMs = 0;
let calls = 0;

/** A provider that lists one model, and refuses all keys but one. */
const far = startOwnServer((request) => {
  calls++;
  const headers = { date: new Date(Date.now() + aheadMs).toUTCString() };
  if (request.headers.get('authorization') === `Bearer ${VALID}`)
    return Response.json({ object: 'list', data: [{ id: 'far-1' }] }, { headers });
  const error = { message: `Incorrect API key provided: ${WRONG}.`, code: 'invalid_api_key' };
  return Response.json({ error }, { status: 401, headers });
});

const model = (provider: string, day = '2026-11-01') => `
    provider: ${provider}
    price: { input: 1, output: 4, as_of: ${day}, basis: own }
    context_window: 32768
    max_output: 256
    quality: { default: 0.5, basis: guessed }`;

const POLICY = `version: 1
providers:
  far: { adapter: openai-compatible, base_url: "${far.url}/v1", api_keys_env: [FAR_KEY, { api_key_env: FAR_KEY_2, label: spare }] }
  down: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key_env: FAR_KEY }
models:
  far-1:${model('far')}
  far-gone:${model('far')}
  down-1:${model('down')}
`;

const folder = writePolicy(POLICY);
let box: Signalbox;
/** The clock of the server: at first a day after the prices were checked. */
let now = () => Date.now();
beforeAll(async () => {
  box = await startSignalbox({ env: ENV, args: ['--policies', folder], now: () => now() });
});
afterAll(async () => {
  await box.stop();
  await far.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Report = ReturnType<typeof parsed>;
const parsed = (text: string) => Value.Parse(CheckReport, JSON.parse(text));
const checkedAt = async (one: Pick<Signalbox, 'post'>) => parsed(await (await one.post('/admin/doctor', {})).text());

/** The findings of a check: state and subject, with the text and the advice. */
const of = ({ data }: Report, check: string) => data.filter((one) => one.check === check);
const statesOf = (report: Report, check: string) => of(report, check).map(({ state }) => state);

/** Runs the command without a server. */
async function offline(data: string, policies: string, env: Readonly<Record<string, string>> = {}, at = Date.now) {
  const args = ['doctor', '--offline', '--data', data, '--policies', policies, '--json'];
  const { out, err, code } = await runHere(args, { PORT: '0', ...env }, '', at);
  expect(err).toBe('');
  return { report: parsed(out), code };
}

test('each key is tried once: a wrong key, an unreachable provider and a missing model are found, and no secret is shown', async () => {
  calls = 0;
  const report = await checkedAt(box);
  const found = of(report, 'providers').map(({ subject, state, found }) => [subject, state, found] as const);
  expect(found.map(([subject, state]) => [subject, state])).toEqual([
    ['far (FAR_KEY)', 'warning'],
    ['far (spare)', 'problem'],
    ['down (FAR_KEY)', 'problem'],
  ]);
  expect(found[0]?.[2]).toContain('far-gone');
  expect(found[0]?.[2]).not.toContain('far-1');
  expect(found[1]?.[2]).toContain('401');
  expect(found[2]?.[2]).toContain('ECONNREFUSED');
  expect(of(report, 'providers')[1]?.advice).toContain('FAR_KEY_2_FILE');
  expect(calls).toBe(2);
  expect(JSON.stringify(report)).not.toContain(WRONG);
  expect(report.problems).toBe(2);
  for (const { state, advice } of report.data) expect(advice === null).toBe(state === 'ok');
});

test('the command asks the running server and ends with 2; without a server it finds the same at the providers', async () => {
  const printed = await box.run('doctor');
  expect([printed.code, printed.err]).toEqual([2, '']);
  expect(printed.out).toContain('FAR_KEY_2');
  // The server listens at an address, which only it knows.
  expect(printed.out).toContain('127.0.0.1:0');
  const { report, code } = await offline(box.data, folder, ENV);
  expect(code).toBe(2);
  expect(of(report, 'providers')).toEqual(of(await checkedAt(box), 'providers'));
  for (const check of ['audit', 'database_clock']) expect(statesOf(report, check)).toEqual(['not_checked']);
  expect(statesOf(report, 'ports')).toEqual(['ok']);
  expect(statesOf(report, 'database')).toEqual(['ok', 'ok']);
});

test('calls at the same time share one run', async () => {
  calls = 0;
  const [one, other] = await Promise.all([checkedAt(box), checkedAt(box)]);
  expect(one).toEqual(other);
  expect(calls).toBe(2);
});

test('a clock that differs from the providers’ clocks by two minutes is a problem', async () => {
  expect(statesOf(await checkedAt(box), 'provider_clocks')).toEqual(['ok']);
  aheadMs = 120_000;
  const report = await checkedAt(box);
  aheadMs = 0;
  expect(statesOf(report, 'provider_clocks')).toEqual(['problem']);
});

test('prices become old while the server runs', async () => {
  const real = Date.parse('2026-11-02T12:00:00Z');
  expect(statesOf((await offline(box.data, folder, ENV, () => real)).report, 'figures')).toEqual(['ok']);
  now = () => Date.parse('2027-03-01T12:00:00Z');
  const report = await checkedAt(box);
  expect(statesOf(report, 'figures')).toEqual(['warning']);
  expect(of(report, 'figures')[0]?.found).toContain('models.far-1.price');
});

/** Runs the first command in a text of advice, as a user would paste it. */
async function advised(advice: string | null) {
  const [, line = ''] = /`(?:\.\/)?signalbox ([^`]+)`/.exec(advice ?? '') ?? [];
  return runHere(line.split(' '));
}

test('an audit as the advice says is reported', async () => {
  expect(statesOf(await checkedAt(box), 'audit')).toEqual(['not_checked']);
  const [missing] = of(await checkedAt(box), 'audit');
  expect((await advised(missing?.advice ?? null)).code).toBe(0);
  expect(statesOf(await checkedAt(box), 'audit')).toEqual(['ok']);
});

test('a refused edit of the policy is a problem at the server, and a policy with mistakes is one without a server', async () => {
  const broken = writePolicy({ 'policy.yaml': POLICY, 'more.yaml': 'nonsense: 1\n' });
  const { report } = await offline(box.data, broken, ENV);
  expect(statesOf(report, 'policy')).toEqual(['problem']);
  for (const check of ['providers', 'figures', 'provider_clocks'])
    expect(statesOf(report, check)).toEqual(['not_checked']);
  writeFileSync(join(folder, 'more.yaml'), 'nonsense: 1\n');
  await box.post('/admin/policy/reload', {});
  const [refused] = of(await checkedAt(box), 'policy');
  expect(refused?.state).toBe('problem');
  const check = await advised(refused?.advice ?? null);
  expect([check.code, check.out]).toEqual([2, expect.stringContaining('nonsense')]);
  rmSync(join(folder, 'more.yaml'));
  await box.post('/admin/policy/reload', {});
  expect(statesOf(await checkedAt(box), 'policy')).toEqual(['ok']);
  rmSync(broken, { recursive: true, force: true });
});

test('a data folder, a policy or a secret that every user can read or change is found', async () => {
  // Every user can reach this folder, unlike a folder for temporary files of one user.
  const room = mkdtempSync('/tmp/signalbox-room-');
  const data = join(room, 'data');
  const secret = join(room, 'secret');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(secret, VALID, { mode: 0o600 });
  const policies = writePolicy(POLICY);
  const env = { FAR_KEY_FILE: secret, FAR_KEY_2: WRONG };
  const states = async () =>
    of((await offline(data, policies, env)).report, 'permissions').map(({ subject, state }) => [subject, state]);
  expect(await states()).toEqual([
    [data, 'ok'],
    [policies, 'ok'],
    [secret, 'ok'],
  ]);
  chmodSync(data, 0o777);
  chmodSync(join(policies, 'policy.yaml'), 0o666);
  chmodSync(secret, 0o644);
  // Only the owner may enter the folder of the secret.
  expect(await states()).toEqual([
    [data, 'problem'],
    [policies, 'problem'],
    [secret, 'ok'],
  ]);
  chmodSync(room, 0o755);
  expect((await states())[2]).toEqual([secret, 'warning']);
  for (const one of [room, policies]) rmSync(one, { recursive: true, force: true });
});

test('a damaged table of the database is found', async () => {
  const data = temporaryFolder();
  const server = await startSignalbox({ data, policy: POLICY, env: ENV });
  await server.stop();
  expect(statesOf((await offline(data, folder, ENV)).report, 'database')).toEqual(['ok', 'ok']);
  const path = join(data, 'signalbox.db');
  // Pages in the log would hide the damage.
  const db = new Database(path);
  db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  const file = openSync(path, 'r+');
  // The pages after the first, which has the schema.
  const page = 8_192;
  for (let at = page; at < statSync(path).size; at += page) writeSync(file, new Uint8Array(64).fill(255), 0, 64, at);
  const { report, code } = await offline(data, folder, ENV);
  expect(statesOf(report, 'database')).toContain('problem');
  expect(code).toBe(2);
  rmSync(data, { recursive: true, force: true });
});

test('tables of an earlier program that still runs are one warning, and its reports are not read', async () => {
  const data = temporaryFolder();
  await (await startSignalbox({ data, policy: POLICY, env: ENV })).stop();
  const path = join(data, 'signalbox.db');
  const db = new Database(path);
  db.run('DROP TABLE instance_reports');
  db.run("DELETE FROM migrations WHERE room = 'instances'");
  db.close();
  const lock = await lockStore(path);
  const { report } = await offline(data, folder, ENV);
  lock.release();
  expect(statesOf(report, 'database')[0]).toBe('warning');
  expect(statesOf(report, 'servers')).toEqual(['not_checked']);
  rmSync(data, { recursive: true, force: true });
});

test('a model server of the operator that is down at the start is a problem, at the server and without it', async () => {
  const policies = writePolicy(
    `version: 1\nproviders:\n  box: { preset: ollama }\n  sim: { adapter: simulated }\nmodels:\n  toy:${model('sim')}\n`,
  );
  const env = { OLLAMA_BASE_URL: 'http://127.0.0.1:9' };
  const down = await startSignalbox({ env, args: ['--policies', policies] });
  const reports = [await checkedAt(down), (await offline(down.data, policies, env)).report];
  await down.stop();
  for (const report of reports)
    expect(of(report, 'providers')).toMatchObject([
      { state: 'problem', subject: 'box', found: expect.stringContaining('127.0.0.1:9 cannot be reached') },
    ]);
  rmSync(policies, { recursive: true, force: true });
});

test('without a data folder nothing is a problem but what the policy says', async () => {
  const { report } = await offline(join(temporaryFolder(), 'new'), folder, { ...ENV, FAR_KEY_2: VALID });
  expect(statesOf(report, 'database')).toEqual(['not_checked']);
  expect(statesOf(report, 'disk')).toEqual(['not_checked']);
  expect(report.data.filter(({ state }) => state === 'problem').map(({ subject }) => subject)).toEqual([
    'down (FAR_KEY)',
  ]);
});

test('servers of one database with different builds or policies are found', async () => {
  const world = new World();
  const other = writePolicy(`${POLICY}# other\n`);
  const a = await startOver(world, 'a', { env: ENV, args: ['--policies', folder], version: '0.2.0+one' });
  expect(statesOf(await checkedAt(a), 'servers')).toEqual(['ok']);
  const env = { ...ENV, SIGNALBOX_API_KEY: a.key };
  const b = await startOver(world, 'b', { env, args: ['--policies', other], version: '0.2.0+two' });
  const servers = of(await checkedAt(a), 'servers');
  expect(servers.map(({ state }) => state)).toEqual(['warning', 'problem']);
  expect(servers[0]?.found).toContain('0.2.0+two');
  await Promise.all([a.stop(), b.stop()]);
  rmSync(other, { recursive: true, force: true });
});

test('a report key gets the last run for some seconds, and calls no provider in them, while an operator gets a new run', async () => {
  const report = await box.makeKey('--scope', 'report');
  const read = async () =>
    parsed(await (await box.post('/admin/doctor', {}, { headers: { authorization: `Bearer ${report}` } })).text());
  // The clock of a server never goes back, and other tests have set it ahead.
  const begin = Date.parse('2028-01-01T12:00:00Z');
  let at = begin;
  now = () => at;
  const last = await checkedAt(box);
  calls = 0;
  at = begin + 4_000;
  for (let n = 0; n < 5; n++) expect(await read()).toEqual(last);
  expect(calls).toBe(0);
  const corrected = await checkedAt(box);
  expect([calls, corrected.began_at]).toEqual([2, new Date(at).toISOString()]);
  at = begin + 10_000;
  const later = await read();
  expect([calls, later.began_at]).toEqual([4, new Date(at).toISOString()]);
});
