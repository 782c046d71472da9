import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { effort, isDeep } from '../../deep/effort.ts';
import { waitFor } from '../../support/answers.ts';
import { type Bystander, startBystander } from '../../support/bystander.ts';
import { leastOf } from '../../support/in-time.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { forgetPeak, peakMiB, residentMiB } from '../../support/process.ts';
import type { RawConnection } from '../../support/raw-http.ts';
import { textFrame, upgrade } from '../../support/raw-websocket.ts';
import { openResponses, type ResponsesSocket } from '../../support/responses-socket.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/**
 * A WebSocket uses up memory and requests only of its own caller, whatever it sends; no other caller waits, and the server's memory does
 * not grow.
 */
const { runs, proved } = effort('holes', 10, 200);
const CONNECTIONS = 64;
const MIB = 1_048_576;
/** The goal is 100 ms; busy machines get four times as much. */
const WAIT_MS = 4 * 100;
/** An attack that uses more memory than this has found a hole, MiB: in the past, six connections took 3,500. */
const GROWN_MAX = 400;
/** The limit for the memory that connections use, as a multiple of the memory reserved for them. */
const HELD_MAX = 1.6;
/** The shipped limit for all bodies together, MiB. */
const ROOM_MIB = 512;
/** Items of a frame that together are as large as a message may be, less its other members. */
const PART = 'x'.repeat(1_000_000);

/** The first part of a message, as large as a complete message may be; and frames that may come between the parts. */
const UNFINISHED = textFrame('x'.repeat(MIB - 1), MIB - 1, false);
const PING = Buffer.from([0x89, 0x84, 0, 0, 0, 0, ...Buffer.from('here')]);
const CLOSE = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 3, 232]);

const upstream = useUpstream();
let box: Signalbox;
let bystander: Bystander;
const opened: { close(): void }[] = [];
beforeAll(async () => {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } });
  box = await startSignalbox({ isProcess: true, policy, env: UPSTREAM_ENV });
  bystander = startBystander(`${box.url}/healthz`);
});
afterEach(() => {
  for (const connection of opened.splice(0)) connection.close();
});
afterAll(async () => {
  bystander.stop();
  await box.stop();
});

function open(key: string): ResponsesSocket {
  const connection = openResponses(box, key);
  opened.push(connection.socket);
  return connection;
}

/** Announces conversations, each longer than the last. @returns the statuses; 200 for an accepted announcement */
async function chain(connection: ResponsesSocket, frames: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let last: unknown = null; statuses.length < frames; ) {
    const event = await connection.warmUp(PART, last);
    if (event.type === 'response.completed') last = event;
    statuses.push(Number(event.status ?? 200));
  }
  return statuses;
}

/** Opens connections of a key whose frames the test writes itself; null for a refused connection. */
function openRaw(key: string, count: number): Promise<readonly (RawConnection | null)[]> {
  const opening = Array.from({ length: count }, async () => {
    const { status, connection } = await upgrade(box, key, true);
    opened.push(connection);
    return status === 101 ? connection : null;
  });
  return Promise.all(opening);
}

/** Opens a connection once the server has room, because ended connections of earlier tests may hold theirs for another 20 s. */
const openOneRaw = (key: string): Promise<RawConnection> => waitFor(async () => (await openRaw(key, 1))[0], 60_000);

/** Returns the harm of an attack to the server. A long wait of a bystander counts only if it happens ten times in a row. */
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

// This test runs first, because later tests would reuse memory that other tests took.
test.if(isDeep)('connections use only the memory that the server reserved for them', async () => {
  const [connections, frames] = [22, 9];
  const roomMiB = (connections * (frames * PART.length + MIB)) / MIB;
  const before = residentMiB(box.pid);
  const key = await box.makeKey();
  for (let count = 0; count < connections; count++) {
    expect(new Set(await chain(open(key), frames))).toEqual(new Set([200]));
  }
  const most = HELD_MAX * roomMiB;
  // Repeats until the garbage is collected.
  const grown = await leastOf(most, async () => {
    await Bun.sleep(500);
    return residentMiB(box.pid) - before;
  });
  expect(grown).toBeLessThan(most);
  proved(
    `${connections} WebSockets of a key that remember ${frames} MB each: ${Math.round(grown)} MiB for ${Math.round(roomMiB)} of room`,
  );
});

