import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { Frame } from '../../src/contract/provider.ts';
import { frameParser } from '../../src/providers/frames.ts';
import { tries } from '../deep/effort.ts';
import { anyCodePoint } from '../support/any-code-point.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { failureIn, joinParts, openTo, partsOf, providerCall, textIn } from '../support/provider-call.ts';
import { openaiOf } from './fixtures/openai-responses/adapter.ts';

const { numRuns, seed } = tries(
  'streams of the Responses API, split anywhere, give the parts of the whole answer',
  40,
  10_000,
);
const adapter = openaiOf();

type Item = Readonly<Record<string, unknown>> & { readonly type: string };

const words = fc.oneof(
  fc.string({ minLength: 1, maxLength: 10, unit: anyCodePoint }),
  fc.constantFrom('\r\n', 'data: x\n\n', '漢字', '"'),
);

const anyItem: fc.Arbitrary<Item> = fc.oneof(
  fc.tuple(words, fc.constantFrom('text', 'refusal')).map(([text, kind]) => ({
    type: 'message',
    content: [kind === 'text' ? { type: 'output_text', text } : { type: 'refusal', refusal: text }],
  })),
  fc.tuple(fc.array(words, { maxLength: 3 }), fc.base64String(), fc.nat(9)).map(([texts, encrypted_content, id]) => ({
    type: 'reasoning',
    id: `rs_${id}`,
    summary: texts.map((text) => ({ type: 'summary_text', text })),
    encrypted_content,
  })),
  fc.tuple(words, fc.nat(9)).map(([text, id]) => ({
    type: 'function_call',
    call_id: `call_${id}`,
    name: 'look',
    arguments: text,
  })),
  fc.constant({ type: 'program', id: 'p' }),
);

interface Answer {
  readonly output: readonly Item[];
  /** The number of characters per piece of each text. */
  readonly pace: number;
  /** Whether texts are streamed, not only contained in their items. */
  readonly inPieces: boolean;
  /** Whether events have names, not only types. */
  readonly named: boolean;
  /** The positions at which the bytes are split. */
  readonly cuts: readonly number[];
}

const anyAnswer: fc.Arbitrary<Answer> = fc.record({
  output: fc.array(anyItem, { maxLength: 6 }),
  pace: fc.integer({ min: 1, max: 5 }),
  inPieces: fc.boolean(),
  named: fc.boolean(),
  cuts: fc.array(fc.nat(20_000), { maxLength: 20 }),
});

const usage = { input_tokens: 7, output_tokens: 5 };
const bodyOf = ({ output }: Answer) => ({ object: 'response', status: 'completed', output, usage });

function framesOf(answer: Answer): readonly Frame[] {
  const events = [
    { type: 'response.created', response: { status: 'in_progress' } },
    ...answer.output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...item, arguments: '', summary: [], content: [] } },
      ...(answer.inPieces ? deltasOf(item, answer.pace).map((delta) => ({ ...delta, output_index })) : []),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: bodyOf(answer) },
  ];
  return events.map((event) => ({ event: answer.named ? event.type : '', data: JSON.stringify(event) }));
}

