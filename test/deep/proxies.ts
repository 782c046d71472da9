import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect, constants } from 'node:http2';
import { request } from 'node:https';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { openResponses } from '../support/responses-socket.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { textOf } from '../system/deploy/manifests.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- proxies`: the Caddy and nginx blocks of docs/operate/proxies.md with other names, ports and certificates only, in
 * the real programs. The caller is 127.0.0.2 and the proxy is 127.0.0.1, so that tests can distinguish them.
 */
const { proved } = effort('proxies', 2, 2);

/** Longer than nginx's default timeout of 60 s for an answer, and longer than Signalbox keeps an idle connection, ms. */
const LONG_MS = 65_000;
const TEST_MS = 180_000;

const PROGRAMS = ['caddy', 'nginx', 'openssl'];
const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
if (missing.length > 0) {
  throw new Error(
    `This section needs ${missing.join(', ')}. On Debian and Ubuntu: apt-get install caddy nginx-light openssl; on macOS: brew install caddy nginx openssl. Caddy must be 2.8 or later, which Debian 12 does not have.`,
  );
}

const page = textOf('docs/operate/proxies.md');
const blockOf = (language: string): string => new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page)?.[1] ?? '';
/** Replaces values of the page, each of which must occur, with test values. */
function fill(block: string, values: Readonly<Record<string, string>>): string {
  let text = block;
  for (const [from, to] of Object.entries(values)) {
    expect(text).toContain(from);
    text = text.replaceAll(from, to);
  }
  return text;
}

const home = temporaryFolder();
const upstream = startFakeUpstream({});
const running: Bun.Subprocess[] = [];
let box: Signalbox;

beforeAll(async () => {
  const trusted = /trusted_proxies: (\[.*?\])/.exec(page)?.[1];
  const more = `gateway: { retries_max: 0, failed_streams: break, failed_auth_per_minute: 2, trusted_proxies: ${trusted} }`;
  const slow = `    deadlines: { first_token_ms: ${2 * LONG_MS}, idle_ms: ${2 * LONG_MS} }`;
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'], more: slow } }, more);
  box = await startSignalbox({ policy, env: UPSTREAM_ENV, isProcess: true });
});
afterAll(async () => {
  for (const child of running) child.kill();
  await Promise.all(running.map(({ exited }) => exited));
  await box.stop();
  await upstream.stop();
  rmSync(home, { recursive: true, force: true });
});

/** Starts a program that serves TLS on a port of this machine. */
async function start(command: readonly string[], port: number): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', HOME: home, XDG_DATA_HOME: home };
  const child = Bun.spawn([...command], { cwd: home, env, stdout: 'ignore', stderr: 'pipe' });
  running.push(child);
  const url = `https://localhost:${port}`;
  const isUp = () =>
    ask(url, '/healthz', {}).then(
      ({ status }) => status === 200,
      () => false,
    );
  await waitFor(async () => {
    if (child.exitCode !== null) throw new Error(await new Response(child.stderr).text());
    return isUp();
  }, 20_000);
  return url;
}

const PROXIES = {
  async caddy(): Promise<string> {
    const [port, plain] = [freePort(), freePort()];
    const block = fill(blockOf('caddyfile'), {
      'llm.example.com': 'localhost',
      '127.0.0.1:8787': new URL(box.url).host,
    });
    const own = `{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\thttps_port ${port}\n\thttp_port ${plain}\n}\n`;
    writeFileSync(join(home, 'Caddyfile'), own + block);
    return start(['caddy', 'run', '--config', join(home, 'Caddyfile'), '--adapter', 'caddyfile'], port);
  },
  async nginx(): Promise<string> {
    const port = freePort();
    const [pem, key] = [join(home, 'localhost.pem'), join(home, 'localhost.key')];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '2'];
    Bun.spawnSync(['openssl', ...made, '-out', pem, '-keyout', key]);
    const block = fill(blockOf('nginx'), {
      // Adds HTTP/2, which Caddy has by default.
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl http2`,
      '/etc/ssl/llm.example.com.pem': pem,
      '/etc/ssl/llm.example.com.key': key,
      'llm.example.com': 'localhost',
      '127.0.0.1:8787': new URL(box.url).host,
    });
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${home}/t;`);
    mkdirSync(join(home, 't'));
    const http = `access_log off;\n${paths.join('\n')}\n${block}`;
    const conf = `pid ${home}/nginx.pid;\nerror_log stderr;\ndaemon off;\nevents {}\nhttp {\n${http}}\n`;
    writeFileSync(join(home, 'nginx.conf'), conf);
    return start(['nginx', '-p', home, '-c', join(home, 'nginx.conf')], port);
  },
};

