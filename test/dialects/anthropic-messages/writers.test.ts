import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { FinishReason, StreamPart } from '../../../src/contract/parts.ts';
import { platform } from '../../../src/core/decision/platform.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import { SchemaCheck } from '../../../src/core/schema/check.ts';
import { conversationOf } from '../../../src/dialects/anthropic-messages/conversation.ts';
import { MessageEvents } from '../../../src/dialects/anthropic-messages/events.ts';
import { MessagesAnswer, MessagesEvent } from '../../../src/dialects/anthropic-messages/message-schema.ts';
import { eventsIn, foldedMessage } from '../../support/message-events.ts';
import { answers, eventsOf, IDENTITY, jsonOf, WITH_USAGE } from './support.ts';

const sameMessage = (write: (parts: readonly StreamPart[]) => string) =>
  fc.property(answers, (parts) => {
    const { message, platform } = foldedMessage(write(parts));
    const { platform: told, ...whole } = JSON.parse(jsonOf(parts));
    expect<unknown>(message).toEqual(whole);
    expect(platform).toEqual(told);
  });

test('the events of an answer follow the rules of the dialect, and have the same content and usage as JSON', () => {
  fc.assert(sameMessage(eventsOf), { numRuns: 1_000 });
});

test.each<[string, (text: string) => string]>([
  ['thinking without its signature', (text) => withoutEvents(text, 'signature_delta')],
  ['an answer without an end', (text) => text.replace(/event: message_stop\n.*\n\n$/, '')],
  ['a block without an end', (text) => text.replace(/event: content_block_stop.*\n.*\n\n/, '')],
  ['other usage', (text) => text.replaceAll('"output_tokens":9', '"output_tokens":8')],
])('the test detects %s', (_, spoil) => {
  expect(
    fc.check(
      sameMessage((parts) => spoil(eventsOf(parts))),
      { numRuns: 500, endOnFailure: true },
    ).failed,
  ).toBe(true);
});

const withoutEvents = (text: string, word: string): string =>
  text
    .split('\n\n')
    .filter((frame) => !frame.includes(word))
    .join('\n\n');

/** Returns the contents of an answer in the form in which they are sent back to its model. */
function borne(parts: readonly StreamPart[]) {
  const told = { text: '', details: [] as unknown[], extra: undefined as unknown, calls: new Map<string, unknown>() };
  for (const part of parts) {
    if (part.type === 'text') told.text += part.text;
    else if (part.type === 'state') {
      told.details.push(...(part.details ?? []));
      told.extra = part.extra ?? told.extra;
    } else if (part.type === 'tool-call' && part.id) told.calls.set(part.id, part.extra);
  }
  return told;
}

