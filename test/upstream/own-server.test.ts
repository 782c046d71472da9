import { expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { startRawUpstream } from '../fault/raw-upstream.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { makePrefix, ownCalls, startOwnServer } from '../support/own-server.ts';

const FOREIGN: [number, string] = [421, 'This server belongs to another test.'];
const HELLO = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

async function post(url: string): Promise<[number, string]> {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(HELLO) });
  return [answer.status, await answer.text()];
}

/** Addresses at the same port that another test may still call. */
const foreignOf = (url: string): string[] => {
  const { origin, pathname } = new URL(url);
  const other = makePrefix();
  return ['/v1/chat/completions', `${other}/v1/chat/completions`, `${pathname}0/v1/chat/completions`, '/'].map(
    (path) => origin + path,
  );
};

test('A fake provider refuses calls of other tests, and neither records nor answers them', async () => {
  const upstream = startFakeUpstream();
  upstream.next({ text: 'for its own test' });
  for (const url of foreignOf(upstream.root)) expect(await post(url)).toEqual(FOREIGN);
  expect(upstream.requests).toEqual([]);
  const [status, text] = await post(`${upstream.url}/chat/completions`);
  expect([status, text]).toEqual([200, expect.stringContaining('for its own test')]);
  expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  await upstream.stop();
});

test('So does a provider of bytes', async () => {
  const heads: string[] = [];
  const raw = await startRawUpstream((connection, { nth, head }) => {
    heads.push(`${nth} ${head.split('\r\n')[0]}`);
    return connection.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  });
  for (const url of foreignOf(raw.url)) expect(await post(url)).toEqual(FOREIGN);
  expect(heads).toEqual([]);
  expect(await post(`${raw.url}/v1/messages?beta=true`)).toEqual([200, 'ok']);
  expect(heads).toEqual(['1 POST /v1/messages?beta=true HTTP/1.1']);
  raw.stop();
});

test('So does a server of node:http', async () => {
  const prefix = makePrefix();
  const paths: unknown[] = [];
  const server = createServer(
    ownCalls(prefix, (request, response) => {
      paths.push(request.url);
      response.end('ok');
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}${prefix}`;
  for (const foreign of foreignOf(url)) expect(await post(foreign)).toEqual(FOREIGN);
  expect(paths).toEqual([]);
  for (const path of ['', '/', '/a?b=c']) expect(await post(url + path)).toEqual([200, 'ok']);
  expect(paths).toEqual(['/', '/', '/a?b=c']);
  server.closeAllConnections();
  server.close();
});

test('A request keeps its body, its headers and its signal below the secret path', async () => {
  const aborted = Promise.withResolvers<void>();
  const server = startOwnServer(async (request) => {
    request.signal.addEventListener('abort', () => aborted.resolve());
    if (new URL(request.url).pathname === '/hang') return new Promise<Response>(() => {});
    return new Response(`${request.headers.get('x-a')} ${await request.text()}`);
  });
  const answer = await fetch(`${server.url}/echo`, { method: 'POST', body: 'body', headers: { 'x-a': 'header' } });
  expect(await answer.text()).toBe('header body');
  const caller = new AbortController();
  const hanging = fetch(`${server.url}/hang`, { signal: caller.signal }).catch(() => null);
  setTimeout(() => caller.abort(), 50);
  await hanging;
  await aborted.promise;
  await server.stop();
});
