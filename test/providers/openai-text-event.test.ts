import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChunkReader } from '../../plugins/providers/openai-compatible/answer.ts';
import type { Frame, StreamPart } from '../../src/contract/plugin.ts';
import { anyCodePoint } from '../support/any-code-point.ts';

interface FrameReader {
  read(frame: Frame): readonly StreamPart[];
}

/** Texts that repeat the characters around them, and texts that JSON escapes. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    'any text',
    'any text!',
    'index',
    'word',
    'x"',
    '\\',
    '\\"',
    '","content":"y',
    '\n',
    '\u2028',
    '{}',
  ),
  fc.string({ maxLength: 6, unit: anyCodePoint }),
);
const body = (choice: object, rest: object = {}) => JSON.stringify({ id: 'x', choices: [choice], ...rest });

const data = fc.oneof(
  { weight: 6, arbitrary: text.map((content) => body({ index: 0, delta: { content }, finish_reason: null })) },
  { weight: 3, arbitrary: text.map((content) => body({ index: 1, delta: { content } }, { word: content })) },
  text.map((content) => body({ index: 0, delta: { content } }, { padding: content, usage: null })),
  text.map((content) => `{"content":"${content}","choices":[{"delta":{"content" : ${JSON.stringify(content)}}}]}`),
  text.map((content) => body({ index: 0, delta: { reasoning_content: content } })),
  text.map((content) => body({ index: 0, delta: { content }, finish_reason: 'stop' })),
  text.map((content) => body({ index: 0, delta: { role: 'assistant', content } })),
  text,
);
const event = fc.constantFrom('', '', '', 'message', 'error');
const frames = fc.array(fc.record({ event, data }), { maxLength: 30 });

/** Returns the parts of an event alone, read by a new reader that knows no other event. */
const alone = (frame: Frame): readonly StreamPart[] => new ChunkReader().read(frame);

const isLaw = (make: () => FrameReader) =>
  fc.property(frames, (all) => {
    const reader = make();
    for (const frame of all) expect(reader.read(frame)).toEqual(alone(frame));
  });

test('an event of a stream has the same parts as alone, whatever events came before it', () => {
  fc.assert(
    isLaw(() => new ChunkReader()),
    { numRuns: 1_000 },
  );
});

test('the test detects a reader that returns any text at the position of the text', () => {
  const mutant = (): FrameReader => {
    const [before, after] = body({ index: 0, delta: { content: '|' }, finish_reason: null }).split('|') as [
      string,
      string,
    ];
    return {
      read(frame) {
        const { data: given } = frame;
        if (frame.event !== '' || !given.startsWith(before) || !given.endsWith(after)) return alone(frame);
        return [{ type: 'text', choice: 0, text: given.slice(before.length, -after.length) }];
      },
    };
  };
  expect(() => fc.assert(isLaw(mutant), { numRuns: 1_000 })).toThrow();
});

test('an event after a call is parsed completely, because a call changes how it may end', () => {
  const said = (finish: string) => body({ index: 0, message: { content: 'word' }, finish_reason: finish });
  const call = { index: 0, id: 'c', function: { name: 'look', arguments: '{}' } };
  const reader = new ChunkReader();
  for (let times = 0; times < 3; times++) expect(reader.read({ event: '', data: said('') })).toHaveLength(1);
  reader.read({ event: '', data: body({ index: 0, delta: { tool_calls: [call] } }) });
  expect(reader.read({ event: '', data: said('') }).map(({ type }) => type)).toEqual(['text', 'finish']);
});
