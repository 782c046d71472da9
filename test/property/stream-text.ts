import fc from 'fast-check';
import type { Frame } from '../../src/contract/provider.ts';
import type { Event } from '../fault/dialect.ts';
import { blockDelta, blockStart, blockStop, change, PING, STOP, start } from '../fault/wire-anthropic.ts';
import { response } from '../fault/wire-gemini.ts';
import { chunk, DONE, delta, finish } from '../fault/wire-openai.ts';
import { anyCodePoint } from '../support/any-code-point.ts';

/**
 * The stream of an answer as text, in any form that the rules of server-sent events allow. Line ends, comments and other fields do not
 * change its meaning.
 */
export interface StreamText {
  /** The events that the text means. */
  readonly events: readonly Frame[];
  /** The stream, with noise between its events. */
  readonly text: string;
}

const words = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12, unit: anyCodePoint }),
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

/** Arguments of a call in pieces, none of which is JSON by itself. */
const pieces = fc.array(words, { minLength: 1, maxLength: 4 });
const tokens = { prompt: 7, output: 5 };

/** The events of whole answers, by dialect. */
const ANSWERS = {
  openai: openaiAnswers(),
  anthropic: anthropicAnswers(),
  gemini: geminiAnswers(),
  responses: responsesAnswers(),
} as const;
export type DialectName = keyof typeof ANSWERS;
export const DIALECT_NAMES = Object.keys(ANSWERS) as DialectName[];

function openaiAnswers(): fc.Arbitrary<readonly Frame[]> {
  const said = fc.oneof(
    words.map((content) => delta({ content })),
    words.map((reasoning_content) => delta({ reasoning_content })),
  );
  const call = fc.tuple(fc.nat(2), pieces).map(([index, texts]) => [
    delta({
      tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'look', arguments: '' } }],
    }),
    ...texts.map((text) => delta({ tool_calls: [{ index, function: { arguments: text } }] })),
  ]);
  return fc.tuple(fc.array(said, { maxLength: 8 }), fc.option(call, { nil: [] })).map(([texts, calls]) => {
    const end = [finish(calls.length > 0 ? 'tool_calls' : 'stop'), chunk([], tokens)];
    const all = [delta({ role: 'assistant', content: '' }), ...texts, ...calls, ...end];
    return [...all.map((event) => frameOf(event, '')), { event: '', data: DONE }];
  });
}

/** Generates successive blocks, each with its deltas: reasoning with its signature, and calls with their arguments in pieces. */
function anthropicAnswers(): fc.Arbitrary<readonly Frame[]> {
  const thinking = fc
    .tuple(fc.array(words, { maxLength: 4 }), fc.base64String({ minLength: 4 }))
    .map(([texts, signature]) => ({
      block: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...texts.map((text) => ({ type: 'thinking_delta', thinking: text })),
        { type: 'signature_delta', signature },
      ],
    }));
  const redacted = fc.base64String().map((data) => ({ block: { type: 'redacted_thinking', data }, deltas: [] }));
  const text = fc.array(words, { maxLength: 4 }).map((texts) => ({
    block: { type: 'text', text: '', citations: null },
    deltas: texts.map((said) => ({ type: 'text_delta', text: said })),
  }));
  const call = fc.tuple(fc.nat(99), pieces).map(([id, texts]) => ({
    block: { type: 'tool_use', id: `toolu_${id}`, name: 'look', input: {} },
    deltas: texts.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  }));
  const blocks = fc.array(fc.oneof(thinking, redacted, text, call), { maxLength: 5 });
  return fc.tuple(blocks, fc.boolean()).map(([all, pings]) => {
    const told = all.flatMap(({ block, deltas }, index): Event[] => [
      blockStart(index, block),
      ...(pings ? [PING] : []),
      ...deltas.map((one) => blockDelta(index, one)),
      blockStop(index),
    ]);
    const reason = all.some(({ block }) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';
    return [start(tokens), ...told, change(reason, tokens), STOP].map((event) => frameOf(event, String(event.type)));
  });
}

/** A response in each event: texts, reasoning and calls, some of them signed. */
function geminiAnswers(): fc.Arbitrary<readonly Frame[]> {
  const part = fc.oneof(
    words.map((text) => ({ text })),
    words.map((text) => ({ text, thought: true })),
    fc.dictionary(words, words, { maxKeys: 3 }).map((args) => ({ functionCall: { name: 'look', args } })),
  );
  const signed = fc
    .tuple(part, fc.option(fc.base64String({ minLength: 4 }), { nil: undefined }))
    .map(([one, thoughtSignature]) => (thoughtSignature === undefined ? one : { ...one, thoughtSignature }));
  return fc.array(fc.array(signed, { minLength: 1, maxLength: 3 }), { maxLength: 8 }).map((all) => {
    const told = all.map((parts, at) => response(parts, null, { ...tokens, output: Math.min(at, tokens.output) }));
    return [...told, response([{ text: '' }], 'STOP', tokens)].map((event) => frameOf(event, ''));
  });
}

