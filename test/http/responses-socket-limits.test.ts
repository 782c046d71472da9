import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { quietFor, waitFor } from '../support/answers.ts';
import { startDeafCaller } from '../support/deaf-caller.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type RawWebSocket, textFrame, upgrade, upgradeHead } from '../support/raw-websocket.ts';
import { openResponses, type ResponsesSocket } from '../support/responses-socket.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** Tests how much room a WebSocket takes before its messages are complete, and how long it may take. */
const MIB = 1_048_576;
const IDLE_MS = 60_000;
const LINGER_MS = 20_000;
const UNREAD_MS = 30_000;
/** The server checks its connections every 250 ms, so the check has happened after this time. */
const LOOKED_MS = 350;
const upstream = useUpstream();
const policy = (gateway: string) =>
  testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, `gateway: { retries_max: 0, ${gateway} }`);
const live = useLivePolicy(() => ({ 'policy.yaml': policy('socket_bytes_max: 65536') }));
let box: Signalbox;
/** A server whose answers have a deadline of two seconds. */
let hasty: Signalbox;
let skippedMs = 0;
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
beforeAll(async () => {
  const clock = () => performance.now() + skippedMs;
  box = await startSignalbox({ policy: policy(`bodies_bytes_max: ${8 * MIB}`), env: UPSTREAM_ENV, clock });
  const more = '    deadlines: { first_token_ms: 2000, idle_ms: 2000, total_ms: 2000 }\n';
  const short = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'], more } });
  hasty = await startSignalbox({ policy: short, env: UPSTREAM_ENV, clock });
});
const opened: { close(): void }[] = [];
afterEach(() => {
  for (const connection of opened.splice(0)) connection.close();
});
afterAll(async () => {
  await Promise.all([box.stop(), hasty.stop()]);
});

function open(to: Signalbox, key: string): ResponsesSocket {
  const connection = openResponses(to, key);
  opened.push(connection.socket);
  return connection;
}

async function openRaw(key: string): Promise<RawWebSocket> {
  const found = await upgrade(box, key);
  opened.push(found.connection);
  return found;
}

describe('a connection reserves room for its largest message from the room for connections of its key', () => {
  afterEach(async () => {
    skippedMs += LINGER_MS;
    await Bun.sleep(LOOKED_MS);
  });

  test('when it opens, or gets 503; other callers keep their room', async () => {
    const [key, other] = [await box.makeKey(), await box.makeKey()];
    const found: RawWebSocket[] = [];
    for (let count = 0; count < 5; count++) found.push(await openRaw(key));
    expect(found.map(({ status }) => status)).toEqual([101, 101, 101, 101, 503]);
    const { body, headers } = found[4]!;
    expect([JSON.parse(body).error.code, headers.get('x-should-retry')]).toEqual(['overloaded', 'true']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await openRaw(other)).status).toBe(101);
  });

  test('and keeps it for 20 seconds after its end, because an unfinished message may stay in memory that long', async () => {
    const key = await box.makeKey();
    const first = await openRaw(key);
    for (let count = 0; count < 3; count++) await openRaw(key);
    first.connection.close();
    await quietFor(LOOKED_MS, 'room', async () => (await openRaw(key)).status === 101);
    skippedMs += LINGER_MS;
    await waitFor(async () => (await openRaw(key)).status === 101);
  });

  test('so that requests of the key continue, however many connections open and close', async () => {
    const key = await box.makeKey();
    const statuses: number[] = [];
    for (let count = 0; count < 9; count++) {
      const { status, connection } = await openRaw(key);
      statuses.push(status);
      connection.close();
    }
    expect([statuses[0], statuses.at(-1)]).toEqual([101, 503]);
    const body = { model: 'best', messages: [{ role: 'user', content: 'x'.repeat(1_000_000) }], max_tokens: 9 };
    const answer = await box.post('/v1/chat/completions', body, { headers: { authorization: `Bearer ${key}` } });
    // The body was read, and is too long.
    expect(answer.status).toBe(400);
  });

  test('but an ordinary request does not', async () => {
    const key = await box.makeKey();
    for (let count = 0; count < 9; count++) {
      const headers = { authorization: `Bearer ${key}` };
      expect((await fetch(`${box.url}/v1/responses`, { headers })).status).toBe(426);
    }
  });
});

