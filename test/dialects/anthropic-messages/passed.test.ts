import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { PassedEventReader, readReply } from '../../../plugins/providers/anthropic/answer.ts';
import { isObject, type Json } from '../../../plugins/providers/json.ts';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { MessageEvents } from '../../../src/dialects/anthropic-messages/events.ts';
import { MessageWriter } from '../../../src/dialects/anthropic-messages/message.ts';
import { RECEIPT } from '../../support/caller-message.ts';
import { eventsIn, foldedMessage } from '../../support/message-events.ts';
import { eventsOf, IDENTITY, jsonOf } from './support.ts';

/** An answer of Anthropic's own models, whose events are passed on unchanged. */
const words = fc.string({ minLength: 1, maxLength: 6, unit: 'binary' });
const pieces = fc.array(words, { maxLength: 3 });
const block: fc.Arbitrary<Json> = fc.oneof(
  pieces.map((texts) => ({
    type: 'text',
    text: texts.join(''),
    citations: null,
    deltas: texts.map((text) => ({ type: 'text_delta', text })),
  })),
  fc.tuple(pieces, words).map(([texts, signature]) => ({
    type: 'thinking',
    thinking: texts.join(''),
    signature,
    deltas: [
      ...texts.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature },
    ],
  })),
  words.map((data) => ({ type: 'redacted_thinking', data, deltas: [] })),
  fc.dictionary(words, fc.nat(), { maxKeys: 2, noNullPrototype: true }).map((input) => ({
    type: 'tool_use',
    id: 'toolu_1',
    name: 'f',
    input,
    deltas: ['', JSON.stringify(input)].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  })),
  fc
    .record({ query: words })
    .map(({ query }) => ({ type: 'server_tool_use', id: 's', name: 'search', input: { query }, deltas: [] })),
);

const EMPTY: Readonly<Record<string, Json>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
};
const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', container: null };
const usage = { input_tokens: 5, output_tokens: 7, service_tier: 'standard' };
const end = { stop_reason: 'end_turn', stop_sequence: null };

const withoutDeltas = ({ deltas: _, ...members }: Json): Json => members;

const wholeOf = (blocks: readonly Json[]): Json => ({ ...head, content: blocks.map(withoutDeltas), ...end, usage });

function framesOf(blocks: readonly Json[]): Json[] {
  const message = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  const frames: Json[] = [{ type: 'message_start', message }, { type: 'ping' }];
  for (const [index, one] of blocks.entries()) {
    const start = { ...withoutDeltas(one), ...EMPTY[String(one.type)] };
    frames.push({ type: 'content_block_start', index, content_block: start });
    for (const delta of Array.isArray(one.deltas) ? one.deltas : [])
      frames.push({ type: 'content_block_delta', index, delta });
    frames.push({ type: 'content_block_stop', index });
  }
  return [...frames, { type: 'message_delta', delta: end, usage: { output_tokens: 7 } }, { type: 'message_stop' }];
}

function partsOf(frames: readonly Json[]): StreamPart[] {
  const reader = new PassedEventReader();
  return frames.flatMap((frame) => [...reader.read({ event: '', data: JSON.stringify(frame) })]);
}

const blocks = fc.array(block, { minLength: 1, maxLength: 5 });
const withoutPlatform = (text: string): Json => {
  const { platform: _, ...message } = JSON.parse(text);
  return message;
};

test('the events of a complete answer, and the message made of them, equal the provider’s', () => {
  fc.assert(
    fc.property(blocks, (all) => {
      const parts = partsOf(framesOf(all));
      const { message } = foldedMessage(eventsOf(parts));
      expect<unknown>(message).toEqual(wholeOf(all));
      expect<unknown>(withoutPlatform(jsonOf(parts))).toEqual(wholeOf(all));
    }),
    { numRuns: 200 },
  );
});

