import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:tls';
import { type OutboundError, type OutboundRequest, outbound } from '../../src/host/outbound.ts';
import { CERTIFICATE, KEY } from '../providers/connection/certificate.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { freePort } from '../support/ports.ts';

/** The requests that arrived, as `POST /path host`. */
let arrived: string[] = [];
let server: OwnServer;
let secure: Server;
let securePort = 0;
const servernames: (string | false)[] = [];

beforeAll(async () => {
  server = startOwnServer(async (request) => {
    const { pathname } = new URL(request.url);
    arrived.push(`${request.method} ${pathname} ${request.headers.get('host')} ${await request.text()}`.trim());
    if (pathname === '/away') return Response.redirect(`${server.prefix}/secret`, 307);
    if (pathname === '/never') return new Promise<Response>(() => {});
    if (pathname === '/trickle') return new Response(new ReadableStream({ pull: () => new Promise<void>(() => {}) }));
    return new Response(pathname === '/large' ? 'é'.repeat(1_000_000) : 'fine');
  });
  secure = createServer({
    cert: CERTIFICATE,
    key: KEY,
    SNICallback: (name, use) => use(null, void servernames.push(name)),
  });
  secure.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
  const address = secure.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  securePort = address.port;
});
afterAll(() => {
  void server.stop();
  secure.close();
});

const NAMED = { '127.0.0.1': ['127.0.0.1'], 'hook.example': ['127.0.0.1'] };
const lookupOf = (answers: Readonly<Record<string, readonly string[]>>) => {
  const asked: string[] = [];
  const lookup = async (host: string) => {
    asked.push(host);
    const found = answers[host];
    if (!found) throw Object.assign(new Error('none'), { code: 'ENOTFOUND' });
    return found;
  };
  return { asked, lookup };
};

const ask = (
  path: string,
  more: Partial<OutboundRequest> = {},
  answers: Readonly<Record<string, readonly string[]>> = NAMED,
) => {
  arrived = [];
  const url = path.includes(':') ? path : server.url.replace('127.0.0.1', 'hook.example') + path;
  const request: OutboundRequest = {
    ...{ url, method: 'POST', body: 'b', allowPrivate: true, timeoutMs: 5_000, bytesMax: 1_000 },
    ...more,
  };
  return outbound(request, lookupOf(answers).lookup);
};
/** Returns the kind of the fault of a request, and its message. */
const faultOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'none',
    ({ fault, message }: OutboundError) => `${fault}: ${message}`,
  );

describe('a request to another host', () => {
  test('an outbound request goes to the address that was looked up, with the host’s name in its headers', async () => {
    const reply = await ask('/path');
    expect(reply).toMatchObject({ status: 200, text: 'fine', isCut: false });
    expect(arrived).toEqual([`POST /path hook.example:${server.port} b`]);
  });

  test('an outbound request follows no redirect', async () => {
    const reply = await ask('/away');
    expect([reply.status, reply.headers.get('location')]).toEqual([307, `${server.prefix}/secret`]);
    expect(arrived).toHaveLength(1);
  });

  test('an outbound request is sent to a private address only if that is allowed, and never to a metadata service', async () => {
    const at = `${server.port}${server.prefix}`;
    for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433']) {
      expect(await faultOf(ask(`http://${host}:${at}/`, { allowPrivate: false }))).toContain('refused: ');
    }
    expect(await faultOf(ask('/', { allowPrivate: false }))).toBe(
      'refused: `hook.example` points to a private address, which is not allowed',
    );
    for (const host of ['169.254.169.254', '0.0.0.0', '[fd00:ec2::254]', '[64:ff9b::169.254.169.254]']) {
      expect(await faultOf(ask(`http://${host}:${at}/`))).toContain('refused: ');
    }
    expect(arrived).toEqual([]);
  });

  test('each DNS answer is checked: a name that was public a moment ago and now is private gets no request', async () => {
    const answers = { 'hook.example': ['127.0.0.1'] };
    expect((await ask('/', {}, answers)).status).toBe(200);
    answers['hook.example'] = ['169.254.169.254'];
    expect(await faultOf(ask('/', {}, answers))).toContain('refused: ');
    expect(arrived).toEqual([]);
  });

  test('the next address is tried only if nothing was sent', async () => {
    const reply = await ask(
      `${server.url.replace('127.0.0.1', 'two.example')}/`,
      {},
      { 'two.example': ['127.0.0.2', '127.0.0.1'] },
    );
    expect(reply.status).toBe(200);
    expect(arrived).toHaveLength(1);
  });

  test('the certificate is verified for the name of the host', async () => {
    const asked = ask(`https://hook.example:${securePort}/`);
    expect(await faultOf(asked)).toContain('unreachable: `hook.example');
    expect(servernames).toEqual(['hook.example']);
  });

  test('the time of an outbound request is limited, from the lookup to the last byte', async () => {
    for (const path of ['/never', '/trickle']) {
      expect(await faultOf(ask(path, { timeoutMs: 50 }))).toBe('late: `hook.example` took longer than 50 ms');
    }
    const hanging = outbound(
      { url: 'http://hook.example/', method: 'GET', allowPrivate: true, timeoutMs: 50, bytesMax: 1 },
      () => new Promise(() => {}),
    );
    expect(await faultOf(hanging)).toContain('late: ');
  });

  test('the bytes that are read of an answer are limited', async () => {
    const { text, isCut } = await ask('/large', { bytesMax: 1_001 });
    expect([text.length, isCut]).toEqual([501, true]);
  });

  test('errors of outbound requests do not contain the path of the address, which may be a secret', async () => {
    const none = freePort();
    const faults = await Promise.all([
      faultOf(ask(`http://hook.example:${none}/T0/B0/secret`)),
      faultOf(ask('http://unknown.example/T0/B0/secret')),
      faultOf(ask('http://user:secret@hook.example/')),
      faultOf(ask('file:///etc/secret')),
      faultOf(ask('no: secret')),
    ]);
    const noAddress = 'address: the address must be an http or https address without user and password';
    expect(faults).toEqual([
      `unreachable: \`hook.example:${none}\` cannot be reached (ECONNREFUSED)`,
      'lookup: `unknown.example` has no address (ENOTFOUND)',
      noAddress,
      noAddress,
      noAddress,
    ]);
  });
});
