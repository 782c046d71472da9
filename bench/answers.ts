/**
 * The answers of the benchmark's provider in each dialect: a hundred words as one body, and fifty words as a stream. The events have the
 * same members that real providers send.
 */
export interface DialectAnswers {
  readonly body: string;
  /** The events of a stream, as they are written to the connection. */
  readonly events: readonly string[];
}

const CHUNKS = 50;
const MODEL = 'bench-model-upstream';
const WORD = 'word ';
const WHOLE = WORD.repeat(100).trim();
const STREAMED = WORD.repeat(CHUNKS);
const CREATED = 1_790_000_000;

const pieces = <T>(of: (at: number) => T): T[] => Array.from({ length: CHUNKS }, (_, at) => of(at));

function chat(): DialectAnswers {
  const id = 'chatcmpl-bench';
  const message = { role: 'assistant', content: WHOLE, refusal: null };
  const usage = { prompt_tokens: 50, completion_tokens: 100, total_tokens: 150 };
  const event = (fields: object): string =>
    `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: CREATED, model: MODEL, ...fields })}\n\n`;
  const delta = (content: object, reason: string | null = null) =>
    event({ choices: [{ index: 0, delta: content, finish_reason: reason }] });
  return {
    body: JSON.stringify({
      id,
      object: 'chat.completion',
      created: CREATED,
      model: MODEL,
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage,
    }),
    events: [
      delta({ role: 'assistant', content: '' }),
      ...pieces(() => delta({ content: WORD })),
      delta({}, 'stop'),
      event({ choices: [], usage: { prompt_tokens: 50, completion_tokens: 50, total_tokens: 100 } }),
      'data: [DONE]\n\n',
    ],
  };
}

function messages(): DialectAnswers {
  const head = { id: 'msg_01bench', type: 'message', role: 'assistant', model: MODEL };
  const input = { input_tokens: 50, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const event = (fields: { readonly type: string; readonly [member: string]: unknown }): string =>
    `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
  const open = { stop_reason: null, stop_sequence: null };
  const end = { stop_reason: 'end_turn', stop_sequence: null };
  return {
    body: JSON.stringify({
      ...head,
      content: [{ type: 'text', text: WHOLE }],
      ...end,
      usage: { ...input, output_tokens: 100 },
    }),
    events: [
      event({
        type: 'message_start',
        message: { ...head, content: [], ...open, usage: { ...input, output_tokens: 1 } },
      }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ...pieces(() => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORD } })),
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_delta', delta: end, usage: { output_tokens: 50 } }),
      event({ type: 'message_stop' }),
    ],
  };
}

/** The members of a response that repeat its request. */
const ECHO = {
  instructions: null,
  max_output_tokens: null,
  parallel_tool_calls: true,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  metadata: {},
};

function responses(): DialectAnswers {
  const place = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
  const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const item = (status: string, content: readonly object[]) => {
    return { id: place.item_id, type: 'message', status, role: 'assistant', content };
  };
  const response = (status: string, output: readonly object[], usage: object | null) => {
    const head = { id: 'resp_bench', object: 'response', created_at: CREATED, status, error: null, model: MODEL };
    return { ...head, incomplete_details: null, output, usage, ...ECHO };
  };
  const used = (output: number) => ({
    input_tokens: 50,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 50 + output,
  });
  const events: string[] = [];
  const add = (type: string, members: object): void => {
    const event = { type: `response.${type}`, sequence_number: events.length, ...members };
    events.push(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const done = item('completed', [part(STREAMED)]);
  add('created', { response: response('in_progress', [], null) });
  add('in_progress', { response: response('in_progress', [], null) });
  add('output_item.added', { output_index: 0, item: item('in_progress', []) });
  add('content_part.added', { ...place, part: part('') });
  for (const obfuscation of pieces((at) => 'x8Kd3mQz01aPw'.slice(at % 4))) {
    add('output_text.delta', { ...place, delta: WORD, logprobs: [], obfuscation });
  }
  add('output_text.done', { ...place, text: STREAMED, logprobs: [] });
  add('content_part.done', { ...place, part: part(STREAMED) });
  add('output_item.done', { output_index: 0, item: done });
  add('completed', { response: response('completed', [done], used(CHUNKS)) });
  return { body: JSON.stringify(response('completed', [item('completed', [part(WHOLE)])], used(100))), events };
}

/** The answers by the end of the path at which a provider is called. */
export const ANSWERS: Readonly<Record<'/chat/completions' | '/messages' | '/responses', DialectAnswers>> = {
  '/chat/completions': chat(),
  '/messages': messages(),
  '/responses': responses(),
};
