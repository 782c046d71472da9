import { expect, test } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

/** The Unix socket in the data folder, through which commands reach a running server. */
const box = useSignalbox();
const socketIn = (data: string) => join(data, 'operator.sock');
const overSocket = (path: string, init: RequestInit = {}) =>
  fetch(`http://localhost${path}`, { ...init, unix: socketIn(box.data) });

test('only the user of the server can open the socket', () => {
  expect(statSync(socketIn(box.data)).mode & 0o777).toBe(0o600);
});

test('a command is carried out by the running server as the operator, and recorded with the user who runs it', async () => {
  const made = JSON.parse((await box.run('keys', 'create', '--name', 'by command', '--json')).out);
  // The server itself made the key, so that it works at once.
  expect((await box.get('/v1/models', withKey(made.key))).status).toBe(200);
  const trail = (await (await box.get('/admin/trail?action=create')).json()) as { data: object[] };
  expect(trail.data[0]).toMatchObject({ actor: { kind: 'cli' }, subject: { kind: 'key', id: made.id } });
});

test('a lost last admin key is replaced while the server runs', async () => {
  const { out } = await box.run('keys', 'create', '--scope', 'admin');
  expect((await box.get('/admin/keys', withKey(out.split('\n')[0]!))).status).toBe(200);
});

test('the socket serves what operators do, and no requests of models', async () => {
  const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hi.' }] });
  const headers = { 'content-type': 'application/json' };
  expect((await overSocket('/v1/chat/completions', { method: 'POST', body, headers })).status).toBe(404);
  expect((await overSocket('/metrics')).status).toBe(404);
  expect((await overSocket('/admin/keys')).status).toBe(200);
});

test('the headers of the socket give a request over the network no power', async () => {
  const headers = { 'x-signalbox-operator': 'root', 'x-signalbox-terminal': 'root' };
  const answer = await fetch(`${box.url}/admin/keys`, { headers });
  expect(answer.status).toBe(401);
});

test('headers that are not percent-encoded are taken as they are', async () => {
  expect((await overSocket('/admin/keys', { headers: { 'x-signalbox-operator': '%zz' } })).status).toBe(200);
});

test('the socket goes with its server, and commands then work on the database', async () => {
  const data = temporaryFolder();
  const server = await startSignalbox({ data });
  expect(existsSync(socketIn(data))).toBe(true);
  await server.stop();
  expect(existsSync(socketIn(data))).toBe(false);
  expect((await runHere(['keys', 'create', '--name', 'later', '--data', data])).code).toBe(0);
});

test('a socket that a killed server left behind is passed over, and the next server replaces it', async () => {
  const data = temporaryFolder();
  await (await startSignalbox({ data })).stop();
  // A socket whose process ended without removing it refuses connections.
  const left = Bun.spawnSync([
    process.execPath,
    '-e',
    `Bun.serve({ unix: ${JSON.stringify(socketIn(data))}, fetch: () => new Response() }); process.kill(process.pid, 'SIGKILL')`,
  ]);
  expect([left.signalCode, existsSync(socketIn(data))]).toEqual(['SIGKILL', true]);
  expect((await runHere(['keys', 'list', '--data', data])).code).toBe(0);
  const next = await startSignalbox({ data });
  expect((await fetch('http://localhost/healthz', { unix: socketIn(data) })).status).toBe(200);
  await next.stop();
});

test('a server that does not answer within 2 s is reported, and --offline works on the database', async () => {
  const data = temporaryFolder();
  await (await startSignalbox({ data })).stop();
  const silent = Bun.serve({ unix: socketIn(data), fetch: () => new Promise<Response>(() => {}) });
  try {
    const refused = await runHere(['keys', 'create', '--name', 'now', '--data', data]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('--offline')]);
    const made = await runHere(['keys', 'create', '--name', 'now', '--offline', '--data', data]);
    expect([made.code, made.out]).toEqual([0, expect.stringContaining('sb_live_')]);
  } finally {
    await silent.stop(true);
  }
});
