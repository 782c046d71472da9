import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { mergedPage } from '../../src/server/processes/metrics-page.ts';
import { waitFor } from '../support/answers.ts';
import { freePort } from '../support/ports.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { cleanEnvironment, MAIN, makeTestKey, runCommand, temporaryFolder } from '../support/signalbox.ts';

/** One server of two processes, as its operator runs it. */
const data = temporaryFolder();
const port = freePort();
const metricsPort = freePort();
const url = `http://127.0.0.1:${port}`;
const key = makeTestKey();
let database: PostgresServer;
let env: Record<string, string>;
let server: ReturnType<typeof start>;

const start = () =>
  Bun.spawn(
    [MAIN, 'serve', '--processes', '2', '--port', `${port}`, '--metrics-port', `${metricsPort}`, '--data', data],
    {
      env: cleanEnvironment(env),
      stdout: 'ignore',
      stderr: 'inherit',
    },
  );
const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
const instancesIn = (page: string) =>
  [...page.matchAll(/^signalbox_instance_slot\{instance="(\d+)"\}/gm)].map(([, number]) => number);

beforeAll(async () => {
  database = await startPostgres({ isDurable: true });
  await database.create('processes');
  env = { SIGNALBOX_API_KEY: key, DATABASE_URL: database.urlOf('processes') };
  server = start();
  await waitFor(() => metrics().catch(() => null), 60_000);
}, 90_000);
afterAll(async () => {
  server.kill('SIGKILL');
  await server.exited;
  await database[Symbol.asyncDispose]();
  rmSync(data, { recursive: true, force: true });
});

const chat = async () => {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 }),
  });
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
