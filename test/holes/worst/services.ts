import { list, members } from './requests.ts';

/** The worst answers that a service may send, by what they have many of. */
export interface WorstService {
  /** The model whose requests and answers take the longest way through its adapter. */
  readonly upstream: string;
  /** The events of a stream. */
  readonly events: Readonly<Record<string, (parts: number) => readonly object[]>>;
  /** The bodies of JSON answers. */
  readonly replies: Readonly<Record<string, (parts: number) => object>>;
  /** The bodies of errors: JSON or text. */
  readonly errors: Readonly<Record<string, (parts: number) => object | string>>;
}

/** Errors whose text takes long to search. */
const errorsIn = (around: (message: string) => object): WorstService['errors'] => ({
  'words of an error': (parts) => around('tokens '.repeat(parts)),
  'addresses without an end': (parts) => around('a.'.repeat(parts)),
  'blanks of an error': (parts) => around(' '.repeat(parts)),
  'a page': (parts) => `<html>${'<p>'.repeat(parts)}`,
  'blanks alone': (parts) => ' '.repeat(parts),
  'members of an error': (parts) => ({ ...around('no'), ...members(parts, () => 'x') }),
});

const chunk = (delta: object, rest: object = {}) => ({ id: 'a', choices: [{ index: 0, delta, ...rest }] });
const END = chunk({}, { finish_reason: 'stop' });
const piece = (index: unknown, rest: object = {}) =>
  chunk({ tool_calls: [{ index, function: { arguments: '{' }, ...rest }] });
const completion = (message: object) => ({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
const CALLS = 512;

const chat: WorstService = {
  upstream: 'some-model',
  events: {
    texts: (parts) => [...list(parts, () => chunk({ content: 'x' })), END],
    'texts of other forms': (parts) => [
      ...list(parts, (at) => ({ ...chunk({ content: 'x' }), [`member${at}`]: 1 })),
      END,
    ],
    'thoughts with details': (parts) => [
      ...list(parts, () => chunk({ reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] })),
      END,
    ],
    'calls of other IDs': (parts) =>
      list(Math.min(parts, CALLS), (at) => piece(0, { id: `c${at}`, function: { name: 'f' } })),
    'pieces of a call': (parts) => [
      piece(0, { id: 'c', function: { name: 'f' } }),
      ...list(parts, () => piece(0)),
      END,
    ],
    'pieces of many calls': (parts) => [
      ...list(CALLS, (at) => piece(at, { id: `c${at}`, function: { name: 'f' } })),
      ...list(parts, (at) => piece(at % CALLS)),
      END,
    ],
    'pieces of calls without an index': (parts) => list(parts, (at) => piece(null, { id: `c${at % CALLS}` })),
    'a call without a name': (parts) => list(parts, () => piece(0)),
    'choices in one event': (parts) => [
      { id: 'a', choices: list(parts, () => ({ index: 0, delta: { content: 'x' } })) },
    ],
    usages: (parts) => list(parts, () => ({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })),
  },
  replies: {
    choices: (parts) => ({
      choices: list(parts, (at) => ({ index: at, message: { content: 'x' }, finish_reason: 'stop' })),
    }),
    calls: (parts) =>
      completion({ tool_calls: list(parts, (at) => ({ id: `c${at}`, function: { name: 'f', arguments: '{}' } })) }),
    'parts of a content': (parts) => completion({ content: list(parts, () => ({ type: 'text', text: 'x' })) }),
    'thoughts of a content': (parts) => completion({ content: [{ thinking: list(parts, () => ({ text: 'x' })) }] }),
    details: (parts) => completion({ content: 'x', reasoning_details: list(parts, () => ({ text: 'x' })) }),
    'a long text': (parts) => completion({ content: '\\"x'.repeat(parts) }),
    vectors: (parts) => ({ data: list(parts, (at) => ({ index: at, embedding: [1] })) }),
    'a vector': (parts) => ({ data: [{ index: 0, embedding: list(parts, () => 1) }] }),
    'a vector in base64': (parts) => ({ data: [{ index: 0, embedding: new Uint8Array(parts * 4).toBase64() }] }),
  },
  errors: {
    ...errorsIn((message) => ({ error: { message, type: 'invalid_request_error' } })),
    'places of an error': (parts) => ({ detail: [{ loc: list(parts, () => 'a'), msg: 'no' }] }),
  },
};

const start = (at: number, block: object) => ({ type: 'content_block_start', index: at, content_block: block });
const delta = (at: number, own: object) => ({ type: 'content_block_delta', index: at, delta: own });
const stop = (at: number) => ({ type: 'content_block_stop', index: at });
const TEXT = { type: 'text', text: '' };
const MESSAGE = { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } };
const ENDS = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];
const blocks = (parts: number, block: (at: number) => object, own: (at: number) => object) => [
  MESSAGE,
  ...list(parts, (at) => [start(at, block(at)), delta(at, own(at)), stop(at)]).flat(),
  ...ENDS,
];
const message = (content: readonly object[], usage: object = { input_tokens: 1, output_tokens: 1 }) => ({
  type: 'message',
  content,
  stop_reason: 'end_turn',
  usage,
});

