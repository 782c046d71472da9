import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { waitFor } from '../../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type LivePolicy, startLivePolicy } from '../../support/live-policy.ts';
import { testPolicy, UPSTREAM_KEY } from '../../support/policies.ts';
import { newPage } from '../support/browser.ts';

/** The result that the page's script leaves for the test. */
declare global {
  var Client: typeof OpenAI;
}

/** Two web pages of different origins, both with OpenAI's client. The policy allows only the first. */
let upstream: FakeUpstream;
let live: LivePolicy;
let listed: ReturnType<typeof servePage>;
let foreign: ReturnType<typeof servePage>;
let page: Page;

function servePage(script: string) {
  const html =
    '<!doctype html><script type="module">import Client from "/openai.js"; globalThis.Client = Client;</script>';
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      url.endsWith('.js')
        ? new Response(script, { headers: { 'content-type': 'text/javascript' } })
        : new Response(html, { headers: { 'content-type': 'text/html' } }),
  });
  return { origin: server.url.origin, stop: () => server.stop(true) };
}

async function bundledClient(): Promise<string> {
  const { outputs } = await Bun.build({ entrypoints: [import.meta.resolveSync('openai')], target: 'browser' });
  const [script] = outputs;
  if (!script) throw new Error('the client cannot be bundled');
  return script.text();
}

const policyFor = (...origins: readonly string[]) =>
  testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'] } },
    `gateway: { retries_max: 0${origins.length > 0 ? `, cors: { origins: [${origins.map((one) => `"${one}"`).join(', ')}] }` : ''} }\n`,
  );

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const script = await bundledClient();
  [listed, foreign] = [servePage(script), servePage(script)];
  [live, page] = await Promise.all([startLivePolicy({ 'p.yaml': policyFor(listed.origin) }), newPage()]);
});

afterAll(async () => {
  await page.context().close();
  await Promise.all([live.stop(), upstream.stop(), listed.stop(), foreign.stop()]);
});

async function open(origin: string): Promise<void> {
  await page.goto(origin);
  await page.waitForFunction(() => globalThis.Client !== undefined);
}

/** Returns the result of the page's client, or the name of the error that it throws. */
const askFromPage = (key: string, isStream: boolean) =>
  page.evaluate(
    async ({ url, apiKey, stream }) => {
      const client = new globalThis.Client({
        apiKey,
        baseURL: `${url}/v1`,
        maxRetries: 0,
        // The client refuses to run in a browser unless this option allows it.
        dangerouslyAllowBrowser: true,
      });
      const asked = { model: 'best', messages: [{ role: 'user' as const, content: 'Say hello.' }] };
      try {
        if (stream) {
          let text = '';
          const chunks = await client.chat.completions.create({ ...asked, stream: true });
          for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? '';
          return { text };
        }
        const { data, response } = await client.chat.completions.create(asked).withResponse();
        const headers = Object.fromEntries(response.headers);
        return { text: data.choices[0]?.message.content, headers };
      } catch (error) {
        const { status, requestID } = error instanceof globalThis.Client.APIError ? error : {};
        return { error: { status, requestID } };
      }
    },
    { url: live.box.url, apiKey: key, stream: isStream },
  );

/** Sends the preflight request of a browser. */
const preflight = (path: string, origin: string, method = 'POST') =>
  fetch(live.box.url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    },
  });

describe('A page whose origin the policy allows, in a browser', () => {
  test('receives answers with OpenAI’s client, in JSON and as a stream, and reads their headers', async () => {
    await open(listed.origin);
    const whole = await askFromPage(live.box.key, false);
    expect(whole.text).toBeTruthy();
    expect(Object.keys(whole.headers ?? {})).toEqual(
      expect.arrayContaining(['x-request-id', 'x-signalbox-credits', 'x-signalbox-decision-id', 'x-signalbox-model']),
    );
    expect((await askFromPage(live.box.key, true)).text).toBe(whole.text);
  });

  test('sees the status and the request ID of an error', async () => {
    const { error } = await askFromPage('sb_live_no', false);
    expect(error).toEqual({ status: 401, requestID: expect.stringMatching(/^req_/) });
  });

  test('receives nothing if its origin is not allowed, and Signalbox calls no model', async () => {
    await open(foreign.origin);
    const before = upstream.requests.length;
    expect((await askFromPage(live.box.key, false)).error).toEqual({ status: undefined, requestID: undefined });
    expect(upstream.requests.length).toBe(before);
  });
});

describe('A preflight request of a browser', () => {
  test('gets an answer without a key, only for its own origin and never with credentials', async () => {
    const answer = await preflight('/v1/chat/completions', listed.origin);
    expect(answer.status).toBe(204);
    const { headers } = answer;
    expect(headers.get('access-control-allow-origin')).toBe(listed.origin);
    expect(headers.get('access-control-allow-methods')).toBe('POST');
    expect(headers.get('access-control-allow-headers')).toBe('*, authorization');
    expect(headers.get('vary')).toBe('Origin');
    expect(headers.has('access-control-allow-credentials')).toBe(false);
    const id = `"${headers.get('x-request-id')}"`;
    expect(await waitFor(async () => live.box.lines.find((line) => line.includes(id)))).toContain('"method":"OPTIONS"');
  });

  test.each(['/admin/policy', '/metrics', '/healthz', '/docs', '/v1/nothing'])(
    'never gets access to %s',
    async (path) => {
      const answer = await preflight(path, listed.origin, 'GET');
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    },
  );

  test('is refused for the origin null, and for an origin that only begins like an allowed one', async () => {
    for (const origin of ['null', `${listed.origin}0`, `${listed.origin}.evil.example`, '*']) {
      const answer = await preflight('/v1/models', origin, 'GET');
      expect([answer.status, answer.headers.get('access-control-allow-origin')], origin).toEqual([405, null]);
      const { error } = (await answer.json()) as { error: { message: string } };
      expect(error.message).toContain('gateway.cors.origins');
      expect(answer.headers.get('vary')).toBe('Origin');
    }
  });

  test('is logged with the setting to change, once for each origin', async () => {
    const refused = () => live.box.lines.filter((line) => line.includes('a web page was refused'));
    const origin = 'https://once.example';
    for (let i = 0; i < 3; i++) await preflight('/v1/models', origin, 'GET');
    await preflight('/admin/policy', 'https://admin.example', 'GET');
    await preflight('/v1/models', 'no origin sk-secret', 'GET');
    await preflight('/v1/models', 'https://later.example', 'GET');
    await waitFor(() => refused().some((line) => line.includes('later.example')));
    expect(refused().filter((line) => line.includes(origin))).toHaveLength(1);
    expect(JSON.parse(refused().find((line) => line.includes(origin))!)).toMatchObject({
      level: 'warn',
      message: 'a web page was refused: to allow it, add its origin to gateway.cors.origins in the policy',
      origin,
    });
    expect(refused().filter((line) => /admin\.example|sk-secret/.test(line))).toEqual([]);
  });

  test('is accepted for another origin once the policy allows that origin, without a restart', async () => {
    const { revision } = await live.status();
    live.replace('p.yaml', policyFor(foreign.origin));
    await live.changedFrom(revision);
    expect((await preflight('/v1/models', foreign.origin, 'GET')).status).toBe(204);
    expect((await preflight('/v1/models', listed.origin, 'GET')).status).toBe(405);
    live.replace('p.yaml', policyFor());
    await live.changedFrom((await live.status()).revision);
    const off = await preflight('/v1/models', foreign.origin, 'GET');
    expect([off.status, off.headers.has('vary')]).toEqual([405, false]);
  });
});
