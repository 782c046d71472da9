import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { effort, isDeep } from '../../deep/effort.ts';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { type DeafCaller, startDeafCaller } from '../../support/deaf-caller.ts';
import { type Flood, startFlood } from '../../support/flood.ts';
import { testPolicy } from '../../support/policies.ts';
import { chatHead } from '../../support/raw-http.ts';
import { useSignalbox } from '../../support/use.ts';

/**
 * If the caller or the upstream does not read, the gateway stops reading from the other side and does not buffer: the tests use callers
 * that stop reading, and upstreams whose events or answers never end.
 */
const { runs: readers, proved } = effort('stalled-readers', 40, 800);
const MIB = 1_048_576;
/**
 * The live memory that a caller who stops reading may cost, bytes. With few callers, other memory of the heap counts as well, so the limit
 * is twice as high: a quarter of what fetch alone would hold for each.
 */
const READER_MAX = isDeep ? 65_536 : 131_072;
/** The limit includes memory that allocators keep after its use, bytes. */
const RESIDENT_MAX = 262_144;
/** The limit for the part of a 1 MB event that waits in the socket, and for everything that a reader of such events may cost, bytes. */
const SOCKET_MAX = 262_144;
const LARGE_READER_MAX = 2 * MIB;
/** The size of an answer in a single piece, bytes. */
const WHOLE = 3 * MIB;
/** More bytes than the kernel buffers for one answer. */
const ANSWER = 20_000_000;

const event = (delta: object) => `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta }] })}\n\n`;
const SAYING = event({ content: 'x'.repeat(1_000) });

const floods: Record<'patient' | 'large' | 'whole' | 'event' | 'lateEvent' | 'json', Flood> = {
  patient: startFlood({ contentType: 'text/event-stream', piece: SAYING, bytes: ANSWER }),
  large: startFlood({
    contentType: 'text/event-stream',
    piece: event({ content: 'x'.repeat(1_000_000) }),
    bytes: ANSWER,
  }),
  whole: startFlood({
    contentType: 'application/json',
    start: '{"id":"x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"',
    piece: 'x'.repeat(10_000),
    bytes: WHOLE,
    end: '"}}]}',
  }),
  event: startFlood({
    contentType: 'text/event-stream',
    start: 'data: {"choices":[{"delta":{"content":"',
    piece: 'x'.repeat(10_000),
    bytes: 400 * MIB,
  }),
  lateEvent: startFlood({
    contentType: 'text/event-stream',
    start: `${SAYING}data: {"choices":[{"delta":{"content":"`,
    piece: 'x'.repeat(10_000),
    bytes: 400 * MIB,
  }),
  json: startFlood({
    contentType: 'application/json',
    start: '{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"',
    piece: 'x'.repeat(10_000),
    bytes: 400 * MIB,
  }),
};
let sockets: Socket[] = [];
let deaf: DeafCaller[] = [];

const box = useSignalbox(() => {
  const names = Object.keys(floods) as (keyof typeof floods)[];
  const more = '    deadlines: { first_token_ms: 60000, idle_ms: 120000, total_ms: 300000 }\n';
  const policy = testPolicy(
    Object.fromEntries(names.map((name) => [name.toLowerCase(), floods[name].url])),
    Object.fromEntries(names.map((name) => [name.toLowerCase(), { endpoints: [name.toLowerCase()], more }])),
  );
  const fixture = join(import.meta.dir, 'live-memory.fixture.ts');
  return {
    isProcess: true,
    policy,
    env: { BUN_OPTIONS: `--preload=${fixture}` },
  };
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  for (const caller of deaf) caller.hangUp();
  deaf = [];
});
afterAll(async () => {
  for (const flood of Object.values(floods)) flood.stop();
});

function request(model: string, stream = true, ...headers: readonly string[]): string {
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Say much.' }] });
  return chatHead(box.key, `content-length: ${body.length}`, ...headers) + body;
}

/** Requests a stream and reads nothing of it. */
function stare(model: string, ...headers: readonly string[]): void {
  const { hostname, port } = new URL(box.url);
  const socket = connect(Number(port), hostname, () => {
    socket.pause();
    socket.write(request(model, true, ...headers));
  });
  socket.on('error', () => {});
  sockets.push(socket);
}

interface Live {
  readonly heap: number;
  readonly resident: number;
}

/** Returns the memory of the server after a garbage collection, bytes. */
async function live(): Promise<Live> {
  const before = box.lines.length;
  process.kill(box.pid, 'SIGUSR2');
  const line = await waitFor(() => box.lines.slice(before).find((each) => each.includes('live memory')));
  return JSON.parse(line) as Live;
}

/** Adds readers up to this number, and waits until no more bytes move. */
async function stalled(count: number): Promise<Live> {
  for (let more = count - sockets.length; more > 0; more--) stare('patient');
  return settled(floods.patient, count);
}

async function settled({ sent }: Flood, count: number): Promise<Live> {
  const total = () => sent.reduce((sum, each) => sum + each, 0);
  for (let before = -1; sent.length < count || total() !== before; await Bun.sleep(500)) before = total();
  const looks = [await live(), await live(), await live()];
  const least = (of: (one: Live) => number) => Math.min(...looks.map(of));
  return { heap: least((one) => one.heap), resident: least((one) => one.resident) };
}

