import { afterEach, expect, test } from 'bun:test';
import { openNodes } from '../../src/payments/facilitator/nodes.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';

let server: OwnServer | undefined;
afterEach(() => server?.stop());

test('Signalbox requests uncompressed answers from a node, and does not unpack compressed ones', async () => {
  const codings: (string | null)[] = [];
  let isPacked = false;
  server = startOwnServer(async (request) => {
    codings.push(request.headers.get('accept-encoding'));
    const text = JSON.stringify({ jsonrpc: '2.0', id: Object(await request.json()).id, result: '0x7a69' });
    return isPacked
      ? new Response(Bun.gzipSync(text), { headers: { 'content-encoding': 'gzip' } })
      : new Response(text, { headers: { 'content-type': 'application/json' } });
  });
  const [node] = openNodes(31_337, [server.url]).each;
  expect(await node!({ method: 'eth_chainId' })).toBe('0x7a69');
  isPacked = true;
  await expect(node!({ method: 'eth_chainId' })).rejects.toThrow();
  expect(codings).toEqual(codings.map(() => 'identity'));
});