interface Asked {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The address of the caller. */
  readonly from?: string;
  readonly signal?: AbortSignal;
}

/** Sends a request and resolves with its answer before the body arrives. The certificate is the test's own. */
function send(url: string, path: string, { body, headers = {}, from = '127.0.0.2', signal }: Asked) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const to = { method: body === undefined ? 'GET' : 'POST', host: '127.0.0.1', port: new URL(url).port, path };
    const terms = { localAddress: from, servername: 'localhost', rejectUnauthorized: false, agent: false as const };
    const own = { host: 'localhost', 'content-type': 'application/json', ...headers };
    const sent = request({ ...to, ...terms, headers: own, ...(signal && { signal }) }, resolve);
    sent.on('error', reject);
    sent.end(body);
  });
}

async function ask(url: string, path: string, asked: Asked) {
  const answer = await send(url, path, asked);
  let text = '';
  for await (const chunk of answer) text += chunk;
  return { status: answer.statusCode, text };
}

/** The text of a stream, and whether it broke off before its end. */
interface ClosedStream {
  readonly text: string;
  readonly isBroken: boolean;
}

async function untilClosed(url: string, asked: Asked): Promise<ClosedStream> {
  const answer = await send(url, CHAT, asked);
  let text = '';
  const isBroken = await (async () => {
    for await (const chunk of answer) text += chunk;
  })().then(
    () => false,
    () => true,
  );
  return { text, isBroken };
}

/** Does the same as `untilClosed` over HTTP/2. */
async function untilClosed2(url: string, { body, headers }: Asked): Promise<ClosedStream> {
  const session = connect(`https://127.0.0.1:${new URL(url).port}`, {
    servername: 'localhost',
    rejectUnauthorized: false,
  });
  const { promise, resolve } = Promise.withResolvers<ClosedStream>();
  const own = { ':method': 'POST', ':path': CHAT, ':authority': 'localhost', 'content-type': 'application/json' };
  let text = '';
  let hasEnded = false;
  const stream = session.request({ ...own, ...headers });
  stream.on('data', (chunk) => {
    text += chunk;
  });
  stream.on('end', () => {
    hasEnded = true;
  });
  stream.on('error', () => {});
  stream.on('close', () => resolve({ text, isBroken: !hasEnded || stream.rstCode !== constants.NGHTTP2_NO_ERROR }));
  session.on('error', () => resolve({ text, isBroken: true }));
  stream.end(body);
  return await promise.finally(() => session.destroy());
}

const chat = (more: object = {}): Asked => ({
  headers: { authorization: `Bearer ${box.key}` },
  body: JSON.stringify({ model: 'best', messages: [{ role: 'user', content: 'Hi' }], ...more }),
});
const CHAT = '/v1/chat/completions';