describe('callers that stop reading', () => {
  test(`cost less than ${READER_MAX / 1024} KiB each, however much data waits for them (${readers})`, async () => {
    // The first readers cause compilation and growth of the heap. A late garbage collection looks like growth of one step, but not of two.
    const steps: Live[] = [];
    for (const share of [0.5, 1, 1.5]) steps.push(await stalled(Math.round(readers * share)));
    const growth = (of: (one: Live) => number) =>
      Math.min(...[0, 1].map((at) => (of(steps[at + 1]!) - of(steps[at]!)) / (readers / 2)));
    const heap = growth((one) => one.heap);
    const resident = growth((one) => one.resident);
    console.log(`a reader: ${Math.round(heap / 1024)} KiB live, ${Math.round(resident / 1024)} KiB resident`);
    expect(heap).toBeLessThan(READER_MAX);
    expect(resident).toBeLessThan(RESIDENT_MAX);
    // This shows that the readers were stalled in the middle of their answers.
    expect(floods.patient.sent.filter((bytes) => bytes >= ANSWER)).toEqual([]);
    expect(floods.patient.closed).toBe(0);
    proved(`${readers} callers who stopped to read 20 MB: ${Math.round(heap / 1024)} KiB live memory each`);
  });

  const large = Math.ceil(readers / 4);
  test(`cost one event, of which 64 KiB wait in the socket, however large it is (${large})`, async () => {
    const port = Number(new URL(box.url).port);
    const until = (count: number) => {
      while (deaf.length < count) deaf.push(startDeafCaller(port, request('large')));
      return settled(floods.large, count);
    };
    const [before, after] = [await until(Math.ceil(large / 2)), await until(large)];
    const growth = (of: (one: Live) => number) => (of(after) - of(before)) / Math.floor(large / 2);
    const resident = growth((one) => one.resident);
    // Memory outside the heap is in the socket's buffer or an allocator's.
    const socket = growth((one) => one.resident - one.heap);
    console.log(
      `a reader of large events: ${Math.round(resident / 1024)} KiB, ${Math.round(socket / 1024)} of no heap`,
    );
    expect(socket).toBeLessThan(SOCKET_MAX);
    expect(resident).toBeLessThan(LARGE_READER_MAX);
    expect(floods.large.sent.filter((bytes) => bytes >= ANSWER)).toEqual([]);
    proved(`${large} callers who stopped to read events of 1 MB: ${Math.round(resident / 1024)} KiB resident each`);
  });

  test('with an `Idempotency-Key` cost the stored part of an answer and no more', async () => {
    const before = await live();
    const { length } = floods.patient.sent;
    const count = 8;
    for (let at = 0; at < count; at++) stare('patient', `idempotency-key: stare-${crypto.randomUUID()}`);
    const after = await settled(floods.patient, length + count);
    // 1 MiB is stored, a quarter of it waits to be written, and some pieces are in transit.
    expect((after.heap - before.heap) / count).toBeLessThan(2 * MIB);
  });
});

/** The server waits half a minute for such a reader, which is too long for `npm run test:system`. */
test.if(isDeep)(
  'the server disconnects callers who do not read a complete answer, and frees their memory',
  async () => {
    const port = Number(new URL(box.url).port);
    const before = await live();
    const count = 40;
    for (let at = 0; at < count; at++) deaf.push(startDeafCaller(port, request('whole', false)));
    const growth = async () => (await live()).resident - before.resident;
    await waitFor(async () => (await growth()) > (count * WHOLE) / 3);
    await waitFor(async () => (await growth()) < (count * WHOLE) / 6, 60_000);
    proved(`${count} callers who did not read an answer of ${WHOLE / MIB} MiB were cut off`);
  },
);

describe('an upstream that does not end', () => {
  const chat = (model: string, stream: boolean) =>
    box.post('/v1/chat/completions', { model, stream, messages: [{ role: 'user', content: 'Say much.' }] });

  /** Checks that the limit, not the end of the flood, cuts an answer off, and how much the server's memory grew. */
  async function refused(flood: Flood, sentMax: number, run: () => Promise<void>): Promise<void> {
    const [{ length }, closed] = [flood.sent, flood.closed];
    await run();
    await waitFor(() => flood.closed > closed);
    expect(flood.sent.slice(length).every((bytes) => bytes < sentMax)).toBeTrue();
  }

  /** Bytes that buffers of the kernel and of fetch may hold in addition to the bytes that were read. */
  const UNREAD = 32 * MIB;

  test('its event is refused before the first part: 502', async () => {
    await refused(floods.event, UNREAD + MIB, async () => {
      const response = await chat('event', true);
      expect([response.status, (await answerOf(response)).error.code]).toEqual([502, 'upstream_failed']);
    });
  });

  test('its event is refused after the first part: an error event and no `[DONE]`', async () => {
    await refused(floods.lateEvent, UNREAD + MIB, async () => {
      const { chunks, done } = await eventsOf(await chat('lateevent', true));
      expect([chunks.length, done, chunks.at(-1)?.error.code]).toEqual([2, false, 'upstream_failed']);
    });
  });

  test('its JSON is refused: 502', async () => {
    await refused(floods.json, UNREAD + 32 * MIB, async () => {
      const response = await chat('json', false);
      expect([response.status, (await answerOf(response)).error.code]).toEqual([502, 'upstream_failed']);
    });
  });

  test('leaves no memory in use afterwards, and many at once cost no more than their limits', async () => {
    await chat('json', false);
    const before = await live();
    const answers = await Promise.all(Array.from({ length: 40 }, () => chat('event', true)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 502));
    expect((await live()).heap - before.heap).toBeLessThan(4 * MIB);
  });
});
