import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { brotliCompressSync, constants, zstdCompressSync } from 'node:zlib';
import { effort } from '../../deep/effort.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type Collector, startCollector } from '../../support/otlp.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { forgetPeak, peakMiB, residentMiB } from '../../support/process.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

/** Answers of providers that would fill the gateway's memory, by decompression or because it holds many at once. */
const { runs: bombs, proved } = effort('bombs', 6, 60);
const MIB = 1_048_576;
/** Each compressed answer expands to the limit of one answer. */
const UNPACKED = 32 * MIB;
/** The limit for all answers of the second test together, bytes. A single caller gets half of it. */
const ROOM = 8 * MIB;
/** The size of a large JSON answer, bytes; the callers of the second test request several. */
const LARGE = 3 * MIB;
/** The most memory of all decoders together, MiB. */
const DECODERS_MIB = 128;
/** The memory that the runtime needs for the bombs, in addition to the decoders and to two copies of the 1 MiB that each bomb may have, MiB. */
const RUNTIME_MIB = 60;

let bad: FakeUpstream;
let good: FakeUpstream;
let collector: Collector;
let box: Signalbox;
/** A server with the usual limit for all answers: before it is refused, each bomb takes 1 MiB of it. */
let roomy: Signalbox;
/** The key of another caller. */
let other: string;

beforeAll(async () => {
  [bad, good] = [startFakeUpstream({ key: UPSTREAM_KEY }), startFakeUpstream({ key: UPSTREAM_KEY })];
  collector = startCollector();
  const models = {
    bombed: { endpoints: ['bad', 'good'] },
    large: { endpoints: ['bad'] },
    spared: { endpoints: ['bad', 'good'] },
  };
  const policyWith = (more: string) =>
    testPolicy({ bad: bad.url, good: good.url }, models, `\ngateway: { retries_max: 0${more} }\n`);
  const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
  const env = { ...UPSTREAM_ENV, ...tracing };
  box = await startSignalbox({ isProcess: true, policy: policyWith(`, answers_bytes_max: ${ROOM}`), env });
  roomy = await startSignalbox({ isProcess: true, policy: policyWith(''), env });
  other = await box.makeKey('--name', 'other');
});
afterEach(() => {
  bad.behave({});
  for (const { requests } of [bad, good, collector]) requests.length = 0;
});
afterAll(() => Promise.all([box.stop(), roomy.stop(), bad.stop(), good.stop(), collector.stop()]));

const chat = (model: string, body: object = {}, init: RequestInit = {}, at = box) =>
  at.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Say much.' }], ...body }, init);

/** The body of an answer with this many letters. */
const reply = (letters: number, finish = 'stop') =>
  JSON.stringify({
    id: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(letters) }, finish_reason: finish }],
    usage: { prompt_tokens: 10, completion_tokens: 20 },
  });

describe('a compressed answer', () => {
  test('the gateway requests no compression from any provider', async () => {
    await (await chat('large')).text();
    await (await chat('large', { stream: true })).text();
    await waitFor(() => collector.requests.length > 0);
    const all = [...bad.requests, ...collector.requests];
    expect(all.length).toBeGreaterThan(2);
    expect(all.map(({ headers }) => headers.get('accept-encoding'))).toEqual(all.map(() => 'identity'));
  });

  test('the gateway refuses an answer that expands too much before it fills the memory, and another endpoint answers', async () => {
    const text = reply(UNPACKED - 200);
    const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
    const packed: readonly (readonly [coding: string, bytes: Uint8Array])[] = [
      ['gzip', Bun.gzipSync(Buffer.from(text))],
      ['br', brotliCompressSync(text, fast)],
      ['zstd', zstdCompressSync(text)],
    ];
    let sent = 0;
    bad.behave(() => {
      const [coding, bytes] = packed[sent++ % packed.length]!;
      return { raw: [bytes], headers: { 'content-encoding': coding, 'content-length': String(bytes.length) } };
    });
    good.behave({ text: 'Well.' });
    await (await chat('bombed', {}, {}, roomy)).text();
    forgetPeak(roomy.pid);
    const before = residentMiB(roomy.pid);
    const answers = await Promise.all(
      Array.from({ length: bombs }, async (_, at) => {
        const stream = at % 2 === 1;
        const response = await chat('bombed', { stream }, {}, roomy);
        return [response.status, (await response.text()).includes('Well')];
      }),
    );
    const growth = peakMiB(roomy.pid) - before;
    console.log(`${bombs} bombs of ${UNPACKED / MIB} MiB at once: ${Math.round(growth)} MiB more at the most`);
    expect(answers).toEqual(answers.map(() => [200, true]));
    expect(growth).toBeLessThan(DECODERS_MIB + 2 * bombs + RUNTIME_MIB);
    proved(`${bombs} compressed answers of ${UNPACKED / MIB} MiB at once: ${Math.round(growth)} MiB more at the most`);
  });
});