for (const [name, open] of Object.entries(PROXIES)) {
  describe(`${name} in front`, () => {
    let url = '';
    beforeAll(async () => {
      url = await open();
    });

    test('forwards a stream at once, and the disconnect of a caller', async () => {
      const before = upstream.aborted;
      upstream.next({ text: ['One ', 'two ', 'three'], hang: 2 });
      const leave = new AbortController();
      const answer = await send(url, CHAT, { ...chat({ stream: true }), signal: leave.signal });
      answer.on('error', () => {});
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      await waitFor(() => text.includes('One '));
      leave.abort();
      await waitFor(() => upstream.aborted > before);
    });

    test('forwards the error event and the broken connection of a failed stream, over HTTP/1.1 and HTTP/2', async () => {
      for (const ask of [untilClosed, untilClosed2]) {
        upstream.next({ text: ['One ', 'two ', 'three'], endAfter: 3 });
        const { text, isBroken } = await ask(url, chat({ stream: true }));
        expect([isBroken, /data: \{"error":.*"upstream_failed"/.test(text)]).toEqual([true, true]);
        upstream.next({ text: ['One ', 'two.'] });
        const whole = await ask(url, chat({ stream: true }));
        expect([whole.isBroken, whole.text.endsWith('data: [DONE]\n\n')]).toEqual([false, true]);
      }
      proved(`${name}: a failed stream shows its error event and a broken connection, by HTTP/1.1 and HTTP/2`);
    });

    test(
      'waits for an answer, a stream and a WebSocket that are silent for long, and continues after a pause',
      async () => {
        const client = openResponses({ url }, box.key, {}, { rejectUnauthorized: false });
        expect((await client.ask({ input: 'Hi' })).at(-1)).toMatchObject({ type: 'response.completed' });
        const silent = { text: ['At last.'], headersAfterMs: LONG_MS };
        const many = () => Promise.all(Array.from({ length: 8 }, () => ask(url, CHAT, chat())));
        // During the long waits, some connections to Signalbox are idle for longer than Signalbox keeps them.
        await many();
        upstream.next(silent, silent, silent);
        client.socket.send(JSON.stringify({ type: 'response.create', model: 'best', input: 'Hi' }));
        const [whole, stream] = await Promise.all([ask(url, CHAT, chat()), ask(url, CHAT, chat({ stream: true }))]);
        for (const { status, text } of [whole, stream]) {
          expect(status).toBe(200);
          expect(text).toContain('At last.');
        }
        await waitFor(() => client.events.some((event) => JSON.stringify(event).includes('At last.')));
        await waitFor(() => client.events.at(-1)?.type === 'response.completed');
        expect(client.events.at(-1)).toMatchObject({ type: 'response.completed' });
        client.socket.close();
        expect((await many()).map(({ status }) => status)).toEqual(Array(8).fill(200));
      },
      TEST_MS,
    );

    test(
      'leaves the size of bodies and headers to Signalbox',
      async () => {
        const large = 'word '.repeat(1_800_000);
        const refused = await ask(url, CHAT, chat({ messages: [{ role: 'user', content: large }] }));
        expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'context_length_exceeded' } });
        const larger = await ask(url, CHAT, chat({ messages: [{ role: 'user', content: large + large }] }));
        expect(JSON.parse(larger.text)).toMatchObject({ error: { code: 'request_too_large' } });
        const headers = { ...chat().headers, 'x-long': 'a'.repeat(14_000) };
        expect((await ask(url, CHAT, { ...chat(), headers })).status).toBe(200);
      },
      TEST_MS,
    );

    test('forwards the address of a caller, who cannot fake another, and hides /metrics', async () => {
      const from = name === 'caddy' ? '127.0.0.3' : '127.0.0.4';
      const knock = (address: string, forged: string) =>
        ask(url, CHAT, { ...chat(), from: address, headers: { 'x-forwarded-for': forged } });
      const statuses: (number | undefined)[] = [];
      for (const forged of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
        statuses.push((await knock(from, forged)).status);
      }
      expect(statuses).toEqual([401, 401, 429]);
      expect((await knock(name === 'caddy' ? '127.0.0.5' : '127.0.0.6', '203.0.113.3')).status).toBe(401);
      expect((await ask(url, CHAT, { ...chat(), from })).status).toBe(200);
      expect((await ask(url, '/metrics', {})).status).toBe(404);
      proved(
        `${name}: the block of docs/operate/proxies.md passes streams, long silence, WebSockets, sizes and addresses`,
      );
    });
  });
}