function deltasOf({ content, summary, arguments: args }: Item, pace: number) {
  const pieces = (text: unknown) => String(text).match(new RegExp(`[\\s\\S]{1,${pace}}`, 'g')) ?? [];
  const list = (value: unknown) => (Array.isArray(value) ? value : []);
  return [
    ...list(content).flatMap((part) =>
      'refusal' in part
        ? pieces(part.refusal).map((delta) => ({ type: 'response.refusal.delta', delta }))
        : pieces(part.text).map((delta) => ({ type: 'response.output_text.delta', delta })),
    ),
    ...list(summary).flatMap((part, summary_index) =>
      pieces(part.text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', summary_index, delta })),
    ),
    ...pieces(args ?? '').map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
  ];
}

function read(frames: readonly Frame[]): StreamPart[] {
  const reader = adapter.stream();
  return joinParts(frames.flatMap((frame) => reader.read(frame)));
}

/** Returns the same bytes, split at these positions. */
function cut(frames: readonly Frame[], places: readonly number[]): Frame[] {
  const lines = frames.map(({ event, data }) => `${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`).join('');
  const bytes = new TextEncoder().encode(lines);
  const sorted = [...new Set(places.map((place) => place % bytes.length))].toSorted((a, b) => a - b);
  const decoder = new TextDecoder();
  const parser = frameParser('sse');
  const pieces = [0, ...sorted].map((from, at) => bytes.subarray(from, sorted[at] ?? bytes.length));
  return [...pieces.flatMap((piece) => [...parser.push(decoder.decode(piece, { stream: true }))]), ...parser.end()];
}

describe('a stream of the Responses API', () => {
  test('has the same parts as the unstreamed answer, however it is split', () => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const frames = framesOf(answer);
        const whole = joinParts(adapter.reply(JSON.stringify(bodyOf(answer))));
        expect(read(frames)).toEqual(whole);
        expect(read(cut(frames, answer.cuts))).toEqual(whole);
      }),
      { seed, numRuns },
    );
  });

  test('numbers its calls from 0, and names each once', () => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const reader = adapter.stream();
        const parts = framesOf(answer).flatMap((frame) => [...reader.read(frame)]);
        const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
        const names = calls.filter(({ name }) => name !== undefined);
        expect(names.map(({ index }) => index)).toEqual([...names.keys()]);
        const indexes = calls.map(({ index }) => index);
        expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
      }),
      { seed, numRuns },
    );
  });

  test('may contain anything without causing an exception', () => {
    const name = fc.constantFrom(
      ...['created', 'output_item.added', 'output_item.done', 'output_text.delta', 'refusal.delta', 'completed'],
      ...['reasoning_summary_text.delta', 'function_call_arguments.delta', 'incomplete', 'failed', 'unheard.of'],
    );
    const members = 'item output_index delta summary_index response error status output usage'.split(' ');
    const anything = fc.oneof(fc.jsonValue(), anyItem);
    const body = fc.dictionary(fc.constantFrom(...members, 'content', 'summary', 'incomplete_details'), anything);
    const event = fc.tuple(name, fc.dictionary(fc.constantFrom(...members), fc.oneof(anything, body)));
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), body, (events, response) => {
        read(events.map(([type, fields]) => ({ event: `response.${type}`, data: JSON.stringify(fields) })));
        adapter.reply(JSON.stringify({ object: 'response', ...response }));
      }),
      { seed, numRuns },
    );
  });

  test('may have a million pieces of reasoning', () => {
    const summary = Array.from({ length: 300_000 }, () => ({ text: 'x' }));
    const item = { type: 'reasoning', summary, encrypted_content: 'd' };
    const parts = adapter.reply(JSON.stringify({ object: 'response', status: 'completed', output: [item] }));
    expect(parts.at(-1)).toMatchObject({ type: 'finish' });
  });

  test('is distinguished from a stream of chat completions whose text mentions such events', () => {
    const data = JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi', of: { type: 'error' } } }] });
    expect(read([{ event: '', data }])).toEqual([{ type: 'text', choice: 0, text: 'Hi' }]);
    const error = JSON.stringify({ error: { type: 'error', message: 'Gone.' } });
    expect(read([{ event: '', data: error }])).toMatchObject([{ type: 'failure', failure: { message: 'Gone.' } }]);
  });

  test('with a nameless call or too many items is a failure', () => {
    const begun = (item: object, output_index = 0): Frame => ({
      event: 'response.output_item.added',
      data: JSON.stringify({ type: 'response.output_item.added', output_index, item }),
    });
    const failed = { type: 'failure', failure: { kind: 'malformed' } };
    expect(read([begun({ type: 'function_call', call_id: 'c' })])).toMatchObject([failed]);
    const items = Array.from({ length: 513 }, (_, at) => begun({ type: 'message' }, at));
    expect(read(items)).toMatchObject([failed]);
    expect(read([{ event: 'response.completed', data: '{' }])).toMatchObject([failed]);
  });
});

const upstream = startFakeUpstream({ key: 'sk-test' });
afterAll(() => upstream.stop());

const tools = [{ type: 'function' as const, function: { name: 'look' } }];
const ask = (deadlines: object = {}, stream = true) =>
  partsOf(
    openTo(upstream.url, {
      adapter,
      call: providerCall({ tools }, { upstream: 'gpt-6-luna', stream, model: { capabilities: ['reasoning'] } }),
      deadlines,
    }),
  );
const event = (fields: object) => `event: error\ndata: ${JSON.stringify({ type: 'error', ...fields })}\n\n`;

describe('an answer of the Responses API', () => {
  test('is complete in both forms', async () => {
    upstream.behave({ text: 'Rain.', reasoning: 'Hm.' });
    for (const parts of [await ask(), await ask({}, false)]) {
      expect(upstream.requests.at(-1)?.path).toBe('/v1/responses');
      expect(failureIn(parts)).toBeUndefined();
      expect(textIn(parts)).toBe('Rain.');
      expect(parts.map(({ type }) => type).slice(-3)).toEqual(['state', 'finish', 'usage']);
    }
  });

  test('that breaks off is a failure of the kind cut', async () => {
    for (const behaviour of [{ cutAfter: 5 }, { endAfter: 5 }]) {
      upstream.next({ text: 'Rain, later sun.', ...behaviour });
      const parts = await ask();
      expect(textIn(parts)).toBe('Rain, ');
      expect(failureIn(parts)).toMatchObject({ kind: 'cut' });
    }
  });

  test('that stalls times out', async () => {
    upstream.next({ text: 'Rain, later sun.', hang: 5 });
    const parts = await ask({ idleMs: 100 });
    expect(textIn(parts)).toBe('Rain, ');
    expect(failureIn(parts)).toMatchObject({ kind: 'timeout' });
  });

  test('that fails within its stream reports the reason', async () => {
    upstream.next({ raw: [event({ code: 'rate_limit_exceeded', message: 'Slow down.', param: null })] });
    expect(failureIn(await ask())).toMatchObject({ kind: 'rate_limited', message: 'Slow down.' });
    upstream.next({ raw: [event({ error: { type: 'server_error', code: null, message: 'Gone.' } })] });
    expect(failureIn(await ask())).toMatchObject({ kind: 'server', message: 'Gone.' });
  });

  test.each(['auth', 'rejected', 'context', 'not_found', 'rate_limited', 'overloaded', 'server', 'timeout'] as const)(
    'may fail at once, and is of the kind %s',
    async (fail) => {
      upstream.next({ fail }, { fail });
      for (const stream of [true, false]) expect(failureIn(await ask({}, stream))).toMatchObject({ kind: fail });
    },
  );
});
