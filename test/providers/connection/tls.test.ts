import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { CERTIFICATE, KEY } from './certificate.ts';

/** A server with a certificate for `api.example`, and the names that clients requested. */
let server: Server;
let port: number;
let folder: string;
let named: (string | false)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-tls-'));
  writeFileSync(join(folder, 'ca.pem'), CERTIFICATE);
  const answer = JSON.stringify({ choices: [{ index: 0, message: { content: 'safe' }, finish_reason: 'stop' }] });
  server = createServer({ cert: CERTIFICATE, key: KEY }, (socket) => {
    named.push(socket.servername ?? false);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (!data.includes('\r\n\r\n')) return;
      const head = ['HTTP/1.1 200 OK', 'content-type: application/json', `content-length: ${answer.length}`];
      // The answer is delayed, because an answer that ends before its request closes the connection.
      setTimeout(() => socket.write(`${head.join('\r\n')}\r\n\r\n${answer}`), 20);
    });
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  port = address.port;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

/** Runs calls in a separate process, which may trust the certificate. */
async function callsTo(trusting: boolean, ...hosts: string[]): Promise<unknown[]> {
  named = [];
  const urls = hosts.map((host) => `https://${host}:${port}/v1`);
  const env = { ...process.env, ...(trusting && { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }) };
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'tls-client.ts'), ...urls], { env, stdout: 'pipe' });
  const text = await new Response(child.stdout).text();
  return text
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

describe('the certificate of a looked-up address', () => {
  test('is verified for the name, which is also sent to the server; one connection serves several calls', async () => {
    const safe = { text: 'safe', failure: null, sent: true };
    expect(await callsTo(true, 'api.example', 'api.example', 'api.example')).toEqual([safe, safe, safe]);
    expect(named).toEqual(['api.example']);
  });

  test('for another name is rejected before anything is sent, even with an open connection to the right name', async () => {
    const refused = { text: '', failure: 'no connection (ERR_TLS_CERT_ALTNAME_INVALID)', sent: false };
    const [first, ...others] = await callsTo(true, 'api.example', 'other.example', '127.0.0.1');
    expect(first).toMatchObject({ text: 'safe' });
    expect(others).toEqual([refused, refused]);
  });

  test('that is self-signed is rejected before anything is sent', async () => {
    expect(await callsTo(false, 'api.example')).toEqual([
      { text: '', failure: 'no connection (DEPTH_ZERO_SELF_SIGNED_CERT)', sent: false },
    ]);
  });
});
