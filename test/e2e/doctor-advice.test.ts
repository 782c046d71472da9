import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { CheckReport } from '../../src/admin/doctor-report.ts';
import { startOwnServer } from '../support/own-server.ts';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, writePolicy } from '../support/signalbox.ts';

/** Tests of the advice of `signalbox doctor`: for a wrong folder, a wrong database, a port in use, and a new installation. */

const DAY = Date.parse('2026-11-28T12:00:00Z');
// Every user can reach this folder, as for /etc.
const room = mkdtempSync('/tmp/signalbox-room-');
afterAll(() => rmSync(room, { recursive: true, force: true }));
const folderIn = (name: string): string => join(room, name);

type Environment = Readonly<Record<string, string>>;
const commandLine = (data: string, more: readonly string[]) => ['doctor', '--offline', '--data', data, ...more];

async function doctor(data: string, environment: Environment = {}, ...more: string[]) {
  const env = { PORT: '0', ...environment };
  const { out, err, code } = await runHere(commandLine(data, ['--json', ...more]), env, '', () => DAY);
  expect(err).toBe('');
  const report = Value.Parse(CheckReport, JSON.parse(out));
  const of = (check: string) => report.data.filter((one) => one.check === check);
  return { ...report, out, code, of, states: (check: string) => of(check).map(({ state }) => state) };
}

describe('a folder of something else', () => {
  test('is named as such, and no finding advises to change its permissions', async () => {
    const folder = folderIn('project');
    mkdirSync(folder, { mode: 0o755 });
    writeFileSync(join(folder, 'hosts'), '');
    const { out, code, of, states } = await doctor(folder);
    expect([code, states('database')]).toEqual([2, ['problem']]);
    expect(of('database')[0]?.found).toContain(folder);
    expect(of('database')[0]?.advice).toContain('--data');
    expect(out).not.toContain('chmod');
    expect(states('permissions')).toContain('not_checked');
    const { out: text } = await runHere(commandLine(folder, []), { PORT: '0' });
    expect(text.split('\n')[1]).toContain(folder);
  });

  test('is also found if the database is elsewhere, in a file or at PostgreSQL', async () => {
    const folder = folderIn('project');
    const data = folderIn('none');
    const named = await doctor(data, { DATABASE_URL: join(folder, 'books.db') });
    expect(named.of('database')).toMatchObject([{ state: 'problem', advice: expect.stringContaining('DATABASE_URL') }]);
    const shared = await doctor(folder, { DATABASE_URL: 'postgres://box@127.0.0.1:9/books' });
    expect(shared.of('permissions')[0]).toMatchObject({ state: 'problem', found: expect.stringContaining(folder) });
    for (const { out } of [named, shared]) expect(out).not.toContain('chmod');
  });

  test('is not what a new disk, an empty folder or a stopped start leaves', async () => {
    for (const names of [[], ['lost+found'], ['policies', '.profile']]) {
      const folder = mkdtempSync(join(room, 'new-'));
      for (const name of names) mkdirSync(join(folder, name));
      expect((await doctor(folder)).states('database')).toEqual(['not_checked']);
    }
  });
});

for (const url of [
  'not a url',
  'mysql://box:hunter2@x/y',
  'postgres//box:hunter2@host/db',
  'postgre://box:hunter2@x/y',
]) {
  test(`DATABASE_URL=${url} is an error of every command, and a finding among the others of doctor`, async () => {
    const data = folderIn('never');
    const env = { DATABASE_URL: url };
    for (const command of [
      ['serve', '--port', '0'],
      ['ledger', 'status'],
      ['keys', 'list'],
    ]) {
      const { code, err } = await runHere([...command, '--data', data], env);
      expect([code, err]).toEqual([1, expect.stringContaining('DATABASE_URL')]);
      expect(err).toContain('postgres://USER@HOST:PORT/DATABASE');
      expect(err).not.toContain('hunter2');
    }
    const { out, code, of, states } = await doctor(data, env);
    expect([code, states('database'), states('servers')]).toEqual([2, ['problem'], ['not_checked']]);
    expect(of('database')[0]?.found).toContain('DATABASE_URL');
    expect(of('database')[0]?.advice).toContain('postgres://USER@HOST:PORT/DATABASE');
    expect(states('policy')).toEqual(['ok']);
    expect(out).not.toContain('hunter2');
    expect([existsSync(data), existsSync(url)]).toEqual([false, false]);
  });
}

