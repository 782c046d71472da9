import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChunkReader } from '../../plugins/providers/openai-compatible/answer.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { Frame, StreamReader } from '../../src/contract/provider.ts';
import { separateParts, TextRun } from '../../src/contract/text-run.ts';
import { ChunkWriter } from '../../src/dialects/openai-chat/chunks.ts';
import { Meter } from '../../src/gateway/money/meter.ts';
import { AnswerCompletion } from '../../src/providers/completion.ts';
import { effort } from '../deep/effort.ts';
import { cuts, split } from '../property/stream-text.ts';
import { anyCodePoint } from '../support/any-code-point.ts';
import { readStream } from '../support/read-stream.ts';

/**
 * The law: a stream whose usual events are read as runs is charged and written like a stream whose events are parsed one by one, byte for
 * byte, whatever its events contain and wherever its bytes are cut.
 */
const { runs, seed, proved } = effort('text-runs', 300, 50_000);
const IDENTITY = { decision: 0x2b67734, created: 1_790_000_000, model: 'mo$&del', inputTokens: 3 };
const CHOICES = 2;

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('word', ' the', 'any text', ', ', '**', '漢字', 'ü', '👩‍👧') },
  fc.constantFrom('', '"', '\\', '\\"', '\n\n', '\t', '\b\f', '\u007f', '\u0080', '\u2028', '\0', '\u001f', '$&'),
  fc.constantFrom('\ud83d', '\ude00', '"}}]}\n\ndata: ', '","finish_reason":"stop', '[DONE]', 'data: x\n\n'),
  fc.string({ maxLength: 6, unit: anyCodePoint }),
);

/** Writes a text as a JSON string, as several servers do. */
const WRITTEN: readonly ((content: string) => string)[] = [
  (content) => JSON.stringify(content),
  (content) => JSON.stringify(content),
  (content) => JSON.stringify(content).replaceAll('/', '\\/'),
  (content) =>
    JSON.stringify(content).replaceAll(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
  // These are no JSON strings.
  (content) => `"${content}"`,
  (content) => `"${content}\\"`,
];
const content = fc.tuple(text, fc.constantFrom(...WRITTEN)).map(([value, written]) => written(value));

/** Chunks whose text is `TEXT`; most streams use only one of them. */
const USUAL = [
  '{"id":"x","choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}]}',
  '{"id":"x","choices":[{"index":0,"delta":{"content":TEXT},"logprobs":null,"finish_reason":null}],"usage":null}',
  '{"choices": [{"delta": {"content": TEXT}}]}',
  '{"choices":[{"delta":{"content":TEXT},"index":1}]}',
  '{"choices":[{"delta":{"role":"assistant","content":TEXT}}]}',
  '{"choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":null}],"obfuscation":"PADDING"}',
  '{"choices":[{"delta":{"content":TEXT,"obfuscation":"PADDING"}}],"usage":null}',
];
const OTHERS = [
  '{"choices":[{"delta":{"content":TEXT}}],"obfuscation":TEXT}',
  '{"choices":[{"delta":{"content":TEXT}}],"obfuscation":"PADDING","obfuscation":"PADDING"}',
  '{"obfuscation":"PADDING","choices":[{"delta":{"content":TEXT}}]}',
  '{"choices":[{"index":1,"delta":{"content":TEXT}},{"index":0,"delta":{"content":TEXT}}]}',
  '{"choices":[{"index":7,"delta":{"content":TEXT}}]}',
  '{"choices":[{"delta":{"content":"first","content":TEXT}}]}',
  '{"choices":[{"delta":{"content":TEXT,"content":"last"}}]}',
  '{"padding":TEXT,"choices":[{"index":0,"delta":{"content":TEXT}}]}',
  '{"choices":[{"index":0,"delta":{"reasoning_content":TEXT}}]}',
  '{"choices":[{"index":0,"delta":{"refusal":TEXT}}]}',
  '{"choices":[{"index":0,"delta":{"content":TEXT},"logprobs":{"content":[{"token":TEXT,"logprob":0}]}}]}',
  '{"choices":[{"index":0,"logprobs":{"content":[{"token":TEXT,"logprob":0}]}}]}',
  '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":TEXT}}]}}]}',
  '{"choices":[{"index":0,"delta":{"content":TEXT},"finish_reason":"stop"}]}',
  '{"choices":[{"index":0,"message":{"content":TEXT},"finish_reason":""}]}',
  '{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}',
  '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}',
  '{"error":{"message":TEXT,"code":500}}',
  '[DONE]',
  'TEXT',
];
const padding = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('x8Kd', 'x8Kd3mQ', 'z', '') },
  fc.constantFrom(
    '\\"',
    '\\n',
    '"',
    '\n',
    '漢',
    '","usage":{"prompt_tokens":1,"completion_tokens":1},"x":"',
    '"}\n\ndata: ',
  ),
);
const dataOf = (chunk: string) =>
  fc
    .tuple(content, padding)
    .map(([written, letters]) => chunk.replaceAll('TEXT', () => written).replaceAll('PADDING', () => letters));

