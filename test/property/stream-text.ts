import fc from 'fast-check';

/**
 * Streams of one answer as text, told in every way that the rules of server-sent events allow: whatever the line
 * ends, comments and fields between, they say the same.
 */
export interface StreamText {
  /** The JSON texts of the chunks, as they are meant. */
  readonly chunks: readonly string[];
  /** The stream, with its noise; ends with `[DONE]`. */
  readonly text: string;
}

const words = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12, unit: 'binary' }),
  fc.constantFrom(
    'data: x\n\n',
    '\r\n',
    '\r',
    ': no comment',
    '[DONE]',
    '\uFEFF',
    '\0',
    'ü',
    '漢字',
    '👩‍👩‍👧',
    '\u2028',
    '\\"',
  ),
);

const chunkOf = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_760_000_000,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});

const said = fc.oneof(
  words.map((content) => chunkOf({ content })),
  words.map((reasoning_content) => chunkOf({ reasoning_content })),
);

/** A call with its arguments in pieces that are no JSON of their own. */
const toolCall = fc.tuple(fc.nat(2), fc.array(words, { minLength: 1, maxLength: 4 })).map(([index, pieces]) => [
  chunkOf({
    tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'look', arguments: '' } }],
  }),
  ...pieces.map((piece) => chunkOf({ tool_calls: [{ index, function: { arguments: piece } }] })),
]);

const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };

/** All chunks of a whole answer, usage last. */
const answers = fc
  .tuple(fc.array(said, { maxLength: 8 }), fc.option(toolCall, { nil: [] }))
  .map(([texts, call]) => [
    chunkOf({ role: 'assistant', content: '' }),
    ...texts,
    ...call,
    chunkOf({}, call.length > 0 ? 'tool_calls' : 'stop'),
    { ...chunkOf({}), choices: [], usage },
  ]);

/** What may stand between two events and says nothing. A line each; an empty one ends no event, for none is open. */
const noise = fc.array(
  fc.constantFrom(
    '',
    ':',
    ': OPENROUTER PROCESSING',
    ':data: {"choices":[]}',
    'id: 7',
    'retry: 3000',
    'unknown: x',
    'id',
  ),
  { maxLength: 3 },
);

interface Manner {
  readonly between: readonly string[];
  /** Within the event, where it must not end it. */
  readonly within: string | null;
  readonly space: boolean;
  /** The JSON over several `data` lines. */
  readonly tall: boolean;
}

const manner: fc.Arbitrary<Manner> = fc.record({
  between: noise,
  within: fc.constantFrom(null, ': still thinking', 'id: 8'),
  space: fc.boolean(),
  tall: fc.boolean(),
});

function linesOf(json: string, { between, within, space, tall }: Manner): string[] {
  const told = tall && json.startsWith('{') ? JSON.stringify(JSON.parse(json), null, 1).split('\n') : [json];
  const data = told.map((line) => `data:${space || line.startsWith(' ') ? ' ' : ''}${line}`);
  return [...between, ...data.slice(0, 1), ...(within === null ? [] : [within]), ...data.slice(1), ''];
}

const ending = fc.constantFrom('\n', '\r\n', '\r');

/** Ends line after line, each in the next of the ways. */
function ended(lines: readonly string[], endings: readonly string[]): string {
  let text = '';
  for (const [at, line] of lines.entries()) {
    const end = endings[at % endings.length]!;
    // A CR and an LF behind it would be one end and not two.
    text += line + (line === '' && end === '\n' && text.endsWith('\r') ? '\r' : end);
  }
  return text;
}

export const streamTexts: fc.Arbitrary<StreamText> = fc
  .record({
    answer: answers,
    manners: fc.array(manner, { minLength: 1, maxLength: 6 }),
    endings: fc.array(ending, { minLength: 1, maxLength: 5 }),
    mark: fc.boolean(),
  })
  .map(({ answer, manners, endings, mark }) => {
    const chunks = answer.map((chunk) => JSON.stringify(chunk));
    const lines = [...chunks, '[DONE]'].flatMap((json, at) => linesOf(json, manners[at % manners.length]!));
    return { chunks, text: (mark ? '\uFEFF' : '') + ended(lines, endings) };
  });

/** How a stream's bytes are cut: at these places, each taken modulo its length. Often into single bytes. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.array(fc.nat(8_192), { maxLength: 24 }),
  fc.integer({ min: 1, max: 5 }).map((step) => Array.from({ length: Math.ceil(8_192 / step) }, (_, at) => at * step)),
);

/** The pieces of bytes between the cuts; never an empty one. */
export function split(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(places.map((place) => place % bytes.length))].filter((place) => place > 0);
  sorted.sort((a, b) => a - b);
  return [0, ...sorted].map((from, at) => bytes.subarray(from, sorted[at] ?? bytes.length));
}