test('an answer that is sent back unchanged contains the same text, calls and state', () => {
  fc.assert(
    fc.property(answers, (parts) => {
      const { content } = JSON.parse(jsonOf(parts));
      const [turn] = conversationOf({ max_tokens: 100, messages: [{ role: 'assistant', content }] }).turns;
      const { text, details, extra, calls } = borne(parts);
      expect(turn!.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe(text);
      expect(turn!.extras.reasoning_details ?? []).toEqual(details);
      expect(turn!.extras.extra_content).toEqual(extra);
      const back = turn!.parts.filter((part) => part.type === 'tool-call');
      expect(back.map(({ id, extras }) => [id, extras.extra_content]).sort()).toEqual([...calls].sort());
    }),
    { numRuns: 1_000 },
  );
});

test('an answer without calls that ends in text ends with a text block, and its state is sent before further blocks', () => {
  const law = fc.property(answers, fc.string({ minLength: 1 }), (parts, text) => {
    const before = parts.filter(({ type }) => type !== 'tool-call' && type !== 'finish');
    const last: StreamPart[] = [
      { type: 'text', choice: 0, text },
      { type: 'state', choice: 0, details: [{ type: 'reasoning.encrypted', data: 'x' }] },
    ];
    // Claude Code uses the last block of an answer as its result.
    const words = JSON.parse(jsonOf([...before, ...last])).content;
    expect(words.at(-1)).toMatchObject({ type: 'text', text: expect.stringContaining(text) });
    const call: StreamPart = { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'f', arguments: '{}' };
    const called = JSON.parse(jsonOf([...before, ...last, call])).content;
    expect(called.slice(-2).map(({ type }: { type: string }) => type)).toEqual(['redacted_thinking', 'tool_use']);
  });
  fc.assert(law, { numRuns: 200 });
});

test('the usage separates cached input from other input, and hidden reasoning if the provider reports it', () => {
  const parts: StreamPart[] = [{ type: 'finish', choice: 0, reason: 'stop', raw: 'stop' }];
  const cache_creation = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 0 };
  const cache = { cache_read_input_tokens: 8, cache_creation_input_tokens: 2, cache_creation };
  const told = { input_tokens: 20, output_tokens: 9, ...cache };
  for (const estimated of [false, true]) {
    const receipt = { ...WITH_USAGE, platform: { ...WITH_USAGE.platform, estimated } };
    const details = { output_tokens_details: estimated ? null : { thinking_tokens: 4 } };
    const message = JSON.parse(jsonOf(parts, receipt));
    const { usage } = eventsIn(eventsOf(parts, receipt)).find(({ type }) => type === 'message_delta')!;
    expect([message.usage, usage]).toMatchObject([
      { ...told, ...details },
      { ...told, ...details },
    ]);
  }
});

const CALL: StreamPart = { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'f', arguments: '{"a"' };
const REFUSAL: StreamPart = { type: 'refusal', choice: 0, text: 'No.' };
const refused = { type: 'refusal', category: null, explanation: null };

test.each<[string, readonly StreamPart[], FinishReason, string, object | null]>([
  ['whole', [], 'stop', 'end_turn', null],
  ['with a call', [CALL], 'tool_calls', 'tool_use', null],
  // Clients run tools only because of the end reason, so it must not ask for the tools of a call that was cut off.
  ['with a call whose service says `stop`', [CALL], 'stop', 'tool_use', null],
  ['cut amid a call', [CALL], 'length', 'max_tokens', null],
  ['cut by a filter', [], 'content_filter', 'refusal', refused],
  ['a refusal in words', [REFUSAL], 'stop', 'refusal', refused],
])('an answer %s states why it ended', (_, content, reason, stop_reason, stop_details) => {
  const parts: StreamPart[] = [...content, { type: 'finish', choice: 0, reason, raw: 'x' }];
  const end = { stop_reason, stop_sequence: null, stop_details };
  expect(JSON.parse(jsonOf(parts))).toMatchObject(end);
  expect(eventsIn(eventsOf(parts)).find(({ type }) => type === 'message_delta')).toMatchObject({ delta: end });
});

test('an answer that breaks off ends with an error, and never looks complete', () => {
  fc.assert(
    fc.property(answers, (parts) => {
      const writer = new MessageEvents(IDENTITY);
      const text = writer.write(parts) + writer.error(new SignalboxError('upstream_failed', 'It broke off.'), null);
      const events = eventsIn(text);
      expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error', message: 'It broke off.' } });
      expect(events.some(({ type }) => type === 'message_delta' || type === 'message_stop')).toBe(false);
    }),
  );
});

test('every event and every message has the documented form', () => {
  const whole = new SchemaCheck(MessagesAnswer);
  const one = new SchemaCheck(MessagesEvent);
  fc.assert(
    fc.property(answers, (parts) => {
      expect(whole.accepts({ ...JSON.parse(jsonOf(parts)), platform })).toBe(true);
      for (const event of eventsIn(eventsOf(parts))) {
        expect(one.accepts(event.type === 'message_delta' ? { ...event, platform } : event)).toBe(true);
      }
    }),
  );
});