test('an unreachable database is one problem with its own advice, and checks that need it say so', async () => {
  const advice = new Set<string | null>();
  for (const url of ['postgres://box@127.0.0.1:9/books', 'postgres://box@no-such-host.invalid/books?sslmode=disable']) {
    const { data, of, states } = await doctor(folderIn('none'), { DATABASE_URL: url });
    expect(data.filter(({ state }) => state === 'problem').map(({ check }) => check)).toEqual(['database']);
    expect(states('servers')).toEqual(['not_checked']);
    expect(of('database')[0]?.advice).toContain('DATABASE_URL');
    advice.add(of('database')[0]!.advice);
  }
  expect(advice.size).toBe(2);
});

describe('the port of a server', () => {
  test('is free, in use by another program, or cannot be opened', async () => {
    const other = startOwnServer(() => Response.json({ status: 'ok' }));
    const { port } = new URL(other.url);
    const taken = await doctor(folderIn('none'), { PORT: port });
    await other.stop();
    expect(taken.of('ports')).toMatchObject([{ state: 'problem', subject: `127.0.0.1:${port}` }]);
    expect(taken.code).toBe(2);
    expect((await doctor(folderIn('none'), { PORT: port })).states('ports')).toEqual(['ok']);
    expect((await doctor(folderIn('none'), { PORT: 'abc' })).states('ports')).toEqual(['problem']);
    expect((await doctor(folderIn('none'), { HOST: 'no-such-host.invalid' })).states('ports')).toEqual(['problem']);
  });

  test('may be in use by the server of this data folder, or by a server with other data', async () => {
    const box = await startSignalbox();
    const { port } = new URL(box.url);
    expect((await doctor(box.data, { PORT: port })).states('ports')).toEqual(['ok']);
    expect((await doctor(folderIn('none'), { PORT: port })).states('ports')).toEqual(['warning']);
    await box.stop();
  });

  test('is tried before a start creates the data folder', async () => {
    const other = startOwnServer(() => new Response());
    const data = folderIn('unborn');
    const { code, err } = await runHere(['serve', '--data', data, '--port', new URL(other.url).port]);
    await other.stop();
    expect([code, err]).toEqual([1, expect.stringContaining('--port')]);
    expect(existsSync(data)).toBe(false);
  });
});

test('a new installation without keys has one warning, about keys, and no text twice', async () => {
  const data = folderIn('none');
  const { data: findings, code, states } = await doctor(data);
  const urgent = findings.filter(({ state }) => state === 'problem' || state === 'warning');
  expect([code, urgent.map(({ check }) => check)]).toEqual([0, ['providers']]);
  expect(states('providers')).toEqual(['warning']);
  const { out } = await runHere(commandLine(data, []), { PORT: '0' }, '', () => DAY);
  const titles = out.split('\n').filter((line) => /^ {2}\S/.test(line));
  expect(new Set(titles.map((line) => line.split(': ').slice(1).join(': '))).size).toBe(titles.length);
});

const model = (provider: string, day: string) => `
    provider: ${provider}
    price: { input: 1, output: 4, as_of: ${day}, basis: own }
    context_window: 32768
    max_output: 256
    quality: { default: 0.5, basis: guessed }`;
const POLICY = `version: 1
providers:
  sim: { adapter: simulated }
  far: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key_env: FAR_KEY }
models:
  toy:${model('sim', '2026-11-01')}
  far-1:${model('far', '2026-01-01')}
`;

test('old prices count only if their models can serve, by the command and by the route of the console', async () => {
  const policies = writePolicy(POLICY);
  const key = { FAR_KEY: 'a-key-of-the-far-provider' };
  const at = async (env: Environment) =>
    (await doctor(folderIn('none'), env, '--policies', policies)).of('figures').map(({ state }) => state);
  expect([await at({}), await at(key)]).toEqual([['ok'], ['warning']]);
  const states = [];
  for (const env of [{}, key]) {
    const box = await startSignalbox({ policy: POLICY, env, now: () => DAY });
    const { data } = Value.Parse(CheckReport, await (await box.post('/admin/doctor', {})).json());
    states.push(data.filter(({ check }) => check === 'figures').map(({ state }) => state));
    await box.stop();
  }
  expect(states).toEqual([['ok'], ['warning']]);
  rmSync(policies, { recursive: true, force: true });
});
