import { afterAll, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { residentMiB } from '../support/process.ts';
import { isWhole, RawStream } from '../support/raw-stream.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- connections`: for an hour, 1,000 streams that send a word from time to time, and 10,000 connections that are idle
 * between two questions. The memory of the server must not grow, every stream must arrive whole, and no connection may be lost.
 */
const { runs: seconds, proved } = effort('connections', 60, 3_600);

const STREAMS = 1_000;
const CONNECTIONS = 10_000;
const LONG = '    deadlines: { total_ms: 86400000 }\n';
/** How many streams or connections are opened at the same time. */
const AT_ONCE = 100;
const WORD_EVERY_MS = 10_000;
/** A connection asks before the server closes it, which it does after 30 seconds of silence. */
const ASK_EVERY_MS = 20_000;
/** The memory is measured this many times. The largest of the last third may be this much larger than the largest of the second third, MiB. */
const MEASUREMENTS = 30;
const GROWTH_MAX = 16;

const event = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
const WORD = new TextEncoder().encode(event({ delta: { content: 'word ' } }));
const USAGE = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 } };
const END = new TextEncoder().encode(
  `${event({ delta: {}, finish_reason: 'stop' })}data: ${JSON.stringify(USAGE)}\n\ndata: [DONE]\n\n`,
);

const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
const provider = startOwnServer(() => {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      streams.add(controller);
      controller.enqueue(WORD);
    },
  });
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
});
const stops: (() => Promise<unknown>)[] = [() => provider.stop()];
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** Opens connections some at a time, so that the queue of connections that wait for the server stays short. */
async function openSome<One>(count: number, open: () => Promise<One>): Promise<One[]> {
  const opened: One[] = [];
  while (opened.length < count) opened.push(...(await Promise.all(Array.from({ length: AT_ONCE }, open))));
  return opened;
}

/** A connection that asks for `/healthz` and reads the answer. */
async function openIdle(url: string) {
  const { hostname, port, host } = new URL(url);
  let answers = 0;
  let isOpen = true;
  let asked = 0;
  const end = () => {
    isOpen = false;
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: { data: () => void answers++, close: end, error: end },
  });
  return {
    ask() {
      asked++;
      socket.write(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    },
    /** Whether every question is answered. */
    isAnswered: () => isOpen && answers === asked,
    close: () => socket.end(),
  };
}

test(
  `${STREAMS} slow streams and ${CONNECTIONS} idle connections for ${seconds} s use no more memory at their end`,
  async () => {
    const policy = testPolicy({ first: `${provider.url}/v1` }, { slow: { endpoints: ['first'], more: LONG } });
    const box = await startSignalbox({ policy, env: UPSTREAM_ENV, isProcess: true });
    stops.push(() => box.stop());
    const body = { model: 'slow', max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'Count.' }] };
    const readers = await openSome(STREAMS, async () => {
      const reader = new RawStream(`${box.url}/v1/chat/completions`, body, [`authorization: Bearer ${box.key}`]);
      await waitFor(() => reader.body !== '');
      return reader;
    });
    const idle = await openSome(CONNECTIONS, async () => {
      const connection = await openIdle(box.url);
      // The server closes a connection that asks nothing in its first seconds.
      connection.ask();
      return connection;
    });
    const words = setInterval(() => {
      for (const controller of streams) controller.enqueue(WORD);
    }, WORD_EVERY_MS);
    // The connections take turns.
    let next = 0;
    const turns = setInterval(() => {
      for (let count = 0; count < CONNECTIONS / 100; count++) idle[next++ % CONNECTIONS]?.ask();
    }, ASK_EVERY_MS / 100);

    const memory: number[] = [];
    for (let nth = 0; nth < MEASUREMENTS; nth++) {
      await Bun.sleep((seconds * 1_000) / MEASUREMENTS);
      memory.push(residentMiB(box.pid));
    }
    clearInterval(words);
    clearInterval(turns);
    for (const controller of streams) {
      controller.enqueue(END);
      controller.close();
    }
    await Promise.all(readers.map((reader) => reader.ended()));
    for (const connection of idle) connection.ask();
    await waitFor(() => idle.every(({ isAnswered }) => isAnswered()));

    const third = MEASUREMENTS / 3;
    const [before, last] = [Math.max(...memory.slice(third, -third)), Math.max(...memory.slice(-third))];
    const told = `${STREAMS} streams and ${CONNECTIONS} idle connections for ${seconds} s: ${Math.max(...memory.slice(0, third)).toFixed(0)}, ${before.toFixed(0)}, ${last.toFixed(0)} MiB in each third`;
    console.log(told);
    expect(readers.filter((reader) => !isWhole(reader))).toHaveLength(0);
    expect(last - before).toBeLessThanOrEqual(GROWTH_MAX);
    for (const connection of idle) connection.close();
    proved(told);
  },
  (seconds + 300) * 1_000,
);
