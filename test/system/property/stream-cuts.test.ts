import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, streamText, type TextStreamPart, type ToolSet } from 'ai';
import fc from 'fast-check';
import OpenAI from 'openai';
import { effort, isDeep } from '../../deep/effort.ts';
import type { Tokens } from '../../fault/dialect.ts';
import { DIALECTS } from '../../fault/faults.ts';
import {
  type RawRequest,
  type RawUpstream,
  type ServerConnection,
  startRawUpstream,
} from '../../fault/raw-upstream.ts';
import { type CallerSurface, messages, responses } from '../../fault/surfaces.ts';
import { eventsText, eventText, LAST_PIECE, piece, SSE, wordAt } from '../../fault/wire.ts';
import { type Answer, eventsIn, waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { errorCodeIn, isWhole, RawStream } from '../../support/raw-stream.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

/**
 * No reader takes a cut stream for a complete one, wherever and however it is cut: neither popular clients nor a simple reader, who gets an
 * error event and no `[DONE]`. A stream has either `[DONE]` and the end of its body, or an error event and a broken connection.
 */
const { runs, seed, proved } = effort('stream-cuts', 1, 500);

const BREAKS = 'gateway: { retries_max: 0, failed_streams: break }\n';

let upstream: RawUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = await startRawUpstream(cutAsAsked);
  const more = '    deadlines: { first_token_ms: 700, idle_ms: 700 }\n';
  const upstreams = STREAMS.map(({ name, adapter, base }) => [name, { url: urlOf(base), adapter }] as const);
  const models = STREAMS.map(({ name }) => [name, { endpoints: [name], more }] as const);
  const policy = testPolicy(Object.fromEntries(upstreams), Object.fromEntries(models), BREAKS);
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  upstream.stop();
});

const urlOf = (base: string): string => upstream.url + base;

const TEXT = ['one ', 'two ', 'drei 💡 ', 'four'];
const WHOLE = TEXT.join('');
const USAGE: Tokens = { prompt: 11, output: 6 };
/** The least tokens that Signalbox counts for a prompt of these tests, and for a letter of the answer. */
const PROMPT_LEAST = 8;
const LETTER_LEAST = 0.1;
/** Uses the prices of the test policy. */
const creditsOf = ({ prompt, output }: Tokens): number => (prompt + 4 * output) / 1_000;
const sizeOf = (events: readonly string[]) => new TextEncoder().encode(events.join('')).length;

/** The complete stream of each dialect: opening events, four words, the finish with its usage, the end. */
const STREAMS = DIALECTS.map((known) => {
  const dialect = known.ofOneStream?.() ?? known;
  const { name, adapter, base } = dialect;
  const opening = dialect.opening(USAGE);
  const words = TEXT.flatMap((text, at) => wordAt(dialect, text, at, USAGE));
  const all = [...opening, ...words, ...dialect.finish('stop', USAGE, WHOLE)];
  const finishedAt = all.length - dialect.finish('stop', USAGE).length + dialect.finish('stop', null).length;
  const events = all.map((event) => eventsText(dialect, [event]));
  return {
    name,
    adapter,
    base,
    bytes: new TextEncoder().encode(events.join('') + dialect.end),
    boundaries: [...events, dialect.end].map((_, at) => sizeOf(events.slice(0, at))),
    /** From this byte on there is content. */
    begun: sizeOf(events.slice(0, opening.length)),
    /** From this byte on the answer has its finish. Only the usage may be missing, and Signalbox counts it. */
    finished: sizeOf(events.slice(0, finishedAt)),
    /** From this byte on the usage is known. */
    reported: sizeOf(events),
    /** An event that breaks off within its JSON. */
    junk: eventText(dialect.nameOf(words[0]!), JSON.stringify(words[0]).slice(0, 40)),
  };
});

/** `reset`: the connection breaks. `end`: the connection ends normally. `stall`: no more bytes come. `junk`: nonsense comes. */
const KINDS = ['reset', 'end', 'stall', 'junk'] as const;
interface Cut {
  readonly dialect: (typeof DIALECTS)[number]['name'];
  readonly kind: (typeof KINDS)[number];
  /** The number of bytes before the cut. */
  readonly at: number;
}

/** The prompt states how to cut its answer, so that many requests can run at once. */
const promptOf = ({ dialect, kind, at }: Cut): string => `cut ${dialect} ${kind} ${at}`;

/** Requests that the upstream has received. */
let received = 0;

async function cutAsAsked(line: ServerConnection, { body }: RawRequest): Promise<void> {
  received++;
  const [, dialect, kind, at] = /cut (\w+) (\w+) (\d+)/.exec(JSON.stringify(body))!;
  const { bytes, junk } = STREAMS.find(({ name }) => name === dialect)!;
  await line.write(`HTTP/1.1 200 OK\r\ncontent-type: ${SSE}\r\ntransfer-encoding: chunked\r\n\r\n`);
  if (Number(at) > 0) await line.write(piece(bytes.slice(0, Number(at))));
  if (kind === 'stall') return;
  // Nonsense begins with a blank line, which ends the event before it.
  if (kind === 'junk') await line.write(piece(`\n\n${junk}`));
  // Wait until the client has read the written bytes, before the connection breaks.
  if (kind === 'reset') return void setTimeout(() => line.reset(), 20);
  await line.write(LAST_PIECE);
}