const anthropic: WorstService = {
  upstream: 'claude-opus-4-5',
  events: {
    'texts of a block': (parts) => [
      MESSAGE,
      start(0, TEXT),
      ...list(parts, () => delta(0, { type: 'text_delta', text: 'x' })),
      stop(0),
      ...ENDS,
    ],
    blocks: (parts) =>
      blocks(
        parts,
        () => TEXT,
        () => ({ type: 'text_delta', text: 'x' }),
      ),
    'blocks that stay open': (parts) => [
      MESSAGE,
      ...list(parts, (at) => start(at, { type: 'tool_use', id: `c${at}`, name: 'f' })),
      ...ENDS,
    ],
    'blocks of another kind': (parts) =>
      blocks(
        parts,
        () => ({ type: 'server_tool_use' }),
        () => ({ type: 'other_delta' }),
      ),
    thoughts: (parts) =>
      blocks(
        parts,
        () => ({ type: 'thinking', thinking: 'hm', signature: 's' }),
        () => ({ type: 'thinking_delta', thinking: 'hm' }),
      ),
    'pieces of a thought': (parts) => [
      MESSAGE,
      start(0, { type: 'thinking' }),
      ...list(parts, () => delta(0, { type: 'thinking_delta', thinking: 'hm' })),
      delta(0, { type: 'signature_delta', signature: 's' }),
      stop(0),
      ...ENDS,
    ],
    'pieces of a call': (parts) => [
      MESSAGE,
      start(0, { type: 'tool_use', id: 'c', name: 'f' }),
      ...list(parts, () => delta(0, { type: 'input_json_delta', partial_json: '{' })),
      stop(0),
      ...ENDS,
    ],
    citations: (parts) => [
      MESSAGE,
      start(0, TEXT),
      ...list(parts, () => delta(0, { type: 'citations_delta', citation: { cited_text: 'x' } })),
      stop(0),
      ...ENDS,
    ],
    'counts of tokens': (parts) => [
      MESSAGE,
      ...list(parts, () => ({ type: 'message_delta', delta: {}, usage: { output_tokens: 1 } })),
      ...ENDS,
    ],
    'counts of many members': (parts) => [
      {
        type: 'message_start',
        message: {
          id: 'm',
          usage: {
            input_tokens: 1,
            output_tokens: 1,
            server_tool_use: members(parts, () => 1),
            ...members(parts, () => 1, 'other'),
          },
        },
      },
      start(0, TEXT),
      ...list(parts, () => ({ type: 'message_delta', delta: {}, usage: { output_tokens: 1 } })),
      ...ENDS,
    ],
    'signs of life': (parts) => [...list(parts, () => ({ type: 'ping' })), MESSAGE, start(0, TEXT), stop(0), ...ENDS],
  },
  replies: {
    blocks: (parts) => message(list(parts, () => ({ type: 'text', text: 'x' }))),
    calls: (parts) => message(list(parts, (at) => ({ type: 'tool_use', id: `c${at}`, name: 'f', input: {} }))),
    thoughts: (parts) => message(list(parts, () => ({ type: 'thinking', thinking: 'hm', signature: 's' }))),
    'uses of tools': (parts) =>
      message([], { input_tokens: 1, output_tokens: 1, server_tool_use: members(parts, () => 1) }),
  },
  errors: errorsIn((words) => ({ type: 'error', error: { type: 'invalid_request_error', message: words } })),
};

const item = (at: number, own: object) => ({ type: 'response.output_item.added', output_index: at, item: own });
const done = (at: number, own: object) => ({ type: 'response.output_item.done', output_index: at, item: own });
const said = (own: object) => ({
  type: 'response.output_text.delta',
  item_id: 'm',
  output_index: 0,
  content_index: 0,
  delta: 'x',
  ...own,
});
const COMPLETED = {
  type: 'response.completed',
  response: { id: 'r', output: [], usage: { input_tokens: 1, output_tokens: 1 } },
};
const response = (output: readonly object[]) => ({
  object: 'response',
  status: 'completed',
  output,
  usage: { input_tokens: 1, output_tokens: 1 },
});

