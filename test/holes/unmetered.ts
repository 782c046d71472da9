import { isObject, type Json, listOf, objectOf, textOf } from '../../plugins/providers/json.ts';
import { tokenWeight } from '../../src/core/request/tokens.ts';
import { startOwnServer } from '../support/own-server.ts';

/**
 * Answers of services that report no usage, with everything that only their dialects can say, and a count of what a caller receives. The
 * count shares no code with the gateway except the token weight of a text.
 */

/** A part of an answer: its pieces of text, and its state in base64. */
export interface AnswerPart {
  readonly kind: string;
  readonly pieces: readonly string[];
  readonly state: string;
}

/** The dialect of a service, with the path and body of a request in it. */
export interface UnmeteredDialect {
  readonly name: string;
  readonly adapter: string;
  readonly path: string;
  /** The kinds of parts that the dialect has. */
  readonly kinds: readonly string[];
  request(model: string, cap: number): object;
  /** The JSON of each event. */
  events(all: readonly AnswerPart[]): Json[];
  whole(all: readonly AnswerPart[]): Json;
  /** The tokens of a stream's events, or of a JSON body, as the caller receives them. */
  received(events: readonly Json[]): number;
  platform(event: Json): Json | null;
}

const FRAME = /^(?:type|status|role|object|model|(?:\w+_)?id)$/;
const STATE = /^(?:signature|data|result|encrypted_\w+|partial_image_b64)$/;

/** The texts in a value with their token counts, each with the name of its member. */
function leavesOf(value: unknown, name = ''): { readonly text: string; readonly tokens: number }[] {
  if (FRAME.test(name)) return [];
  if (typeof value === 'string') {
    return [{ text: value, tokens: STATE.test(name) ? value.length / 4 : tokenWeight(value) }];
  }
  if (Array.isArray(value)) return value.flatMap((one) => leavesOf(one));
  return isObject(value) ? Object.entries(value).flatMap(([member, one]) => leavesOf(one, member)) : [];
}

const weightOf = (value: unknown): number => leavesOf(value).reduce((sum, { tokens }) => sum + tokens, 0);

interface Block {
  readonly start: Json;
  readonly deltas: readonly Json[];
  readonly whole: Json;
}

const citation = (text: string): Json => ({ type: 'web_search_result_location', title: 'page', cited_text: text });
const search = (pieces: readonly string[], state: string): Json => ({
  type: 'web_search_tool_result',
  tool_use_id: 's_1',
  content: pieces.map((title) => ({ type: 'web_search_result', title, encrypted_content: state })),
});
const alone = (whole: Json): Block => ({ start: whole, deltas: [], whole });

/** Blocks of Messages, by kind. */
const BLOCKS: Readonly<Record<string, (pieces: readonly string[], state: string) => Block>> = {
  text: (pieces) => ({
    start: { type: 'text', text: '' },
    deltas: pieces.map((text) => ({ type: 'text_delta', text })),
    whole: { type: 'text', text: pieces.join('') },
  }),
  citations: (pieces) => ({
    start: { type: 'text', text: '', citations: [] },
    deltas: pieces.map((text) => ({ type: 'citations_delta', citation: citation(text) })),
    whole: { type: 'text', text: 'so', citations: pieces.map(citation) },
  }),
  thinking: (pieces, signature) => ({
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature },
    ],
    whole: { type: 'thinking', thinking: pieces.join(''), signature },
  }),
  'redacted thinking': (_, data) => alone({ type: 'redacted_thinking', data }),
  call: (pieces) => ({
    start: { type: 'tool_use', id: 't_1', name: 'look', input: {} },
    deltas: JSON.stringify({ at: pieces.join('') })
      .split(/(?<= )/)
      .map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    whole: { type: 'tool_use', id: 't_1', name: 'look', input: { at: pieces.join('') } },
  }),
  'call of a server tool': (pieces) => ({
    start: { type: 'server_tool_use', id: 's_1', name: 'code_execution', input: {} },
    deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    whole: { type: 'server_tool_use', id: 's_1', name: 'code_execution', input: { code: pieces.join('') } },
  }),
  'result of a server tool': (pieces, state) => alone(search(pieces, state)),
  'block of tomorrow': (pieces, signature) => ({
    start: { type: 'painting', title: pieces[0] },
    deltas: pieces.map((stroke) => ({ type: 'stroke_delta', stroke, signature })),
    whole: { type: 'painting', title: pieces[0], strokes: pieces, signature },
  }),
};

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
const END = { stop_reason: 'end_turn', stop_sequence: null };
const blockOf = ({ kind, pieces, state }: AnswerPart): Block => BLOCKS[kind]!(pieces, state);