test('an answer that arrived in one piece has the same events', () => {
  fc.assert(
    fc.property(blocks, (all) => {
      const parts = readReply(JSON.stringify(wholeOf(all)), true);
      expect<unknown>(foldedMessage(eventsOf(parts)).message).toEqual(wholeOf(all));
      expect<unknown>(withoutPlatform(jsonOf(parts))).toEqual(wholeOf(all));
    }),
    { numRuns: 200 },
  );
});

/** Returns the parts of an answer that Signalbox ended after this many events. */
const cutAfter = (all: readonly Json[], count: number): StreamPart[] => [
  ...partsOf(framesOf(all).slice(0, -2).slice(0, count)),
  { type: 'finish', choice: 0, reason: 'length', raw: 'max_tokens' },
];

const keepsRules = (spoil: (text: string) => string = (text) => text) =>
  fc.property(blocks, fc.nat(20), (all, count) => {
    const parts = cutAfter(all, count + 4);
    const { message, content } = foldedMessage(spoil(eventsOf(parts)));
    expect(message.stop_reason).toBe('max_tokens');
    const json = withoutPlatform(jsonOf(parts));
    expect<unknown>([json.stop_reason, json.content]).toEqual(['max_tokens', content]);
  });

test('an answer that is cut because its money is used up is closed according to the rules, streamed and in one piece', () => {
  fc.assert(keepsRules(), { numRuns: 200 });
});

test('the test detects an answer whose open block stays open', () => {
  const open = (text: string) => text.replace(/event: content_block_stop\n.*\n\n(?=event: message_delta)/, '');
  expect(fc.check(keepsRules(open), { numRuns: 200, endOnFailure: true }).failed).toBe(true);
});

test('the other parts of passed events contain what an answer without the events would', () => {
  fc.assert(
    fc.property(blocks, (all) => {
      const beside = partsOf(framesOf(all)).filter(({ type }) => type !== 'passthrough');
      const whole = readReply(JSON.stringify(wholeOf(all))).filter(({ type }) => type !== 'usage');
      const texts = (parts: readonly StreamPart[]) =>
        parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
      expect(texts(beside)).toBe(texts(whole));
      expect(beside.filter(isObject).some(({ type }) => type === 'usage')).toBe(true);
    }),
  );
});

const ODD = { input_tokens: -5, output_tokens: 1e15 };
const counted = { ...RECEIPT, usage: plainUsage(9, 4) };
const shown = { input_tokens: 9, output_tokens: 4, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };

test('a usage that cannot be true is not passed on: the caller gets the expected prompt, then Signalbox’s count', () => {
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: ODD };
  const text = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } };
  const stop = { type: 'content_block_stop', index: 0 };
  const parts = partsOf([{ type: 'message_start', message }, text, stop, { type: 'message_delta', delta: end }]);
  const writer = new MessageEvents({ ...IDENTITY, inputTokens: 9 });
  const events = eventsIn(writer.write(parts) + writer.end(counted));
  expect(events[0]!.message).toMatchObject({ usage: { ...shown, output_tokens: 0 } });
  expect(events.at(-2)!.usage).toMatchObject(shown);
  // A stream whose caller wants one body, and a body.
  for (const all of [parts, readReply(JSON.stringify({ ...wholeOf([]), usage: ODD }), true)]) {
    const json = new MessageWriter(IDENTITY);
    json.write(all);
    expect(JSON.parse(json.end(counted)).usage).toMatchObject(shown);
  }
});

test('a usage that cannot be true is not written into a translated answer either', () => {
  const writer = new MessageEvents({ ...IDENTITY, inputTokens: 9 });
  const usage: StreamPart = { type: 'usage', usage: plainUsage(-5, 1) };
  const [begin] = eventsIn(writer.write([usage, { type: 'text', choice: 0, text: 'Hi' }]));
  expect(begin!.message).toMatchObject({ usage: { ...shown, output_tokens: 0 } });
});