/** Checks that a client cannot misread a stream. Resolves with whether the stream is complete. */
async function expectWire(stream: RawStream): Promise<boolean> {
  const end = await stream.ended();
  const hasBegun = stream.head.startsWith('HTTP/1.1 200');
  const seen = [end, isWhole(stream), hasBegun && errorCodeIn(stream) !== null];
  if (end === 'clean' && hasBegun) expect(seen).toEqual(['clean', true, false]);
  else if (hasBegun) expect(seen).toEqual(['broken', false, true]);
  else expect(stream.head).toMatch(/^HTTP\/1\.1 50[234] /);
  return isWhole(stream);
}

/** What a reader received: the text, and whether the reader took it for complete. */
interface Heard {
  readonly text: string;
  readonly finished: boolean;
  /** The cost that the simple reader received. */
  readonly platform?: Pick<Answer['platform'], 'estimated' | 'credits_consumed'>;
}
type Reader = (model: string, messages: { role: 'user'; content: string }[]) => Promise<Heard>;

/** A careful reader of another dialect, which checks each stream by the rules of the dialect. */
const readerOf =
  (surface: CallerSurface): Reader =>
  async (model, [message]) => {
    const body = { model, ...surface.body(1_000, null, message!.content), stream: true };
    const response = await box.post(surface.path, body);
    if (!response.ok) {
      expect([502, 504]).toContain(response.status);
      return { text: '', finished: false };
    }
    const { text, finish, error } = surface.streamed(await response.text());
    expect(finish === null).toBe(error !== undefined);
    return { text, finished: finish !== null };
  };

const readers: Readonly<Record<string, Reader>> = {
  async openai(model, messages) {
    const client = new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
    let text = '';
    try {
      const stream = await client.chat.completions.create({ model, messages, stream: true });
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
      return { text, finished: true };
    } catch (error) {
      expect(error).toBeInstanceOf(OpenAI.APIError);
      return { text, finished: false };
    }
  },
  async 'openai’s helper'(model, messages) {
    const client = new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
    const stream = client.chat.completions.stream({ model, messages });
    let text = '';
    stream.on('content', (delta) => {
      text += delta;
    });
    return stream.finalContent().then(
      () => ({ text, finished: true }),
      () => ({ text, finished: false }),
    );
  },
  async 'the AI SDK'(model, messages) {
    const provider = createOpenAICompatible({ name: 'signalbox', apiKey: box.key, baseURL: `${box.url}/v1` });
    const result = streamText({ model: provider(model), messages, maxRetries: 0, onError: () => {} });
    const parts: TextStreamPart<ToolSet>[] = [];
    try {
      for await (const part of result.fullStream) parts.push(part);
    } catch (error) {
      // The connection breaks after the error event, which the SDK shows before it throws.
      expect([APICallError.isInstance(error), parts.at(-1)?.type]).toEqual([true, 'error']);
    }
    const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
    return { text, finished: parts.every(({ type }) => type !== 'error') };
  },
  async 'a bare reader'(model, messages) {
    // `fetch` of Bun loses bytes that arrived shortly before the connection broke, if its process is busy.
    const stream = new RawStream(`${box.url}/v1/chat/completions`, { model, messages, stream: true }, [
      `authorization: Bearer ${box.key}`,
    ]);
    await stream.ended();
    if (!stream.head.startsWith('HTTP/1.1 200')) {
      const { error } = JSON.parse(stream.body) as Pick<Answer, 'error'>;
      expect(stream.head).toMatch(/^HTTP\/1\.1 50[24] /);
      expect(error.type).toBe('upstream_error');
      return { text: '', finished: false };
    }
    const { chunks, done } = eventsIn(stream.body);
    const last = chunks.at(-1)!;
    // The stream has either an error or `[DONE]`, never both.
    expect(last.error === undefined).toBe(done);
    if (!done) expect(last.platform.routed_model).toBe(model);
    expect(chunks.some(({ choices }) => choices?.[0]?.finish_reason)).toBe(done);
    const text = chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('');
    return { text, finished: done, platform: last.platform };
  },
  async 'the wire, twice by one name'(model, messages) {
    const headers = [`authorization: Bearer ${box.key}`, `idempotency-key: cut-${crypto.randomUUID()}`];
    const ask = () => new RawStream(`${box.url}/v1/chat/completions`, { model, messages, stream: true }, headers);
    const first = ask();
    const finished = await expectWire(first);
    const again = ask();
    // An answer without a charge is not stored, so the repeat may end in another way.
    const isRepeated = (await expectWire(again)) === finished && again.head.includes('x-signalbox-replayed');
    if (isRepeated) expect(again.body).toBe(first.body);
    const text = eventsIn(first.body).chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '');
    return { text: text.join(''), finished };
  },
  'a reader of Messages': readerOf(messages),
  'a reader of Responses': readerOf(responses),
};