export const MESSAGES: UnmeteredDialect = {
  name: 'Messages',
  adapter: 'anthropic',
  path: '/v1/messages',
  kinds: Object.keys(BLOCKS),
  request: (model, max_tokens) => ({ model, max_tokens, messages: [{ role: 'user', content: 'Say hello.' }] }),
  events: (all) => [
    { type: 'message_start', message: { ...MESSAGE, content: [] } },
    ...all
      .map(blockOf)
      .flatMap(({ start, deltas }, index) => [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
    { type: 'message_delta', delta: END },
    { type: 'message_stop' },
  ],
  whole: (all) => ({ ...MESSAGE, content: all.map((one) => blockOf(one).whole), ...END }),
  received: (events) =>
    events.reduce((sum, { content_block: start, delta, content, type }) => {
      return sum + weightOf(start) + (type === 'content_block_delta' ? weightOf(delta) : 0) + weightOf(content);
    }, 0),
  platform: (event) => (isObject(event.platform) ? event.platform : null),
};

interface Item {
  readonly added: Json;
  readonly events: readonly Json[];
  readonly done: Json;
}

const streamed = (kind: string, pieces: readonly string[], member: string): Json[] => [
  ...pieces.map((delta) => ({ type: `response.${kind}.delta`, delta })),
  { type: `response.${kind}.done`, [member]: pieces.join('') },
];

/** Items of Responses, by kind. */
const ITEMS: Readonly<Record<string, (pieces: readonly string[], state: string) => Item>> = {
  text: (pieces) => ({
    added: { type: 'message', content: [] },
    events: streamed('output_text', pieces, 'text'),
    done: { type: 'message', content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }] },
  }),
  annotations: (pieces) => {
    const annotations = pieces.map((title) => ({ type: 'url_citation', title, start_index: 1 }));
    return {
      added: { type: 'message', content: [] },
      events: [
        ...streamed('output_text', ['so'], 'text'),
        ...annotations.map((annotation) => ({ type: 'response.output_text.annotation.added', annotation })),
      ],
      done: { type: 'message', content: [{ type: 'output_text', annotations, text: 'so' }] },
    };
  },
  summary: (pieces, encrypted_content) => ({
    added: { type: 'reasoning', summary: [], encrypted_content },
    events: streamed('reasoning_summary_text', pieces, 'text'),
    done: { type: 'reasoning', summary: [{ type: 'summary_text', text: pieces.join('') }], encrypted_content },
  }),
  reasoning: (pieces, encrypted_content) => ({
    added: { type: 'reasoning', summary: [], encrypted_content: '' },
    events: streamed('reasoning_text', pieces, 'text'),
    done: {
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: pieces.join('') }],
      encrypted_content,
    },
  }),
  call: (pieces) => ({
    added: { type: 'function_call', call_id: 'c', name: 'look', arguments: '' },
    events: streamed('function_call_arguments', pieces, 'arguments'),
    done: { type: 'function_call', call_id: 'c', name: 'look', arguments: pieces.join('') },
  }),
  'custom call': (pieces) => ({
    added: { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: '' },
    events: streamed('custom_tool_call_input', pieces, 'input'),
    done: { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: pieces.join('') },
  }),
  'code interpreter': (pieces, state) => ({
    added: { type: 'code_interpreter_call', code: '', outputs: [] },
    events: streamed('code_interpreter_call_code', pieces, 'code'),
    done: { type: 'code_interpreter_call', code: pieces.join(''), outputs: [{ type: 'logs', logs: `ran ${state}` }] },
  }),
  'call of a server': (pieces, state) => ({
    added: { type: 'mcp_call', name: 'query', server_label: 'db', arguments: '' },
    events: streamed('mcp_call_arguments', pieces, 'arguments'),
    done: {
      ...{ type: 'mcp_call', arguments: pieces.join(''), name: 'query', server_label: 'db' },
      output: `found ${state}`,
    },
  }),
  picture: (pieces, partial_image_b64) => ({
    added: { type: 'image_generation_call' },
    events: [{ type: 'response.image_generation_call.partial_image', partial_image_b64 }],
    done: { type: 'image_generation_call', revised_prompt: pieces.join(''), result: partial_image_b64 },
  }),
  'item of tomorrow': (pieces, signature) => ({
    added: { type: 'painting' },
    events: pieces.map((stroke) => ({ type: 'response.painting.stroke.delta', stroke })),
    done: { type: 'painting', strokes: pieces, signature },
  }),
};

const itemOf = ({ kind, pieces, state }: AnswerPart): Item => ITEMS[kind]!(pieces, state);
const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' };
const outputOf = (all: readonly AnswerPart[]): Json[] => all.map((one, at) => ({ id: `i_${at}`, ...itemOf(one).done }));
const ended = (all: readonly AnswerPart[]): Json => ({ ...RESPONSE, status: 'completed', output: outputOf(all) });

/** Counts each text once, however often events repeat it. Texts are distinguished by their content. */
function receivedOfResponses(events: readonly Json[]): number {
  const known = new Set<string>();
  const pieces = new Map<string, string>();
  let tokens = 0;
  for (const event of events) {
    const { type, response, output_index: at, sequence_number: _, delta, ...rest } = event;
    if (typeof delta === 'string') {
      tokens += tokenWeight(delta);
      const place = `${String(at)} ${String(type)}`;
      pieces.set(place, (pieces.get(place) ?? '') + delta);
      continue;
    }
    if (type === 'error' || type === 'response.failed') continue;
    for (const text of pieces.values()) known.add(text);
    const leaves = leavesOf(isObject(response) ? response.output : event.object === 'response' ? event.output : rest);
    for (const { text, tokens: weight } of leaves) if (!known.has(text)) tokens += weight;
    for (const { text } of leaves) known.add(text);
  }
  return tokens;
}

