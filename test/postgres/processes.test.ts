import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mergedPage } from '../../src/server/processes/metrics-page.ts';
import { startGate } from '../money/gate.ts';
import { pursePolicy, tokens } from '../money/purse.ts';
import { eventsOf, waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { cleanEnvironment, MAIN, makeTestKey, runCommand, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** One server of two processes, as its operator runs it. */
const data = temporaryFolder();
const port = freePort();
const metricsPort = freePort();
const url = `http://127.0.0.1:${port}`;
const key = makeTestKey();
const gate = startGate({ usageOf: () => tokens(42, 20) });
const policy = pursePolicy(gate.url, 100);
const policies = writePolicy(policy);
let database: PostgresServer;
let env: Record<string, string>;
let server: ReturnType<typeof start>;

const start = () => {
  const ports = ['--port', `${port}`, '--metrics-port', `${metricsPort}`];
  return Bun.spawn([MAIN, 'serve', '--processes', '2', ...ports, '--data', data, '--policies', policies], {
    env: cleanEnvironment(env),
    stdout: 'ignore',
    stderr: 'inherit',
  });
};
const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
const instancesIn = (page: string) =>
  [...page.matchAll(/^signalbox_instance_slot\{instance="(\d+)"\}/gm)].map(([, number]) => number);

beforeAll(async () => {
  database = await startPostgres({ isDurable: true });
  await database.create('processes');
  gate.open();
  env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: key, DATABASE_URL: database.urlOf('processes') };
  server = start();
  await waitFor(() => metrics().catch(() => null), 60_000);
}, 90_000);
afterAll(async () => {
  server.kill('SIGKILL');
  await server.exited;
  await database[Symbol.asyncDispose]();
  await gate.stop();
  for (const folder of [data, policies]) rmSync(folder, { recursive: true, force: true });
});

const send = (more = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'best', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20, ...more }),
  });
const chat = async () => {
  const answer = await send();
  await answer.text();
  return answer.status;
};

test('A restart replaces every process, and no request fails meanwhile', async () => {
  expect(instancesIn(await metrics())).toEqual(['1', '2']);
  let isOver = false;
  const statuses: (number | string)[] = [];
  const loop = async () => {
    while (!isOver) statuses.push(await chat().catch(String));
  };
  const loops = [loop(), loop(), loop(), loop()];
  const { code, out, err } = await runCommand(['restart', '--data', data]);
  isOver = true;
  await Promise.all(loops);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.split('\n').at(-2)).toBe('All 2 processes are replaced.');
  expect(new Set(statuses)).toEqual(new Set([200]));
}, 120_000);

test('Streams across a restart end whole', async () => {
  gate.close();
  const streams = Array.from({ length: 4 }, () => send({ stream: true }));
  await waitFor(() => gate.inside === 4);
  const restarted = runCommand(['restart', '--data', data]);
  // Successors serve before those that they replace end.
  await waitFor(async () => instancesIn(await metrics()).length === 3, 60_000);
  gate.open();
  for (const one of streams) expect(await eventsOf(await one)).toMatchObject({ done: true });
  expect(await restarted).toMatchObject({ code: 0, err: '' });
}, 120_000);

test('A restart whose successor cannot start says so, and the others go on', async () => {
  writeFileSync(join(policies, 'policy.yaml'), 'version: nonsense\n');
  const { code, err } = await runCommand(['restart', '--data', data]);
  expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('The others go on.') });
  for (let at = 0; at < 4; at++) expect(await chat()).toBe(200);
  expect(instancesIn(await metrics())).toHaveLength(2);
  writeFileSync(join(policies, 'policy.yaml'), policy);
}, 120_000);

test('A process that is killed is started again, and SIGTERM ends all', async () => {
  const before = instancesIn(await metrics());
  const children = () => readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
  const [killed] = children();
  process.kill(Number(killed), 'SIGKILL');
  await waitFor(async () => {
    const isReplaced = children().length === 2 && !children().includes(killed ?? '');
    return isReplaced && instancesIn(await metrics()).length === before.length;
  }, 60_000);
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  await expect(fetch(`${url}/readyz`)).rejects.toThrow();
}, 120_000);

test('SQLite has one server, and a restart needs one with processes', async () => {
  const refused = await runCommand(['serve', '--processes', '2', '--data', data]);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('A SQLite database has one server.') });
  const none = await runCommand(['restart', '--data', data]);
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('No server with --processes runs on') });
});

test('The page of all has each family once, and those of funds from one process', () => {
  const page = (value: number) =>
    `# HELP a_total A.\n# TYPE a_total counter\na_total{x="1"} ${value}\n\n# HELP f F.\n# TYPE f gauge\nf ${value}\n`;
  const pages = [1, 2].map((value) => ({ instance: `${value}`, text: page(value) }));
  expect(mergedPage(pages, (name) => name === 'f')).toBe(
    '# HELP a_total A.\n# TYPE a_total counter\na_total{instance="1",x="1"} 1\na_total{instance="2",x="1"} 2\n\n# HELP f F.\n# TYPE f gauge\nf 1\n',
  );
});
