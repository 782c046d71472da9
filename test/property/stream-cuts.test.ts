import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import fc from 'fast-check';
import OpenAI from 'openai';
import { effort } from '../deep/effort.ts';
import { type Answer, eventsOf } from '../support/answers.ts';
import {
  type Behaviour,
  type FakeUpstream,
  type RecordedRequest,
  startFakeUpstream,
} from '../support/fake-upstream.ts';
import { chunksOf } from '../support/openai-wire.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/**
 * A stream that is cut, wherever and however, is never taken for a finished one: not by the clients that people use,
 * and not by a bare reader, who gets an error event and no `[DONE]`.
 */
const { runs, seed, proved } = effort('stream-cuts', 12, 500);

let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ behaviour: cutAsAsked });
  const more = '    deadlines: { first_token_ms: 400, idle_ms: 400 }\n';
  box = await startSignalbox({
    policy: testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'], more } }),
    env: UPSTREAM_ENV,
  });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const TEXT = ['one ', 'two ', 'drei 💡 ', 'four'];
const WHOLE = TEXT.join('');
/** The stream as it would be, whole: role, four of content, the finish, the usage, `[DONE]`. */
const EVENTS = [
  ...chunksOf({ model: 'm', messages: [], stream_options: { include_usage: true } }, { text: TEXT }).map(
    (chunk) => `data: ${JSON.stringify(chunk)}\n\n`,
  ),
  'data: [DONE]\n\n',
];
const BYTES = new TextEncoder().encode(EVENTS.join(''));
const sizeOf = (events: readonly string[]) => new TextEncoder().encode(events.join('')).length;
/** With so many bytes every choice has had its finish: no more than usage is missing, which is counted here. */
const FINISHED = sizeOf(EVENTS.slice(0, -2));
/** With so many there is content. */
const BEGUN = sizeOf(EVENTS.slice(0, 1));
const BOUNDARIES = EVENTS.map((_, at) => sizeOf(EVENTS.slice(0, at)));

/** `reset`: the connection breaks. `end`: it ends as if all was well. `stall`: nothing more comes. `junk`: nonsense comes. */
const KINDS = ['reset', 'end', 'stall', 'junk'] as const;
interface Cut {
  readonly kind: (typeof KINDS)[number];
  /** Bytes of the answer before it. */
  readonly at: number;
}

/** The prompt says how its answer is to be cut, so that many can run at once. */
function cutAsAsked({ body }: RecordedRequest): Behaviour {
  const { content } = (body.messages as readonly { readonly content: string }[]).at(-1)!;
  const { kind, at } = JSON.parse(content) as Cut;
  const begun = [BYTES.slice(0, at)].filter(({ length }) => length > 0);
  switch (kind) {
    case 'reset':
      return { form: 'sse', raw: [...begun, '-'], cutAfter: begun.length };
    case 'end':
      return { form: 'sse', raw: begun };
    case 'stall':
      return { form: 'sse', raw: begun, keepOpen: true };
    case 'junk':
      return { form: 'sse', raw: [...begun, '\n\ndata: {"choices":[{"index":0,"del\n\n'] };
  }
}

/** What a reader made of an answer: the text that it saw, and whether it took that for the end. */
interface Heard {
  readonly text: string;
  readonly finished: boolean;
}
type Reader = (messages: { role: 'user'; content: string }[]) => Promise<Heard>;

const readers: Readonly<Record<string, Reader>> = {
  async openai(messages) {
    const client = new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
    let text = '';
    try {
      const stream = await client.chat.completions.create({ model: 'best', messages, stream: true });
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
      return { text, finished: true };
    } catch (error) {
      expect(error).toBeInstanceOf(OpenAI.APIError);
      return { text, finished: false };
    }
  },
  async 'openai’s helper'(messages) {
    const client = new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
    const stream = client.chat.completions.stream({ model: 'best', messages });
    let text = '';
    stream.on('content', (delta) => {
      text += delta;
    });
    return stream.finalContent().then(
      () => ({ text, finished: true }),
      () => ({ text, finished: false }),
    );
  },
  async 'the AI SDK'(messages) {
    const provider = createOpenAICompatible({ name: 'signalbox', apiKey: box.key, baseURL: `${box.url}/v1` });
    const result = streamText({ model: provider('best'), messages, maxRetries: 0, onError: () => {} });
    const parts = await Array.fromAsync(result.fullStream);
    const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
    return { text, finished: parts.every(({ type }) => type !== 'error') };
  },
  async 'a bare reader'(messages) {
    const response = await box.post('/v1/chat/completions', { model: 'best', messages, stream: true });
    if (!response.ok) {
      const { error } = (await response.json()) as Pick<Answer, 'error'>;
      expect([502, 504]).toContain(response.status);
      expect(error.type).toBe('upstream_error');
      return { text: '', finished: false };
    }
    const { chunks, done } = await eventsOf(response);
    const last = chunks.at(-1)!;
    // One or the other, and never both.
    expect(last.error === undefined).toBe(done);
    if (!done) expect(last.platform.routed_model).toBe('best');
    expect(chunks.some(({ choices }) => choices?.[0]?.finish_reason)).toBe(done);
    return { text: chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join(''), finished: done };
  },
};

/** That every reader sees what came, and takes it for the end only if it was. */
async function expectTruth(cut: Cut): Promise<void> {
  const messages = [{ role: 'user' as const, content: JSON.stringify(cut) }];
  // Nonsense begins with a blank line, which ends the event before it.
  const isWhole = cut.at >= (cut.kind === 'junk' ? FINISHED - 2 : FINISHED);
  const heard = await Promise.all(
    Object.entries(readers).map(async ([name, read]) => ({ name, ...(await read(messages)) })),
  );
  for (const { text } of heard) expect(WHOLE).toStartWith(text);
  expect(heard.map(({ name, finished }) => [name, finished])).toEqual(heard.map(({ name }) => [name, isWhole]));
  if (isWhole) expect(heard.map(({ text }) => text)).toEqual(heard.map(() => WHOLE));
}

describe.each(KINDS)('a stream that is cut by %s', (kind) => {
  test('between any two chunks never looks finished', async () => {
    expect(BOUNDARIES.filter((at) => at < FINISHED).length).toBe(6);
    await Promise.all(BOUNDARIES.map((at) => expectTruth({ kind, at })));
  }, 30_000);
});

test(`a stream that is cut at any byte never looks finished (seed ${seed})`, async () => {
  const cuts = fc.record({ kind: fc.constantFrom(...KINDS), at: fc.integer({ min: BEGUN, max: BYTES.length }) });
  await fc.assert(fc.asyncProperty(cuts, expectTruth), { seed, numRuns: runs });
  proved('streams cut at any byte by a reset, an end, a stall or nonsense: no client took one for finished');
}, 3_600_000);

test('nor one that ends because the server is killed', async () => {
  const own = await startSignalbox({
    policy: testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }),
    env: UPSTREAM_ENV,
  });
  const client = new OpenAI({ apiKey: own.key, baseURL: `${own.url}/v1`, maxRetries: 0 });
  const content = JSON.stringify({ kind: 'stall', at: BOUNDARIES[3]! } satisfies Cut);
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
}, 20_000);
