import { afterEach, expect, test } from 'bun:test';
import { openNodes } from '../../src/payments/facilitator/nodes.ts';

let server: Bun.Server<undefined> | undefined;
afterEach(() => server?.stop(true));

test('a node is asked for uncompressed answers, and compressed ones are not unpacked', async () => {
  const codings: (string | null)[] = [];
  let isPacked = false;
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      codings.push(request.headers.get('accept-encoding'));
      const text = JSON.stringify({ jsonrpc: '2.0', id: Object(await request.json()).id, result: '0x7a69' });
      return isPacked
        ? new Response(Bun.gzipSync(text), { headers: { 'content-encoding': 'gzip' } })
        : new Response(text, { headers: { 'content-type': 'application/json' } });
    },
  });
  const [node] = openNodes(31_337, [server.url.href]).each;
  expect(await node!({ method: 'eth_chainId' })).toBe('0x7a69');
  isPacked = true;
  await expect(node!({ method: 'eth_chainId' })).rejects.toThrow();
  expect(codings).toEqual(codings.map(() => 'identity'));
});
