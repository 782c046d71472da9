import { afterAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const TOTAL_MS = 1_200;
const upstream = useUpstream();
const sockets: Socket[] = [];

const box = useSignalbox(() => {
  const more = `    deadlines: { first_token_ms: ${TOTAL_MS}, idle_ms: ${TOTAL_MS}, total_ms: ${TOTAL_MS} }\n`;
  const policy = testPolicy({ up: upstream.url }, { best: { endpoints: ['up'], more } });
  return { policy };
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
});

/** Requests a stream and reads nothing of it. */
function askAndStare(): void {
  const body = JSON.stringify({ model: 'best', stream: true, messages: [{ role: 'user', content: 'Say much.' }] });
  const { hostname, port } = new URL(box.url);
  const socket = connect(Number(port), hostname, () => {
    socket.pause();
    const head = [
      'POST /v1/chat/completions HTTP/1.1',
      `Host: ${hostname}:${port}`,
      `Authorization: Bearer ${box.key}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  });
  socket.on('error', () => {});
  sockets.push(socket);
}

const open = async (): Promise<number> =>
  ((await (await box.get('/admin/ledger')).json()) as { open_reservations: number }).open_reservations;

test('a stream that is not read is settled at its deadline, although its caller keeps the connection open', async () => {
  // More text than all buffers between the server and the caller accept.
  const text = Array.from({ length: 300 }, () => 'x'.repeat(65_536));
  upstream.next({ text });
  askAndStare();
  await waitFor(async () => (await open()) === 1);
  const begun = performance.now();
  await waitFor(async () => (await open()) === 0, 4 * (TOTAL_MS + 1_000));
  expect(performance.now() - begun).toBeLessThan(4 * (TOTAL_MS + 1_000));
  expect(sockets.every((socket) => !socket.destroyed)).toBe(true);
});