/** Generates successive items, each in pieces: texts, refusals, reasoning, and calls of both kinds. */
function responsesAnswers(): fc.Arbitrary<readonly Frame[]> {
  const item = fc
    .tuple(fc.constantFrom('output_text', 'refusal', 'reasoning', 'function_call', 'custom_tool_call'), pieces)
    .map(([kind, texts]) => ({ kind, texts, whole: texts.join('') }));
  return fc.array(item, { maxLength: 5 }).map((all) => {
    const told = all.flatMap(({ kind, texts, whole }, output_index): Event[] => {
      const call = { call_id: `call_${output_index}`, name: 'look' };
      const made: Event =
        kind === 'function_call'
          ? { type: kind, ...call, arguments: whole }
          : kind === 'custom_tool_call'
            ? { type: kind, ...call, input: whole }
            : kind === 'reasoning'
              ? { type: kind, id: 'rs', summary: [{ type: 'summary_text', text: whole }], encrypted_content: 'gAAA' }
              : { type: 'message', content: [{ type: kind, [kind === 'refusal' ? kind : 'text']: whole }] };
      const delta = (RESPONSE_DELTAS as Readonly<Record<string, string>>)[kind];
      return [
        {
          type: 'response.output_item.added',
          output_index,
          item: { ...made, arguments: '', content: [], summary: [] },
        },
        ...texts.map((one) => ({ type: `response.${delta}.delta`, output_index, summary_index: 0, delta: one })),
        { type: 'response.output_item.done', output_index, item: made },
      ];
    });
    const usage = { input_tokens: tokens.prompt, output_tokens: tokens.output };
    const end = { type: 'response.completed', response: { status: 'completed', usage } };
    const begun = { type: 'response.created', response: { status: 'in_progress' } };
    return [begun, ...told, end].map((event) => frameOf(event, String(event.type)));
  });
}

const RESPONSE_DELTAS = {
  output_text: 'output_text',
  refusal: 'refusal',
  reasoning: 'reasoning_summary_text',
  function_call: 'function_call_arguments',
  custom_tool_call: 'custom_tool_call_input',
} as const;

const frameOf = (said: Event, event: string): Frame => ({ event, data: JSON.stringify(said) });

/** Lines without meaning that may come between two events. An empty line ends no event, because none has begun. */
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
  /** A line inside the event, which must not end it. */
  readonly within: string | null;
  readonly space: boolean;
  /** Whether the JSON is spread over several `data` lines. */
  readonly tall: boolean;
  /** Whether the event's name comes before its data, or after it. */
  readonly nameFirst: boolean;
}

const manner: fc.Arbitrary<Manner> = fc.record({
  between: noise,
  within: fc.constantFrom(null, ': still thinking', 'id: 8'),
  space: fc.boolean(),
  tall: fc.boolean(),
  nameFirst: fc.boolean(),
});

function linesOf({ event, data: json }: Frame, { between, within, space, tall, nameFirst }: Manner): string[] {
  const name = event === '' ? [] : [`event:${space ? ' ' : ''}${event}`];
  const [before, behind] = nameFirst ? [name, []] : [[], name];
  const told = tall && json.startsWith('{') ? JSON.stringify(JSON.parse(json), null, 1).split('\n') : [json];
  const data = told.map((line) => `data:${space || line.startsWith(' ') ? ' ' : ''}${line}`);
  const rest = [...(within === null ? [] : [within]), ...data.slice(1)];
  return [...between, ...before, ...data.slice(0, 1), ...rest, ...behind, ''];
}

const ending = fc.constantFrom('\n', '\r\n', '\r');

/** Ends each line with the next kind of line end. */
function ended(lines: readonly string[], endings: readonly string[]): string {
  let text = '';
  for (const [at, line] of lines.entries()) {
    const end = endings[at % endings.length]!;
    // A CR followed by an LF would be one line end instead of two.
    text += line + (line === '' && end === '\n' && text.endsWith('\r') ? '\r' : end);
  }
  return text;
}

/** Streams of a dialect. */
export const streamTexts = (dialect: DialectName): fc.Arbitrary<StreamText> =>
  fc
    .record({
      events: ANSWERS[dialect],
      manners: fc.array(manner, { minLength: 1, maxLength: 6 }),
      endings: fc.array(ending, { minLength: 1, maxLength: 5 }),
      mark: fc.boolean(),
    })
    .map(({ events, manners, endings, mark }) => {
      const lines = events.flatMap((event, at) => linesOf(event, manners[at % manners.length]!));
      return { events, text: (mark ? '\uFEFF' : '') + ended(lines, endings) };
    });

/** Where the bytes of a stream are cut: each position is taken modulo the length. Often the pieces are single bytes. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.array(fc.nat(8_192), { maxLength: 24 }),
  fc.integer({ min: 1, max: 5 }).map((step) => Array.from({ length: Math.ceil(8_192 / step) }, (_, at) => at * step)),
);

/** Returns the pieces between the cuts. No piece is empty. */
export function split(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(places.map((place) => place % bytes.length))].filter((place) => place > 0);
  sorted.sort((a, b) => a - b);
  return [0, ...sorted].map((from, at) => bytes.subarray(from, sorted[at] ?? bytes.length));
}