test.each([1, 6])(
  'announcements on %d connections of keys with one request a minute use the memory of one announcement each',
  async (count) => {
    const harm = await harmOf(async () => {
      const keys = await Promise.all(Array.from({ length: count }, () => box.makeKey('--rpm', '1')));
      const all = await Promise.all(keys.map((key) => chain(open(key), runs)));
      for (const statuses of all) expect(statuses).toEqual([200, ...Array.from({ length: runs - 1 }, () => 429)]);
    });
    proved(`${count} × ${runs} chained announcements of 1 MB over a WebSocket, a request a minute each: ${harm}`);
  },
);

test('unfinished messages take no more memory than their caller’s share', async () => {
  const harm = await harmOf(async () => {
    const large = await openRaw(await box.makeKey(), CONNECTIONS);
    const refused = textFrame('x'.repeat(15_900_000), 15_900_001);
    await Promise.all(large.map((connection) => connection?.write(refused)));
    await Promise.all(large.map((connection) => connection?.closed));
    const small = await openRaw(await box.makeKey(), CONNECTIONS);
    const held = Buffer.concat([UNFINISHED, PING]);
    await Promise.all(small.map((connection) => connection?.write(held)));
    // The answer to the ping shows that the server has read the bytes before it.
    await Promise.all(small.map((connection) => connection && waitFor(() => connection.received.endsWith('here'))));
    expect(small).not.toContain(null);
  });
  proved(`${CONNECTIONS} WebSockets of a key with 15.9 MB each that do not end, and as many with 1 MiB: ${harm}`);
});

test('connections that end with an unfinished message do not exceed the share of their caller', async () => {
  const end = Buffer.concat([UNFINISHED, CLOSE]);
  const count = 2 * runs;
  let taken = 0;
  const harm = await harmOf(async () => {
    const key = await box.makeKey();
    taken = 0;
    for (let at = 0; at < count; at++) {
      const [connection] = await openRaw(key, 1);
      if (!connection) continue;
      taken++;
      await connection.write(end);
      await connection.closed;
    }
    expect(taken).toBeLessThanOrEqual(ROOM_MIB / 2);
  });
  proved(`${count} WebSockets of a key, one after the other, that end with 1 MiB unfinished, ${taken} taken: ${harm}`);
});

test('tiny frames while a request runs close their connection', async () => {
  const perConnection = 150_000;
  const connections = Math.ceil(runs / 5);
  const request = JSON.stringify({ type: 'response.create', model: 'best', input: 'Hi' });
  const frames = Buffer.concat(Array.from({ length: perConnection }, () => textFrame('x')));
  upstream.behave({ text: ['a ', 'b '], hang: 2 });
  const harm = await harmOf(async () => {
    const key = await box.makeKey();
    for (let at = 0; at < connections; at++) {
      const connection = await openOneRaw(key);
      await connection.write(textFrame(request));
      await waitFor(() => connection.received.includes('output_text.delta'));
      await connection.write(frames);
      expect((await connection.closed).split('in_flight').length - 1).toBe(16);
    }
  });
  upstream.behave({});
  proved(
    `${(connections * perConnection).toLocaleString('en')} tiny frames while a request of their WebSocket runs: ${harm}`,
  );
});

test.each([
  ['pings', 0x89],
  ['pongs', 0x8a],
])('a flood of %s closes its connection', async (what, head) => {
  const [perConnection, connections] = [150_000, Math.ceil(runs / 5)];
  const frames = Buffer.concat(Array.from({ length: perConnection }, () => Buffer.from([head, 0x80, 0, 0, 0, 0])));
  const harm = await harmOf(async () => {
    const key = await box.makeKey();
    for (let at = 0; at < connections; at++) {
      const connection = await openOneRaw(key);
      await connection.write(frames);
      expect(await connection.closed).toEndWith('Too many pings.');
    }
  });
  proved(`${(connections * perConnection).toLocaleString('en')} ${what} over WebSockets: ${harm}`);
});
