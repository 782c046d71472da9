import { expect, test } from 'bun:test';
import { listensHere } from '../../../src/providers/connection/listening.ts';

test('the search for a local server finds it by each name, reports a missing server, and never tries another machine', async () => {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('') });
  const { port } = server;
  try {
    for (const host of ['127.0.0.1', 'localhost'])
      expect(await listensHere(`http://${host}:${port}/v1`), host).toBe(true);
  } finally {
    await server.stop(true);
  }
  for (const host of ['127.0.0.1', 'localhost', '[::1]'])
    expect(await listensHere(`http://${host}:${port}/v1`), host).toBe(false);
  for (const elsewhere of ['https://api.example.com/v1', 'http://10.0.0.1:80', 'http://localhost.example.com'])
    expect(await listensHere(elsewhere), elsewhere).toBeNull();
});