/** Writes an event. The data of some events has two lines. */
const FRAMED: readonly ((data: string) => string)[] = [
  ...Array.from({ length: 12 }, () => (data: string) => `data: ${data}\n\n`),
  (data) => `data:${data}\n\n`,
  (data) => `data: ${data}\r\n\r\n`,
  (data) => `event: error\ndata: ${data}\n\n`,
  (data) => `: comment\n\ndata: ${data}\n\n`,
  (data) => `data: ${data.replace('{', '{\ndata: ')}\n\n`,
  (data) => `data: ${data.replace('{', '{\n')}\n\n`,
  (data) => `data: ${data}\n`,
];

const streams = fc.constantFrom(...USUAL).chain((usual) => {
  const data = fc.oneof({ weight: 8, arbitrary: dataOf(usual) }, fc.constantFrom(...USUAL, ...OTHERS).chain(dataOf));
  const framed = fc.tuple(data, fc.constantFrom(...FRAMED)).map(([one, write]) => write(one));
  return fc.array(framed, { maxLength: 24 }).map((events) => events.join(''));
});

type Batches = readonly (readonly StreamPart[])[];
type Read = (pieces: readonly Uint8Array[]) => Batches;

/** Reads every event by parsing it. */
const oneByOne: Read = (pieces) => {
  const reader = new ChunkReader();
  return readStream(pieces, { read: (frame) => reader.read(frame) });
};
const asRuns: Read = (pieces) => readStream(pieces, new ChunkReader());

/** Returns everything that the batches lead to. */
function outcomeOf(batches: Batches) {
  const completion = new AnswerCompletion(CHOICES);
  const meter = new Meter(true, null);
  const writer = new ChunkWriter(IDENTITY);
  const written: string[] = [];
  for (const batch of batches) {
    const added: StreamPart[] = [];
    const isOver = !batch.every((part) => completion.add(part, added));
    meter.observe(added, 0);
    written.push(writer.write(added));
    if (isOver) break;
  }
  const { started, finished, complete, failure } = completion;
  const { counted, unreported, mark, reported, isOutdated, finishReasons } = meter;
  return {
    written,
    completion: { started, finished, complete, failure },
    meter: { counted, unreported, mark, reported, isOutdated, finishReasons },
  };
}

const isLaw = (read: Read) =>
  fc.property(streams, cuts, (stream, places) => {
    const pieces = split(new TextEncoder().encode(stream), places);
    const [batches, expected] = [read(pieces), oneByOne(pieces)];
    expect(batches.map(separateParts)).toEqual(expected.map((parts) => [...parts]));
    const outcome = outcomeOf(batches);
    expect(outcome).toEqual(outcomeOf(expected));
    // Before its end, no stream has a finish reason or the event that ends a complete answer.
    for (const event of outcome.written.join('').split('\n\n').slice(0, -1)) {
      const { choices } = JSON.parse(event.slice('data: '.length));
      expect(choices[0].finish_reason).toBeUndefined();
    }
  });