describe('large answers at once', () => {
  /** Most of a large answer, followed by silence. */
  const stalling: Behaviour = { raw: [reply(LARGE).slice(0, LARGE), ' '], hang: 1 };

  test('large answers at once share a limit, of which each caller gets at most a part', async () => {
    const leaving = new AbortController();
    const whole: Behaviour = { raw: [reply(LARGE)] };
    bad.next(stalling);
    const held = chat('large', {}, { signal: leaving.signal }).catch(() => null);
    await waitFor(() => bad.requests.length === 1);
    // The gateway learns the size of an answer only while it receives it.
    bad.behave(whole);
    const refused = await waitFor(async () => {
      const response = await chat('spared');
      if (response.status !== 503) await response.text();
      return response.status === 503 ? response : null;
    });
    const { message } = await expectError(refused, 'overloaded', null, false);
    expect(message).toContain('no memory left for this answer');
    // The caller pays for the output that the provider made until then.
    expect(Number(refused.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
    // Signalbox calls no other endpoint, because its answer would not fit either.
    expect(good.requests.length).toBe(0);
    // Another caller has its own share, and a small answer always fits.
    bad.behave({ raw: [reply(2 * MIB)] });
    const shared = await chat('large', {}, { headers: { authorization: `Bearer ${other}` } });
    expect([shared.status, (await answerOf(shared)).choices[0]?.message.content?.length]).toEqual([200, 2 * MIB]);
    bad.behave({ text: 'Small.' });
    expect((await chat('large')).status).toBe(200);
    // A caller that disconnects frees its share.
    leaving.abort();
    await held;
    bad.behave(whole);
    await waitFor(async () => (await chat('large')).status === 200);
    // No endpoint counts as unhealthy because of this.
    const page = await (await fetch(`${box.url}/metrics`)).text();
    const states = page.split('\n').filter((line) => /^signalbox_endpoint_state\{.*model="spared".*\} 1$/.test(line));
    expect(states.length).toBe(2);
    expect(states.every((line) => line.includes('state="healthy"'))).toBeTrue();
  });

  test('the limit also counts events that a provider sends for a call without streaming', async () => {
    const event = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'x'.repeat(MIB / 2) } }] })}\n\n`;
    const whole: Behaviour = { raw: Array<string>(10).fill(event), headers: { 'content-type': 'text/event-stream' } };
    // No answer ends, so each keeps its memory.
    bad.behave({ ...whole, keepOpen: true });
    const leaving = new AbortController();
    const held = Array.from({ length: 4 }, () => chat('large', {}, { signal: leaving.signal }).catch(() => null));
    const first = await Promise.any(held.map(async (one) => ((await one)?.status === 503 ? 503 : Promise.reject(one))));
    expect(first).toBe(503);
    leaving.abort();
    await Promise.all(held);
    bad.behave({});
    await waitFor(async () => (await chat('large')).status === 200);
  });

  test('however large answers end, no memory stays reserved, and the books are consistent', async () => {
    const letters = 4 * MIB;
    bad.behave(() => ({ raw: [reply(letters).slice(0, MIB), reply(letters).slice(MIB)] }));
    forgetPeak(box.pid);
    const before = residentMiB(box.pid);
    const statuses = await Promise.all(
      Array.from({ length: 2 * bombs }, async () => {
        const response = await chat('large');
        await response.text();
        return response.status;
      }),
    );
    const growth = peakMiB(box.pid) - before;
    const refused = statuses.filter((status) => status === 503).length;
    console.log(
      `${2 * bombs} answers of 4 MiB at once: ${refused} refused, ${Math.round(growth)} MiB more at the most`,
    );
    expect(statuses.filter((status) => status !== 503 && status !== 200)).toEqual([]);
    expect(refused).toBeGreaterThan(0);
    // A single large answer gets all the memory that it needs.
    expect((await chat('large')).status).toBe(200);
    const audit = await box.run('ledger', 'audit');
    expect([audit.code, audit.err]).toEqual([0, '']);
    proved(`${2 * bombs} answers of 4 MiB at once for a room of 8: ${refused} refused, ${Math.round(growth)} MiB more`);
  });
});
