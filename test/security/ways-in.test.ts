import { expect, test } from 'bun:test';
import { connect } from '../support/raw-http.ts';
import { useSignalbox } from '../support/use.ts';

/**
 * Tests attacks that use neither the path nor the key: data after the end of a request, IDs that name files or contain SQL, and compressed
 * bodies.
 */
const box = useSignalbox({});

/** The longest wait for a connection that the server closes, ms. */
const PATIENCE_MS = 10_000;

const head = (...lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

/** A complete request that creates a key with this name. */
function making(name: string): string {
  const body = JSON.stringify({ name });
  const lines = ['Host: a', `Authorization: Bearer ${box.key}`, 'Content-Type: application/json', 'Connection: close'];
  return `${head('POST /admin/keys HTTP/1.1', ...lines, `Content-Length: ${body.length}`)}${body}`;
}

const chat = (...more: readonly string[]): string =>
  head(
    'POST /v1/chat/completions HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${box.key}`,
    'Content-Type: application/json',
    ...more,
  );

const OUTER: Readonly<Record<string, (inner: string) => string>> = {
  'a length and chunks': (inner) =>
    `${chat(`Content-Length: ${5 + inner.length}`, 'Transfer-Encoding: chunked')}0\r\n\r\n${inner}`,
  'chunks and a length': (inner) => `${chat('Transfer-Encoding: chunked', 'Content-Length: 4')}0\r\n\r\n${inner}`,
  'a coding that is not known': (inner) => `${chat('Transfer-Encoding: xchunked')}0\r\n\r\n${inner}`,
  'a space before the colon': (inner) => `${chat('Transfer-Encoding : chunked')}0\r\n\r\n${inner}`,
  'two lengths': (inner) => `${chat('Content-Length: 0', `Content-Length: ${inner.length}`)}${inner}`,
  'a length with a sign': (inner) => `${chat(`Content-Length: +${inner.length}`)}${inner}`,
  'a list of lengths': (inner) => `${chat('Content-Length: 0,0')}${inner}`,
  'a chunk beyond all numbers': (inner) => `${chat('Transfer-Encoding: chunked')}fffffffffffffffff\r\n${inner}`,
  'a GET with a body': (inner) =>
    `${head('GET /v1/models HTTP/1.1', 'Host: a', `Authorization: Bearer ${box.key}`, `Content-Length: ${inner.length}`)}${inner}`,
  'an open path with a body': (inner) =>
    `${head('GET /healthz HTTP/1.1', 'Host: a', `Content-Length: ${inner.length}`)}${inner}`,
  'a body that is refused unread': (inner) =>
    `${head('POST /v1/chat/completions HTTP/1.1', 'Host: a', 'Content-Type: text/plain', `Content-Length: ${inner.length}`)}${inner}`,
};

/** Returns everything that arrives within `ms`, or until the server closes the connection. */
async function send(text: string, ms = 200): Promise<string> {
  const connection = await connect(box.url);
  await connection.write(text);
  await Promise.race([connection.closed, Bun.sleep(ms)]);
  connection.close();
  return connection.received;
}

test('a request inside the body of another request is not executed', async () => {
  const answers = Object.entries(OUTER).map(([name, wrap]) => send(wrap(making(name))));
  for (const answer of await Promise.all(answers)) expect(answer.match(/HTTP\/1\.1 \d/g)?.length ?? 0).toBeLessThan(2);
  // After a request that ends where its length says, the second request is executed. This proves that the test would notice it.
  const alone = await send(`${head('GET /healthz HTTP/1.1', 'Host: a')}${making('seen')}`, PATIENCE_MS);
  expect(alone.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  const kept = await (await box.get('/admin/keys')).text();
  expect(kept).toContain('"seen"');
  for (const name of Object.keys(OUTER)) expect(kept).not.toContain(`"${name}"`);
});

test('no ID and no path can name a file or become a part of an SQL statement', async () => {
  const authorization = `Authorization: Bearer ${box.key}`;
  const ids = [
    "'%20OR%20''='",
    '1%20UNION%20SELECT%201',
    '%00',
    '..%2f..%2fpackage.json',
    '....//package.json',
    'C:%5cx',
  ];
  const folders = ['/docs', '/v1/decisions', '/v1/payments', '/admin/keys', '/admin/wallets', '/v1/models'];
  const paths = folders.flatMap((folder) => ids.map((id) => `${folder}/${id}`));
  const heads = paths.map((path) =>
    send(head(`GET ${path} HTTP/1.1`, 'Host: a', authorization, 'Connection: close'), PATIENCE_MS),
  );
  const answers = await Promise.all(heads);
  expect(paths.filter((_, at) => !/^HTTP\/1\.1 40[04] /.test(answers[at] ?? ''))).toEqual([]);
  expect(answers.filter((answer) => /devDependencies|SQLITE|no such table/i.test(answer))).toEqual([]);
});

test('a compressed body is refused before it is decompressed', async () => {
  const bomb = Bun.gzipSync(new Uint8Array(20_000_000));
  const answer = await box.post('/v1/chat/completions', {}, { headers: { 'content-encoding': 'gzip' }, body: bomb });
  expect(answer.status).toBe(415);
});