test(`a stream read as runs is charged and written like a stream that is parsed event by event (seed ${seed})`, () => {
  fc.assert(isLaw(asRuns), { seed, numRuns: runs });
  proved('any events of a stream, cut anywhere: runs give the same parts, bytes and figures as parsing each event');
});

test.each([USUAL[0]!, USUAL[1]!, USUAL[5]!])('most texts of a usual stream are read as runs: %s', (chunk) => {
  const words = ['One', ' two', ',\n\n', '"three"', ' four', ' 五', '.'];
  const events = words
    .map(
      (word) => `data: ${chunk.replace('TEXT', JSON.stringify(word)).replace('PADDING', 'x'.repeat(word.length))}\n\n`,
    )
    .join('');
  const [parts = []] = asRuns([new TextEncoder().encode(events)]);
  expect(parts).toEqual([
    { type: 'text', choice: 0, text: 'One' },
    { type: 'text', choice: 0, text: ' two,\n\n"three" four 五.' },
  ]);
  expect(parts[1]).toBeInstanceOf(TextRun);
});

/** Reads events by a form of the mutant's own, which it derives from the frames. */
const reading = (read: (frame: Frame, reader: ChunkReader) => readonly StreamPart[]): Read => {
  return (pieces) => {
    const reader = new ChunkReader();
    return readStream(pieces, { read: (frame) => read(frame, reader) });
  };
};
const withForm = (formOf: (reader: ChunkReader) => StreamReader['textForm']): Read => {
  return (pieces) => {
    const reader = new ChunkReader();
    return readStream(pieces, {
      read: (frame) => reader.read(frame),
      get textForm() {
        return formOf(reader);
      },
    });
  };
};
const MUTANTS: Readonly<Record<string, Read>> = {
  'keeps a form after a call or the end': (pieces) => {
    let last: StreamReader['textForm'] = null;
    return withForm((reader) => {
      last = reader.textForm ?? last;
      return last;
    })(pieces);
  },
  'ignores what follows a padding': reading(({ event, data }, reader) => {
    const found = /^\{"choices":\[\{"index":0,"delta":\{"content":"([^"\\]+)"\},"finish_reason":null\}\],"obf/.exec(
      data,
    );
    return event === '' && found ? [{ type: 'text', choice: 0, text: found[1]! }] : reader.read({ event, data });
  }),
  'takes any choice for the first one': withForm(({ textForm }) => textForm && { ...textForm, choice: 0 }),
  'ignores what follows the text': reading(({ event, data }, reader) => {
    const found = /^\{"id":"x","choices":\[\{"index":0,"delta":\{"content":"([^"\\]+)"/.exec(data);
    return event === '' && found ? [{ type: 'text', choice: 0, text: found[1]! }] : reader.read({ event, data });
  }),
  'copies escapes as text': reading(({ event, data }, reader) =>
    reader
      .read({ event, data })
      .map((part) => (part.type === 'text' ? { ...part, text: JSON.stringify(part.text).slice(1, -1) } : part)),
  ),
  'reads an event twice if it is cut': (pieces) =>
    asRuns(pieces).map((parts, at) => (at === 1 && parts.length > 0 ? [parts[0]!, ...parts] : parts)),
  'joins the events of a run': (pieces) =>
    asRuns(pieces).map((parts) => parts.map((part) => (part instanceof TextRun ? { ...part } : part))),
};

test.each(Object.entries(MUTANTS))('the law detects a reader that %s', (_, mutant) => {
  expect(fc.check(isLaw(mutant), { seed, numRuns: 5_000, endOnFailure: true }).failed).toBe(true);
});
