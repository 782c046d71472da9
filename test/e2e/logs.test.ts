import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { deeply } from '../deep/deeply.ts';
import { makeCanary, Nets } from '../security/canary-support.ts';
import { answerOf, quietFor, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { descriptors } from '../support/process.ts';
import {
  cleanEnvironment,
  makeTestKey,
  PROGRAM,
  type Signalbox,
  startSignalbox,
  temporaryFolder,
  writePolicy,
} from '../support/signalbox.ts';

let upstream: FakeUpstream;
let policy: string;
let box: Signalbox;
const nets = new Nets();

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  policy = testPolicy({ first: upstream.url }, { luna: { endpoints: ['first'] } });
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

type Line = Readonly<Record<string, unknown>>;

const linesOf = (texts: readonly string[]): Line[] => texts.map((text) => JSON.parse(text) as Line);
const isOfRequest = ({ message }: Line): boolean => message === 'chat' || message === 'request';
/** The lines of requests over the network. Commands reach the server through its socket and are left out. */
const requestLines = (): Line[] =>
  linesOf(box.lines).filter((line) => isOfRequest(line) && !(line.route === '/admin/keys' && line.key === undefined));
const idOf = (response: Response): string => response.headers.get('x-request-id') ?? 'none';
/** The IDs of all requests that must have a line. */
const asked: string[] = [];

/** Returns the line of a request, once it exists. */
async function lineOf(response: Response): Promise<Line> {
  const id = idOf(response);
  asked.push(id);
  return waitFor(() => requestLines().find(({ request }) => request === id));
}

/** A request in which every word is a marker that must not appear in the log. */
function chatBody(more: Readonly<Record<string, unknown>> = {}) {
  const canary = (name: string) => nets.add(name, makeCanary());
  return {
    model: 'luna',
    messages: [
      { role: 'system', content: canary('the system prompt') },
      { role: 'user', content: canary('the prompt') },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look', arguments: `{"at":"${canary('arguments')}"}` } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: canary('a tool’s result') },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: canary('a description') } }],
    user: canary('user'),
    metadata: { team: canary('metadata') },
    ...more,
  };
}

const chat = (more?: Readonly<Record<string, unknown>>, init?: RequestInit) =>
  box.post('/v1/chat/completions', chatBody(more), init);

describe('every request has one log line:', () => {
  test('a chat has a line with its key, decision, answering model, tokens, Credits, times and revision', async () => {
    upstream.next({ text: nets.add('the answer', makeCanary()) });
    const response = await chat();
    const { platform, usage } = await answerOf(response);
    const line = await lineOf(response);
    expect(line).toMatchObject({
      level: 'info',
      message: 'chat',
      key: 'test00000001',
      status: 200,
      decision: platform.decision_id,
      selector: 'pinned',
      task: expect.any(String),
      model: 'luna',
      endpoint: 'first/luna-upstream',
      reason: 'pinned',
      attempts: 1,
      input_tokens: usage.prompt_tokens,
      output_tokens: usage.completion_tokens,
      credits: platform.credits_consumed,
      total_ms: expect.any(Number),
      outcome: 'completed',
      revision: platform.policy_revision,
    });
    expect(Object.keys(line)).not.toContain('error');
  });

  test('a stream has its line once it has ended', async () => {
    upstream.next({ text: ['one ', 'two ', 'three'], betweenChunksMs: 20 });
    const response = await chat({ stream: true });
    await response.text();
    expect(await lineOf(response)).toMatchObject({ status: 200, outcome: 'completed', ttft_ms: expect.any(Number) });
  });

  test('a request that failed upstream has one line', async () => {
    const body = chatBody();
    // Upstreams repeat the request in their errors.
    upstream.next({
      status: 500,
      error: { message: `no: ${body.messages[1]?.content} \u202e\u2066\u009b31m\u001b[31m\n` },
    });
    expect(await lineOf(await chat(body))).toMatchObject({
      level: 'warn',
      status: 502,
      error: 'upstream_failed',
      outcome: 'failed',
      attempts: 1,
      failures: expect.stringMatching(/^first\/luna:\w+$/),
    });
    const attempt = linesOf(box.lines).find(({ message }) => message === 'an attempt failed');
    expect(attempt).toMatchObject({ kind: 'server', detail: 'its provider had an internal error' });
  });

  test('a stream that broke off has one line', async () => {
    upstream.next({ text: ['one ', 'two ', 'three ', 'four '], cutAfter: 3 });
    const response = await chat({ stream: true });
    await response.text().catch(() => '');
    expect(await lineOf(response)).toMatchObject({ level: 'warn', status: 200, outcome: 'broken' });
  });

  test('a stream that its reader left has one line', async () => {
    upstream.next({ text: Array.from({ length: 100 }, () => 'word '), betweenChunksMs: 20 });
    const leaving = new AbortController();
    const response = await chat({ stream: true }, { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    expect(await lineOf(response)).toMatchObject({ level: 'info', status: 200, outcome: 'abandoned' });
  });

  test('a request that got its stored answer again has one line', async () => {
    const body = JSON.stringify(chatBody());
    const again = { headers: { 'idempotency-key': 'once-and-again' }, body };
    const first = await lineOf(await chat({}, again));
    const replayed = { status: 200, outcome: 'replayed' };
    expect(await lineOf(await chat({}, again))).toMatchObject({ ...replayed, decision: first.decision });
  });

  test('requests that are refused for their content, their key or a low budget have one line each', async () => {
    expect(await lineOf(await chat({ temperature: nets.add('a bad field', makeCanary()) }))).toMatchObject({
      level: 'info',
      status: 400,
      error: 'invalid_type',
      key: 'test00000001',
    });
    // The caller is known, although the method was refused.
    expect(await lineOf(await box.get('/v1/chat/completions'))).toMatchObject({
      message: 'request',
      method: 'GET',
      status: 405,
      key: 'test00000001',
    });
    const stranger = await fetch(`${box.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
    const line = await lineOf(stranger);
    expect(line).toMatchObject({ status: 401, error: 'invalid_api_key' });
    expect(line.key).toBeUndefined();
    const [key = ''] = (await box.run('keys', 'create', '--budget', '0.001/total')).out.split('\n');
    const headers = { authorization: `Bearer ${key}` };
    await waitFor(async () => {
      const probe = await box.get('/v1/models', { headers });
      await lineOf(probe);
      return probe.status === 200;
    });
    expect(await lineOf(await chat({}, { headers }))).toMatchObject({
      status: 402,
      error: 'request_exceeds_budget',
      selector: 'pinned',
      model: 'luna',
    });
  });

  test('other requests have a line with their method and route', async () => {
    expect(await lineOf(await box.post('/v1/route', { task_type: 'coding' }))).toMatchObject({
      message: 'request',
      method: 'POST',
      route: '/v1/route',
      status: 200,
      decision: expect.stringMatching(/^dec_/),
    });
    expect(await lineOf(await box.get('/v1/models'))).toMatchObject({
      method: 'GET',
      route: '/v1/models',
      status: 200,
    });
    expect(await lineOf(await box.get('/admin/policy'))).toMatchObject({ route: '/admin/policy', key: 'test00000001' });
    const nowhere = await box.get(`/v1/${nets.add('a path', makeCanary())}`);
    // The line names the key, whatever the request is refused for.
    const known = { key: 'test00000001' };
    expect(await lineOf(nowhere)).toMatchObject({ route: 'other', status: 404, error: 'not_found', ...known });
    const wrong = await box.get('/v1/chat/completions');
    expect(await lineOf(wrong)).toMatchObject({ status: 405, error: 'method_not_allowed', ...known });
  });

  test('health checks have no line; every line is JSON, and none contains a word of a request or an answer', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/docs', '/.well-known/x402']) await box.get(path);
    await lineOf(await box.get('/v1/models'));
    await quietFor(100, 'the line of a request that has none', () => requestLines().length > asked.length);
    const told = requestLines().map(({ request }) => String(request));
    expect(told.toSorted()).toEqual(asked.toSorted());
    expect(box.lines.join('\n')).toContain('no: [prompt]');
    // No line contains characters that move a terminal's cursor or reverse the direction of text.
    expect(box.lines.filter((line) => /[\p{Cc}\p{Bidi_Control}]/u.test(line))).toEqual([]);
    expect(nets.find('the log', box.lines.join('\n'))).toEqual([]);
    expect(nets.searched).toBeGreaterThan(3_000);
  });
});

/** Starts a server with a standard output that the test controls. */
function startOn(stdout: number) {
  const data = temporaryFolder();
  const policies = writePolicy(policy);
  const key = makeTestKey();
  const args = ['serve', '--port', '0', '--data', data, '--policies', policies];
  const env = cleanEnvironment({ SIGNALBOX_API_KEY: key, ...UPSTREAM_ENV });
  const child = Bun.spawn([PROGRAM, ...args], { env, stdout, stderr: 'ignore' });
  return {
    child,
    get: (url: string, path: string) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } }),
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      for (const folder of [data, policies]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A named pipe with a reader that can stall or leave. */
function openPipe() {
  const folder = temporaryFolder();
  const path = join(folder, 'pipe');
  expect(spawnSync('mkfifo', [path]).status).toBe(0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  rmSync(folder, { recursive: true });
  const buffer = Buffer.alloc(65_536);
  let text = '';
  const decoder = new TextDecoder();
  return {
    reader,
    writer,
    /** Returns everything that has arrived. */
    read(): string {
      try {
        for (;;) {
          const count = readSync(reader, buffer, 0, buffer.length, null);
          if (count === 0) return text;
          text += decoder.decode(buffer.subarray(0, count), { stream: true });
        }
      } catch {
        return text;
      }
    },
  };
}

const addressIn = (text: string): string | undefined => /"message":"listening","address":"([^"]+)"/.exec(text)?.[1];

/** Returns the address that a process listens on, according to the system. */
function addressOf(pid: number): string | null {
  const own = new Set(descriptors(pid).flatMap((name) => /^socket:\[(\d+)\]$/.exec(name)?.[1] ?? []));
  for (const row of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
    if (state === '0A' && own.has(inode)) return `http://127.0.0.1:${Number.parseInt(local.slice(-4), 16)}`;
  }
  return null;
}

async function answersAll(requests: number, ask: () => Promise<Response>): Promise<void> {
  for (let i = 0; i < requests; i += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, ask));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  }
}

const lostOf = (page: string): number => Number(/^signalbox_log_lines_lost_total (\d+)$/m.exec(page)?.[1]);

describe('a server keeps answering', () => {
  test('a server whose output is not read keeps answering, loses no line if it is read later, and stops when told to', async () => {
    const { reader, writer, read } = openPipe();
    const server = startOn(writer);
    try {
      const url = await waitFor(() => addressIn(read()));
      // About four times as much as a pipe holds.
      await answersAll(1_200, () => server.get(url, '/v1/models'));
      expect(await (await server.get(url, '/metrics')).text()).toMatch(/^signalbox_log_lines_lost_total 0$/m);
      await waitFor(() => linesOf(read().split('\n').slice(0, -1)).filter(isOfRequest).length === 1_200);
      await answersAll(1_200, () => server.get(url, '/v1/models'));
      server.child.kill('SIGTERM');
      expect(await Promise.race([server.child.exited, Bun.sleep(10_000).then(() => 'hangs')])).toBe(0);
    } finally {
      await server.stop();
      closeSync(writer);
      closeSync(reader);
    }
  });

  deeply('a server keeps answering when the reader of its output has gone', async () => {
    const { reader, writer, read } = openPipe();
    const server = startOn(writer);
    try {
      const url = await waitFor(() => addressIn(read()));
      closeSync(reader);
      await answersAll(200, () => server.get(url, '/v1/models'));
      await waitFor(async () => lostOf(await (await server.get(url, '/metrics')).text()) >= 200);
      server.child.kill('SIGTERM');
      expect(await server.child.exited).toBe(0);
    } finally {
      await server.stop();
      closeSync(writer);
    }
  });

  test('a server keeps answering when the disk that it logs to is full', async () => {
    const full = openSync('/dev/full', 'w');
    const server = startOn(full);
    try {
      const url = await waitFor(() => addressOf(server.child.pid));
      await answersAll(200, () => server.get(url, '/v1/models'));
      server.child.kill('SIGTERM');
      expect(await server.child.exited).toBe(0);
    } finally {
      await server.stop();
      closeSync(full);
    }
  });
});