/** Checks that every reader sees the received text, and takes it for complete only if it was. */
async function expectTruth(cut: Cut): Promise<void> {
  const messages = [{ role: 'user' as const, content: promptOf(cut) }];
  const { finished, reported } = STREAMS.find(({ name }) => name === cut.dialect)!;
  // Nonsense begins with a blank line, which ends the event before it.
  const read = cut.at + (cut.kind === 'junk' ? 2 : 0);
  const isWhole = read >= finished;
  const heard = await Promise.all(
    Object.entries(readers).map(async ([name, read]) => ({ name, ...(await read(cut.dialect, messages)) })),
  );
  for (const { text } of heard) expect(WHOLE).toStartWith(text);
  // A reset discards bytes that arrived and were not read yet; on a busy machine these may include the end.
  if (isWhole && cut.kind === 'reset' && heard.some(({ finished }) => !finished)) return;
  expect(heard.map(({ name, finished }) => [name, finished])).toEqual(heard.map(({ name }) => [name, isWhole]));
  if (isWhole) expect(heard.map(({ text }) => text)).toEqual(heard.map(() => WHOLE));
  const { text, platform } = heard.find(({ platform }) => platform) ?? {};
  if (!platform) return;
  const { estimated, credits_consumed: credits } = platform;
  // The usage that was reported after the finish, or else at least the visible text.
  const seen = { prompt: PROMPT_LEAST, output: LETTER_LEAST * (text?.length ?? 0) };
  if (read >= reported) expect([estimated, credits]).toEqual([false, creditsOf(USAGE)]);
  else expect([estimated, credits >= creditsOf(seen)]).toEqual([true, true]);
}

describe.each(STREAMS)('a stream of $name', ({ name: dialect, bytes, boundaries, begun, finished }) => {
  test.each(KINDS)('a stream that is cut by %s between any two events never looks finished', async (kind) => {
    expect(boundaries.filter((at) => at < finished).length).toBeGreaterThan(TEXT.length);
    // Tests half of the boundaries, others each time; `npm run test:deep -- stream-cuts` tests all.
    const taken = boundaries.filter((_, at) => isDeep || (at + seed + KINDS.indexOf(kind)) % 2 === 0);
    await Promise.all(taken.map((at) => expectTruth({ dialect, kind, at })));
  });

  test(`a stream that is cut at any byte never looks finished (seed ${seed})`, async () => {
    const at = fc.integer({ min: begun, max: bytes.length });
    const cuts = fc.record({ dialect: fc.constant(dialect), kind: fc.constantFrom(...KINDS), at });
    await fc.assert(fc.asyncProperty(cuts, expectTruth), { seed, numRuns: runs });
    proved(
      `${dialect}: streams cut at any byte by a reset, an end, a stall or nonsense: no client took one for finished`,
    );
  }, 3_600_000);
});

test(`a stream that a shutdown ends at any moment never looks finished (seed ${seed})`, async () => {
  const openai = STREAMS.find(({ name }) => name === 'openai')!;
  const moments = fc.array(fc.integer({ min: 0, max: openai.bytes.length }), { minLength: 1, maxLength: 8 });
  const law = fc.asyncProperty(moments, async (cuts) => {
    const policy = testPolicy({ fake: urlOf('/v1') }, { best: { endpoints: ['fake'] } }, BREAKS);
    const own = await startSignalbox({ policy, env: UPSTREAM_ENV, args: ['--drain-ms', '0'] });
    const before = received;
    const streams = cuts.map((at) => {
      const content = promptOf({ dialect: 'openai', kind: 'stall', at });
      const body = { model: 'best', messages: [{ role: 'user', content }], stream: true };
      return new RawStream(`${own.url}/v1/chat/completions`, body, [`authorization: Bearer ${own.key}`]);
    });
    await waitFor(() => received === before + cuts.length);
    await waitFor(() => streams.every(({ head }, i) => head !== '' || cuts[i]! <= openai.begun));
    await own.stop();
    for (const stream of streams) await expectWire(stream);
  });
  await fc.assert(law, { seed, numRuns: Math.min(20, runs + 2) });
});

test('a stream that ends because the server is killed never looks finished', async () => {
  const own = await startSignalbox({
    isProcess: true,
    policy: testPolicy({ fake: urlOf('/v1') }, { best: { endpoints: ['fake'] } }),
    env: UPSTREAM_ENV,
  });
  const client = new OpenAI({ apiKey: own.key, baseURL: `${own.url}/v1`, maxRetries: 0 });
  const { boundaries } = STREAMS.find(({ name }) => name === 'openai')!;
  const content = promptOf({ dialect: 'openai', kind: 'stall', at: boundaries[3]! });
  const stream = await client.chat.completions.create({
    model: 'best',
    messages: [{ role: 'user', content }],
    stream: true,
  });
  let text = '';
  const read = async () => {
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      if (text === 'one two ') own.signal('SIGKILL');
    }
  };
  try {
    expect(
      await read().then(
        () => 'finished',
        () => 'broken',
      ),
    ).toBe('broken');
    expect(text).toBe('one two ');
  } finally {
    await own.stop();
  }
});
