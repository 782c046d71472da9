import { afterAll, expect, test } from 'bun:test';
import { runHere } from '../support/run-here.ts';
import { runCommand } from '../support/signalbox.ts';

/** Answers according to the path. Requests under `/mute` get no answer. */
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/mute')) await new Promise(() => {});
    if (pathname.startsWith('/moved')) return new Response(null, { status: 302, headers: { location: '/healthz' } });
    return new Response(null, { status: pathname === '/healthz' ? 200 : 503 });
  },
});
const base = `http://127.0.0.1:${server.port}`;
afterAll(() => server.stop(true));

test('health ignores proxies and reports that the server of this machine is alive', async () => {
  const env = { PORT: `${server.port}`, http_proxy: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' };
  expect(await runCommand(['health'], env)).toEqual({
    code: 0,
    out: `${base}/healthz answered with status 200\n`,
    err: '',
  });
  const unready = await runCommand(['health', '--ready'], env);
  expect(unready).toEqual({
    code: 1,
    out: '',
    err: `signalbox: ${base}/readyz answered with status 503: the server is not ready.\n`,
  });
});

test('health --json prints JSON, for every form of the address', async () => {
  const { out } = await runHere(['health', '--json', '--url', `${base}/?a=1#b`]);
  expect(JSON.parse(out)).toEqual({ ok: true, url: `${base}/healthz`, status: 200 });
});

test.each([
  [['--url', 'http://someone:secret@127.0.0.1:1'], /^http:\/\/127\.0\.0\.1:1\/healthz does not answer: .*ECONNREFUSED/],
  [['--url', `${base}/moved`], /\/moved\/healthz answered with status 302: the server is not healthy\.$/],
  [['--url', 'localhost:8787'], /^--url must be the URL of a server, such as http:\/\/127\.0\.0\.1:8787\.$/],
  [['--url', 'ftp://example.com'], /^--url must be/],
  [['now'], /Unexpected argument/],
])('the health command refuses %j in one sentence', async (args, sentence) => {
  const { code, err } = await runHere(['health', ...args]);
  expect([code, err.replace('signalbox: ', '').trimEnd()]).toEqual([1, expect.stringMatching(sentence)]);
});

test('health stops waiting for a server that does not answer', async () => {
  const { err } = await runHere(['health', '--url', `${base}/mute`]);
  expect(err).toContain('/mute/healthz did not answer within 3 s.');
});
