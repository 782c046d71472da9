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

/** Answers of providers that would fill the gateway's memory: what they unpack to, and what many hold together. */
const { runs: bombs, proved } = effort('bombs', 6, 60);
const MIB = 1_048_576;
/** Each bomb unpacks to what one answer may have. */
const UNPACKED = 32 * MIB;
/** All answers of the second test together. One caller alone gets half of it. */
const ROOM = 8 * MIB;
/** An answer of JSON that large ones of the room's caller are made of. */
const LARGE = 3 * MIB;
/** The runtime's own need, and some copies of each of the answers that are held. */
const GROWTH_MAX = 160;

let bad: FakeUpstream;
let good: FakeUpstream;
let collector: Collector;
let box: Signalbox;
/** Of another caller. */
let other: string;

beforeAll(async () => {
  [bad, good] = [startFakeUpstream({ key: UPSTREAM_KEY }), startFakeUpstream({ key: UPSTREAM_KEY })];
  collector = startCollector();
  const models = {
    bombed: { endpoints: ['bad', 'good'] },
    large: { endpoints: ['bad'] },
    spared: { endpoints: ['bad', 'good'] },
  };
  const gateway = `\ngateway: { retries_max: 0, answers_bytes_max: ${ROOM} }\n`;
  const policy = testPolicy({ bad: bad.url, good: good.url }, models, gateway);
  const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
  box = await startSignalbox({ isProcess: true, policy, env: { ...UPSTREAM_ENV, ...tracing } });
  other = await box.makeKey('--name', 'other');
});
afterEach(() => {
  bad.behave({});
  for (const { requests } of [bad, good, collector]) requests.length = 0;
});
afterAll(() => Promise.all([box.stop(), bad.stop(), good.stop(), collector.stop()]));

const chat = (model: string, body: object = {}, init: RequestInit = {}) =>
  box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Say much.' }], ...body }, init);

/** The body of an answer with so many letters. */
const reply = (letters: number, finish = 'stop') =>
  JSON.stringify({
    id: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(letters) }, finish_reason: finish }],
    usage: { prompt_tokens: 10, completion_tokens: 20 },
  });

describe('a compressed answer', () => {
  test('is not asked for, by nothing that goes out', async () => {
    await (await chat('large')).text();
    await (await chat('large', { stream: true })).text();
    await waitFor(() => collector.requests.length > 0);
    const all = [...bad.requests, ...collector.requests];
    expect(all.length).toBeGreaterThan(2);
    expect(all.map(({ headers }) => headers.get('accept-encoding'))).toEqual(all.map(() => 'identity'));
  });

  test('that expands too much is refused before it fills the memory, and another endpoint answers', async () => {
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
    await (await chat('bombed')).text();
    forgetPeak(box.pid);
    const before = residentMiB(box.pid);
    const answers = await Promise.all(
      Array.from({ length: bombs }, async (_, at) => {
        const stream = at % 2 === 1;
        const response = await chat('bombed', { stream });
        return [response.status, (await response.text()).includes('Well')];
      }),
    );
    const growth = peakMiB(box.pid) - before;
    console.log(`${bombs} bombs of ${UNPACKED / MIB} MiB at once: ${Math.round(growth)} MiB more at the most`);
    expect(answers).toEqual(answers.map(() => [200, true]));
    expect(growth).toBeLessThan(GROWTH_MAX);
    proved(`${bombs} compressed answers of ${UNPACKED / MIB} MiB at once: ${Math.round(growth)} MiB more at the most`);
  });
});

describe('large answers at once', () => {
  /** Most of a large answer, and then nothing more. */
  const stalling: Behaviour = { raw: [reply(LARGE).slice(0, LARGE), ' '], hang: 1 };

  test('have room together up to a bound, of which no caller has more than is left for others', async () => {
    const leaving = new AbortController();
    const whole: Behaviour = { raw: [reply(LARGE)] };
    bad.next(stalling);
    const held = chat('large', {}, { signal: leaving.signal }).catch(() => null);
    await waitFor(() => bad.requests.length === 1);
    // Until it is held nobody can tell.
    bad.behave(whole);
    const refused = await waitFor(async () => {
      const response = await chat('spared');
      if (response.status !== 503) await response.text();
      return response.status === 503 ? response : null;
    });
    const { message } = await expectError(refused, 'overloaded', null, false);
    expect(message).toContain('no memory left for this answer');
    // What the provider made until then is paid.
    expect(Number(refused.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
    // No other endpoint is asked for what would find no room either.
    expect(good.requests.length).toBe(0);
    // Another caller has a share of its own; a small answer always fits.
    bad.behave({ raw: [reply(2 * MIB)] });
    const shared = await chat('large', {}, { headers: { authorization: `Bearer ${other}` } });
    expect([shared.status, (await answerOf(shared)).choices[0]?.message.content?.length]).toEqual([200, 2 * MIB]);
    bad.behave({ text: 'Small.' });
    expect((await chat('large')).status).toBe(200);
    // Room is given back by whoever leaves.
    leaving.abort();
    await held;
    bad.behave(whole);
    await waitFor(async () => (await chat('large')).status === 200);
    // And no endpoint was blamed.
    const page = await (await fetch(`${box.url}/metrics`)).text();
    const states = page.split('\n').filter((line) => /^signalbox_endpoint_state\{.*model="spared".*\} 1$/.test(line));
    expect(states.length).toBe(2);
    expect(states.every((line) => line.includes('state="healthy"'))).toBeTrue();
  });

  test('count also where a provider sends events to a call that is no stream', async () => {
    const event = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'x'.repeat(MIB / 2) } }] })}\n\n`;
    const whole: Behaviour = { raw: Array<string>(10).fill(event), headers: { 'content-type': 'text/event-stream' } };
    // None ends, so that each holds what it has.
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

  test('leave nothing held, and the books whole, however they end', async () => {
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
    // Alone it has all the room that it wants.
    expect((await chat('large')).status).toBe(200);
    const audit = await box.run('ledger', 'audit');
    expect([audit.code, audit.err]).toEqual([0, '']);
    proved(`${2 * bombs} answers of 4 MiB at once for a room of 8: ${refused} refused, ${Math.round(growth)} MiB more`);
  });
});
