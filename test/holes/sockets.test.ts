import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { effort } from '../deep/effort.ts';
import { type Bystander, startBystander } from '../support/bystander.ts';
import { leastOf } from '../support/in-time.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { forgetPeak, peakMiB } from '../support/process.ts';
import { openResponses, type ResponsesSocket } from '../support/responses-socket.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** A WebSocket costs its caller room and requests, whatever is sent over it; nobody else waits, and the memory of the server stays. */
const { runs, proved } = effort('holes', 20, 200);
/** What is meant is 100 ms; busy machines get four times as much. */
const WAIT_MS = 4 * 100;
/** Memory beyond which an attack has found a hole, MiB: six connections took 3,500. */
const GROWN_MAX = 200;
/** Items of one frame: as large as a message may be, less its other members. */
const PART = 'x'.repeat(1_000_000);

const upstream = useUpstream();
let box: Signalbox;
let bystander: Bystander;
const opened: ResponsesSocket[] = [];
beforeAll(async () => {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } });
  box = await startSignalbox({ isProcess: true, policy, env: UPSTREAM_ENV });
  bystander = startBystander(`${box.url}/healthz`);
});
afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.close();
});
afterAll(async () => {
  bystander.stop();
  await box.stop();
});

function open(key: string): ResponsesSocket {
  const connection = openResponses(box, key);
  opened.push(connection);
  return connection;
}

/** Announces one conversation after another, each longer than the last. @returns the statuses, 200 for an announcement taken */
async function chain(connection: ResponsesSocket, frames: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let last: unknown = null; statuses.length < frames; ) {
    const event = await connection.warmUp(PART, last);
    if (event.type === 'response.completed') last = event;
    statuses.push(Number(event.status ?? 200));
  }
  return statuses;
}

/** What an attack did to the server, where a bystander waited for long ten times in a row: the last. */
async function harmOf(attack: () => Promise<void>): Promise<string> {
  let harm = '';
  const wait = await leastOf(WAIT_MS, async () => {
    forgetPeak(box.pid);
    const before = peakMiB(box.pid);
    await bystander.worstMs();
    await attack();
    const [ms, grown] = [await bystander.worstMs(), peakMiB(box.pid) - before];
    expect(grown).toBeLessThan(GROWN_MAX);
    harm = `${Math.round(before)} MiB and at most ${Math.round(grown)} more, a bystander waits ${Math.round(ms)} ms`;
    return ms;
  });
  expect(wait).toBeLessThan(WAIT_MS);
  return harm;
}

test.each([1, 6])(
  'announcements on %d connections of keys with a request a minute take the room of one each',
  async (count) => {
    const harm = await harmOf(async () => {
      const keys = await Promise.all(Array.from({ length: count }, () => box.makeKey('--rpm', '1')));
      const all = await Promise.all(keys.map((key) => chain(open(key), runs)));
      for (const statuses of all) expect(statuses).toEqual([200, ...Array.from({ length: runs - 1 }, () => 429)]);
    });
    proved(`${count} × ${runs} chained announcements of 1 MB over a WebSocket, a request a minute each: ${harm}`);
  },
  300_000,
);
