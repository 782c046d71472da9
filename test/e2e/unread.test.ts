import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

const TOTAL_MS = 1_200;
let upstream: FakeUpstream;
let box: Signalbox;
const sockets: Socket[] = [];

beforeAll(async () => {
  upstream = startFakeUpstream();
  const more = `    deadlines: { first_token_ms: ${TOTAL_MS}, idle_ms: ${TOTAL_MS}, total_ms: ${TOTAL_MS} }\n`;
  const policy = testPolicy({ up: upstream.url }, { best: { endpoints: ['up'], more } });
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await box.stop();
  upstream.stop();
});

/** Asks for a stream and reads nothing of it. */
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

test('an unread stream is settled at its deadline, though its caller holds the connection', async () => {
  // More than all buffers between take.
  const text = Array.from({ length: 300 }, () => 'x'.repeat(65_536));
  upstream.next({ text });
  askAndStare();
  await waitFor(async () => (await open()) === 1);
  const begun = performance.now();
  await waitFor(async () => (await open()) === 0, 4 * (TOTAL_MS + 1_000));
  expect(performance.now() - begun).toBeLessThan(4 * (TOTAL_MS + 1_000));
  expect(sockets.every((socket) => !socket.destroyed)).toBe(true);
}, 15_000);