const openai: WorstService = {
  upstream: 'gpt-5.5',
  events: {
    ...chat.events,
    'texts of an item': (parts) => [item(0, { type: 'message' }), ...list(parts, () => said({})), COMPLETED],
    'texts of many places': (parts) => [
      item(0, { type: 'message' }),
      ...list(parts, (at) => said({ content_index: at })),
    ],
    'texts of other members': (parts) => [
      item(0, { type: 'message' }),
      ...list(parts, (at) => said({ [`member${at}`]: 1 })),
      COMPLETED,
    ],
    items: (parts) => [
      ...list(parts, (at) => [item(at, { type: 'message' }), done(at, { type: 'message', content: [] })]).flat(),
      COMPLETED,
    ],
    'items that stay open': (parts) => list(parts, (at) => item(at, { type: 'message' })),
    'an item far away': (parts) => [
      item(0, { type: 'message' }),
      said({}),
      done(parts * 10_000, { type: 'message', content: [] }),
    ],
    'summaries of reasoning': (parts) => [
      item(0, { type: 'reasoning' }),
      ...list(parts, (at) => ({
        type: 'response.reasoning_summary_text.delta',
        output_index: 0,
        summary_index: at,
        delta: 'hm',
      })),
      COMPLETED,
    ],
    'pieces of a call': (parts) => [
      item(0, { type: 'function_call', call_id: 'c', name: 'f' }),
      ...list(parts, () => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta: '{' })),
      COMPLETED,
    ],
    'input of a custom tool': (parts) => [
      item(0, { type: 'custom_tool_call', call_id: 'c', name: 'f' }),
      ...list(parts, () => ({ type: 'response.custom_tool_call_input.delta', output_index: 0, delta: '"' })),
      COMPLETED,
    ],
    'other events': (parts) => [...list(parts, () => ({ type: 'response.other' })), COMPLETED],
  },
  replies: {
    ...chat.replies,
    items: (parts) => response(list(parts, () => ({ type: 'message', content: [{ type: 'output_text', text: 'x' }] }))),
    'parts of an item': (parts) =>
      response([{ type: 'message', content: list(parts, () => ({ type: 'output_text', text: 'x' })) }]),
    summaries: (parts) =>
      response([{ type: 'reasoning', encrypted_content: 'x', summary: list(parts, () => ({ text: 'hm' })) }]),
  },
  errors: chat.errors,
};

const candidate = (parts: readonly object[], rest: object = {}) => ({
  candidates: [{ index: 0, content: { parts }, ...rest }],
});
const FINISHED = candidate([], { finishReason: 'STOP' });

const gemini: WorstService = {
  upstream: 'gemini-3-pro',
  events: {
    texts: (parts) => [...list(parts, () => candidate([{ text: 'x' }])), FINISHED],
    'parts in one event': (parts) => [candidate(list(parts, () => ({ text: 'x' }))), FINISHED],
    calls: (parts) => [
      ...list(Math.min(parts, CALLS), () => candidate([{ functionCall: { name: 'f', args: {} } }])),
      FINISHED,
    ],
    signatures: (parts) => [...list(parts, () => candidate([{ text: 'x', thoughtSignature: 's' }])), FINISHED],
    counts: (parts) => list(parts, () => ({ ...candidate([{ text: 'x' }]), usageMetadata: { promptTokenCount: 1 } })),
  },
  replies: {
    responses: (parts) => list(parts, () => candidate([{ text: 'x' }])),
    parts: (parts) =>
      candidate(
        list(parts, () => ({ text: 'x' })),
        { finishReason: 'STOP' },
      ),
    candidates: (parts) => ({ candidates: list(parts, (at) => ({ index: at, content: { parts: [{ text: 'x' }] } })) }),
    probabilities: (parts) =>
      candidate([{ text: 'x' }], {
        logprobsResult: {
          chosenCandidates: list(parts, () => ({ token: 'x' })),
          topCandidates: list(parts, () => ({ candidates: [{ token: 'x' }] })),
        },
      }),
    vectors: (parts) => ({ embeddings: list(parts, () => ({ values: [1] })) }),
  },
  errors: {
    ...errorsIn((words) => ({ error: { message: words, status: 'INVALID_ARGUMENT' } })),
    details: (parts) => ({
      error: { message: 'no', details: list(parts, () => ({ retryDelay: '1s', violations: [{ quotaId: 'x' }] })) },
    }),
    violations: (parts) => ({
      error: { message: 'no', details: [{ violations: list(parts, () => ({ quotaId: 'x' })) }] },
    }),
  },
};

/** This adapter reads no bytes of a service, so the shapes of requests are enough. */
const simulated: WorstService = { upstream: 'some-model', events: {}, replies: {}, errors: {} };

const OF_ADAPTERS: Readonly<Record<string, WorstService>> = { openai, simulated };
const OF_DIALECTS: Readonly<Record<string, WorstService>> = { openai: chat, anthropic, gemini };

/** What the service of an adapter may send: the entry of the adapter itself, or else of the dialect that it speaks. */
export const worstOf = (name: string, dialect = ''): WorstService | undefined =>
  OF_ADAPTERS[name] ?? OF_DIALECTS[dialect];
