import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { PassedEventReader } from '../../plugins/providers/anthropic/answer.ts';
import { OpenAiReader } from '../../plugins/providers/openai/answer.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { StreamReader } from '../../src/contract/provider.ts';
import { createMessage } from '../../src/dialects/anthropic-messages/surface.ts';
import { createResponse } from '../../src/dialects/openai-responses/surface.ts';
import type { EventWriter } from '../../src/dialects/surface.ts';
import type { AnswerSource } from '../../src/gateway/exchange/answer-source.ts';
import { batchLine, endLine, replayedAnswer } from '../../src/gateway/exchange/replayed-answer.ts';
import { frameParser } from '../../src/providers/frames.ts';
import { RECEIPT } from '../support/caller-message.ts';
import { readOn } from '../support/read-request.ts';

/** Signalbox passes the events of an answer in its provider's own dialect on byte for byte, except the last event. */
const IDENTITY = { decision: 1, created: 1, model: 'm' };

interface PassedDialect {
  readonly name: string;
  reader(): StreamReader;
  writer(): EventWriter;
  /** The JSON of events that are passed on unchanged, in order, with a text and another member. */
  events(text: string, member: string): readonly string[];
  /** The event that contains the receipt, which comes last. */
  readonly end: string;
}

const ask = { model: 'm', stream: true };

const MESSAGES: PassedDialect = {
  name: 'Messages',
  reader: () => new PassedEventReader(),
  writer: () =>
    readOn(createMessage, { ...ask, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }).events!.writer(
      IDENTITY,
    ),
  events: (text, member) => [
    `{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}},"a":${member}}`,
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    `{"index":0, "type":"content_block_delta","delta":{"text":${text},"type":"text_delta"},"a":${member}}`,
    `{"type":"content_block_stop","index":0,"a":${member}}`,
  ],
  end: '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
};

const RESPONSES: PassedDialect = {
  name: 'Responses',
  reader: () => new OpenAiReader('openai-responses-v1', true),
  writer: () => readOn(createResponse, { ...ask, input: 'Hi' }).events!.writer(IDENTITY),
  events: (text, member) => [
    `{"type":"response.created","response":{"id":"r","output":[],"a":${member}},"sequence_number":0}`,
    `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","content":[]},"a":${member}}`,
    `{"delta":${text}, "type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"a":${member}}`,
    `{"type":"response.tomorrow","output_index":0,"a":${member}}`,
  ],
  end: '{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}}}',
};

/** JSON whose value JavaScript would write in another way: other escapes, spaces, digits and order of members. */
const ODD = [
  '12345678901234567890',
  '1.0',
  '1e2',
  '"\\u00e9\\/"',
  '{ "b":1 , "1":2}',
  '[ ]',
  '"\\ud83d\\ude00 \u2028"',
];
const member = fc.oneof(fc.constantFrom(...ODD), fc.json({ maxDepth: 2 }));
const text = fc.oneof(
  fc.constantFrom('"\\u0061"', '"a\\/b"', '"\\ud800"'),
  fc.string({ minLength: 1 }).map((one) => JSON.stringify(one)),
);

const framed = (json: string): string => `event: ${JSON.parse(json).type}\ndata: ${json}\n\n`;

function batchesOf({ reader }: PassedDialect, wire: string): readonly (readonly StreamPart[])[] {
  const parser = frameParser('sse');
  const one = reader();
  return [...parser.push(wire), ...parser.end()].map((frame) => one.read(frame));
}

function written({ writer }: PassedDialect, batches: readonly (readonly StreamPart[])[]): string {
  const one = writer();
  return batches.map((batch) => one.write(batch)).join('') + one.end(RECEIPT);
}

/** Returns the batches as a repeated request reads them. */
function stored(batches: readonly (readonly StreamPart[])[]): StreamPart[][] {
  const source = { ...IDENTITY, receipt: RECEIPT } as Pick<
    AnswerSource,
    'created' | 'model' | 'receipt'
  > as AnswerSource;
  const answer = replayedAnswer(1, batches.map(batchLine).join('') + endLine(source, null))!;
  const read: StreamPart[][] = [];
  for (let batch = answer.read(); batch !== null; batch = answer.read()) read.push([...(batch as StreamPart[])]);
  return read;
}

describe.each([MESSAGES, RESPONSES])('$name', (dialect) => {
  test('events are passed on byte for byte, also when the request is repeated', () => {
    const law = fc.property(text, member, (word, other) => {
      const events = dialect.events(word, other);
      const batches = batchesOf(dialect, [...events, dialect.end].map(framed).join(''));
      const out = written(dialect, batches);
      expect(out).toStartWith(events.map(framed).join(''));
      expect(written(dialect, stored(batches))).toBe(out);
    });
    fc.assert(law, { numRuns: 200 });
  });

  test('an event that arrived in several lines is passed on in one line, with the same value', () => {
    const events = dialect.events('"a"', '1');
    const lines = events.map((json) => `data: ${json.replace(',', ',\ndata: ')}\n\n`);
    const out = written(dialect, batchesOf(dialect, `${lines.join('')}${framed(dialect.end)}`));
    const values = out
      .split('\n\n')
      .flatMap((event) => (event === '' ? [] : [JSON.parse(event.split('\ndata: ')[1]!)]));
    expect(values.slice(0, events.length)).toEqual(events.map((json) => JSON.parse(json)));
  });
});

test('the test detects a reader that does not keep the bytes', () => {
  const [event = ''] = RESPONSES.events('"a"', '1.0').slice(2);
  const parts = batchesOf(RESPONSES, framed(event)).flat();
  const without = parts.map((part) => (part.type === 'passthrough' ? { ...part, json: undefined } : part));
  expect(written(RESPONSES, [parts])).toContain(event);
  expect(written(RESPONSES, [without])).not.toContain(event);
});