test('a message above `gateway.socket_bytes_max` closes its connection with code 1009', async () => {
  const connection = open(live.box, live.box.key);
  expect(await connection.warmUp('x'.repeat(60_000))).toMatchObject({ type: 'response.completed' });
  await connection.warmUp('x'.repeat(66_000));
  expect([connection.closed, connection.reason]).toEqual([1009, 'Received too big message']);
});

test('a reload with another value reports that a restart is needed, and keeps the old value', async () => {
  const { revision } = await live.status();
  live.write('policy.yaml', policy('socket_bytes_max: 131072'));
  const changed = await live.changedFrom(revision);
  const told = { code: 'needs-restart', message: expect.stringContaining('the running server uses 65536') };
  expect([changed.warnings, changed.last_reload]).toMatchObject([[told], { result: 'applied', diagnostics: [told] }]);
  const connection = open(live.box, live.box.key);
  await connection.warmUp('x'.repeat(66_000));
  expect(connection.closed).toBe(1009);
  live.write('policy.yaml', policy('socket_bytes_max: 65536'));
  expect((await live.changedFrom(changed.revision)).warnings).toEqual([]);
});

describe('a connection is closed', () => {
  const REASON = 'No complete message arrived for 60 seconds.';

  test('that completes no message for 60 seconds, however many bytes arrive', async () => {
    const { connection } = await openRaw(await box.makeKey());
    await connection.write(textFrame('{', 1_000_000, false));
    for (const ms of [30_000, 25_000]) {
      skippedMs += ms;
      await connection.write('x');
      await quietFor(LOOKED_MS, 'the connection ended before 60 seconds', () => connection.received.includes(REASON));
    }
    skippedMs += 5_000;
    await connection.write('x');
    expect(await connection.closed).toEndWith(REASON);
  });

  test('that is silent for 60 seconds after an answer, but not while it waits for an answer', async () => {
    const connection = open(box, await box.makeKey());
    await connection.warmUp('Hi');
    const { length } = upstream.requests;
    upstream.next({ text: ['a', 'b'], headersAfterMs: 800 });
    const asked = connection.ask({ input: 'Hi' });
    await waitFor(() => upstream.requests.length > length);
    skippedMs += IDLE_MS;
    await quietFor(LOOKED_MS, 'the connection ended while it waits', () => connection.closed !== null);
    expect((await asked).at(-1)).toMatchObject({ type: 'response.completed' });
    skippedMs += IDLE_MS - 5_000;
    await quietFor(LOOKED_MS, 'the connection ended before 60 seconds', () => connection.closed !== null);
    skippedMs += 5_000;
    await waitFor(() => connection.closed !== null);
    expect([connection.closed, connection.reason]).toEqual([1008, REASON]);
  });

  test('that does not read its overdue answer for 30 seconds, even if it sends pongs', async () => {
    const openRequests = async () =>
      Number(/^signalbox_requests_open (\d+)$/m.exec(await (await hasty.get('/metrics')).text())?.[1]);
    upstream.next({ text: Array.from({ length: 60 }, () => 'x'.repeat(100_000)) });
    const deaf = startDeafCaller(Number(new URL(hasty.url).port), upgradeHead(hasty.key));
    opened.push({ close: deaf.hangUp });
    const request = { type: 'response.create', model: 'best', input: 'Hi' };
    deaf.send(textFrame(JSON.stringify(request)));
    await waitFor(async () => (await openRequests()) === 1);
    await waitFor(async () => (await openRequests()) === 0);
    skippedMs += UNREAD_MS - 5_000;
    await quietFor(LOOKED_MS, 'the connection ended before 30 seconds', () => !deaf.send(PONG));
    skippedMs += 5_000;
    await waitFor(() => !deaf.send(PONG));
  });

  test('that sends more than 16 frames while its request runs, and the request is aborted', async () => {
    const connection = open(box, await box.makeKey());
    await connection.warmUp('Hi');
    const { aborted } = upstream;
    upstream.next({ text: ['a ', 'b '], hang: 2 });
    connection.socket.send(JSON.stringify({ type: 'response.create', model: 'best', input: 'Hi' }));
    await waitFor(() => connection.events.at(-1)!.type === 'response.output_text.delta');
    for (let count = 0; count < 100; count++) connection.socket.send('{}');
    await waitFor(() => connection.closed !== null);
    const refused = connection.events.filter(({ type }) => type === 'error');
    expect([connection.closed, refused.length]).toEqual([1008, 16]);
    expect(refused[0]).toMatchObject({ status: 409, error: { code: 'in_flight' } });
    await waitFor(() => upstream.aborted > aborted);
  });
});