export const RESPONSES: UnmeteredDialect = {
  name: 'Responses',
  adapter: 'openai',
  path: '/v1/responses',
  kinds: Object.keys(ITEMS),
  request: (model, max_output_tokens) => ({ model, max_output_tokens, input: 'Say hello.' }),
  events: (all) => [
    { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [], usage: null } },
    ...all.map(itemOf).flatMap(({ added, events, done }, output_index) => {
      const id = `i_${output_index}`;
      return [
        { type: 'response.output_item.added', output_index, item: { id, ...added } },
        ...events.map((event) => ({ ...event, output_index, item_id: id })),
        { type: 'response.output_item.done', output_index, item: { id, ...done } },
      ];
    }),
    { type: 'response.completed', response: ended(all) },
  ],
  whole: ended,
  received: receivedOfResponses,
  platform: ({ response, platform }) => {
    const found = platform ?? objectOf(response).platform;
    return isObject(found) ? found : null;
  },
};

const DELTAS: Readonly<Record<string, (pieces: readonly string[], state: string) => Json[]>> = {
  text: (pieces) => pieces.map((content) => ({ content })),
  reasoning: (pieces) => pieces.map((reasoning_content) => ({ reasoning_content })),
  call: (pieces) =>
    pieces.map((text, at) => ({
      tool_calls: [
        at === 0
          ? { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: text } }
          : { index: 0, function: { arguments: text } },
      ],
    })),
  state: (_, data) => [{ reasoning_details: [{ type: 'reasoning.encrypted', data }] }],
};

const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
  id: 'x',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
});
const deltasOf = (all: readonly AnswerPart[]): Json[] =>
  all.flatMap(({ kind, pieces, state }) => DELTAS[kind]!(pieces, state));

/** The message that the deltas make. */
function messageOf(all: readonly AnswerPart[]): Json {
  const deltas = deltasOf(all);
  const joined = (name: string) => deltas.map((delta) => textOf(delta[name])).join('');
  const args = deltas.flatMap(({ tool_calls: calls }) =>
    listOf(calls).map((call) => textOf(objectOf(objectOf(call).function).arguments)),
  );
  const call = { id: 'c', type: 'function', function: { name: 'look', arguments: args.join('') } };
  return {
    role: 'assistant',
    content: joined('content'),
    reasoning_content: joined('reasoning_content'),
    reasoning_details: deltas.flatMap(({ reasoning_details: details }) => listOf(details)),
    ...(args.length > 0 && { tool_calls: [call] }),
  };
}

/** A service whose answers are translated on the way to the caller. What the caller gets of them is counted, too. */
export const CHAT: UnmeteredDialect = {
  name: 'chat completions',
  adapter: 'openai-compatible',
  path: '/v1/chat/completions',
  kinds: Object.keys(DELTAS),
  request: (model, max_tokens) => ({ model, max_tokens, messages: [{ role: 'user', content: 'Say hello.' }] }),
  events: (all) => [...deltasOf(all).map((delta) => chunk(delta)), chunk({}, 'stop')],
  whole: (all) => ({
    id: 'x',
    object: 'chat.completion',
    choices: [{ index: 0, message: messageOf(all), finish_reason: 'stop' }],
  }),
  received: (events) =>
    events.reduce((sum, { choices }) => {
      const said = listOf(choices).map((choice) => objectOf(objectOf(choice).delta ?? objectOf(choice).message));
      // Reasoning is sent under both of its names.
      return sum + said.reduce((all, { reasoning: _, ...delta }) => all + weightOf(delta), 0);
    }, 0),
  platform: (event) => (isObject(event.platform) ? event.platform : null),
};

/** The events of a dialect as bytes. */
export const framed = (events: readonly Json[]): string[] =>
  events.map((event) => `${event.type ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`);

/** The events in the text of a stream. */
export const eventsIn = (text: string): Json[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));

/** Starts a service that answers each request with a prepared text, and breaks off after it if the test wants that. */
export function startTextService() {
  let laid = { text: '', isCut: false };
  const server = startOwnServer(async (request) => {
    await request.text();
    const { text, isCut } = laid;
    const headers = { 'content-type': text.startsWith('{') ? 'application/json' : 'text/event-stream' };
    if (!isCut) return new Response(text, { headers });
    const body = new ReadableStream({
      async start(out) {
        out.enqueue(new TextEncoder().encode(text));
        // Gives the text time to leave before the connection breaks.
        await Bun.sleep(20);
        out.error(new Error('cut'));
      },
    });
    return new Response(body, { headers });
  });
  return {
    url: `${server.url}/v1`,
    lay: (text: string, isCut = false) => {
      laid = { text, isCut };
    },
    stop: server.stop,
  };
}
