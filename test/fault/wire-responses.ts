import { isObject } from '../../plugins/providers/json.ts';
import type { CallForm, Dialect, Event, Tokens, ToolText } from './dialect.ts';
import { JUNK, TEXT } from './sample-texts.ts';
import { openai } from './wire-openai.ts';

/** OpenAI's Responses and their events, after the types of `openai` 7.59.0, resources/responses/responses. */
const usageOf = ({ prompt, output }: Tokens) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: prompt + output,
});
const counted = (usage: Tokens | null): Event => ({ usage: usage && usageOf(usage) });

const frame = {
  id: `resp_${JUNK}`,
  object: 'response',
  created_at: 1_760_000_000,
  completed_at: null,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: 20,
  max_tool_calls: null,
  model: JUNK,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: 'medium', summary: null },
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  background: false,
  service_tier: 'default',
  safety_identifier: null,
  prompt_cache_key: null,
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  user: null,
  metadata: {},
};

type End = 'stop' | 'length';

const response = (status: string, output: readonly object[], usage: Tokens | null): Event => ({
  ...frame,
  status,
  output,
  ...counted(usage),
  ...(status === 'incomplete' && { incomplete_details: { reason: 'max_output_tokens' } }),
  ...(status === 'completed' && { completed_at: 1_760_000_001 }),
});
const statusOf = (reason: End): string => (reason === 'stop' ? 'completed' : 'incomplete');

const ITEM = `msg_${JUNK}`;
const PLACE = { item_id: ITEM, output_index: 0, content_index: 0 };
const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const message = (status: string, content: readonly object[]) => ({
  type: 'message',
  id: ITEM,
  status,
  role: 'assistant',
  content,
});

const begun = (): readonly Event[] =>
  ['created', 'in_progress'].map((type) => ({
    type: `response.${type}`,
    response: response('in_progress', [], null),
  }));
const ended = (reason: End, output: readonly object[], usage: Tokens | null): Event => ({
  type: `response.${statusOf(reason)}`,
  response: response(statusOf(reason), output, usage),
});

/** Ends the message of a stream. */
function finish(reason: End, usage: Tokens | null, text: string = TEXT): readonly Event[] {
  const item = message(statusOf(reason), [textPart(text)]);
  return [
    { type: 'response.output_text.done', ...PLACE, text, logprobs: [] },
    { type: 'response.content_part.done', ...PLACE, part: textPart(text) },
    { type: 'response.output_item.done', output_index: 0, item },
    ended(reason, [item], usage),
  ];
}

export const responsesWire: Dialect = {
  ...openai,
  name: 'responses',
  adapter: 'openai',
  model: {
    // This model reasons and supports tools only in Responses, so requests in other dialects are translated to Responses, too.
    upstream: 'gpt-6-astra',
    capabilities: ['tools', 'json_schema', 'reasoning'],
    tool: 'look_up',
  },
  path: () => '/responses',

  nameOf: ({ type }) => (typeof type === 'string' ? type : ''),
  inStream: numbered(),
  ofOneStream: () => ({ ...responsesWire, inStream: numbered() }),
  opening: () => [
    ...begun(),
    { type: 'response.output_item.added', output_index: 0, item: message('in_progress', []) },
    { type: 'response.content_part.added', ...PLACE, part: textPart('') },
  ],
  word: (delta) => [{ type: 'response.output_text.delta', ...PLACE, delta, logprobs: [] }],
  counts: 'at its end',
  finish,
  report: (usage) => [ended('stop', [message('completed', [textPart(TEXT)])], usage)],
  // The last event is the end of the stream.
  end: '',

  reply: (text, usage, isEnded = true) =>
    JSON.stringify(response(isEnded ? 'completed' : 'in_progress', [message('completed', [textPart(text)])], usage)),
  // The dialect has only one end, so the test can only repeat a member.
  replyEndedTwice: (text, usage) =>
    JSON.stringify(response('completed', [message('completed', [textPart(text)])], usage)).replace(
      '{',
      '{"status":"incomplete",',
    ),
  counted,
  callEvents,
  callReply: (tool, form, usage) => JSON.stringify(response('completed', [callOf(tool, form, 'completed')], usage)),
  emptyEvents: (usage) => [...begun(), { type: 'response.failed', response: response('failed', [], usage) }],
  emptyReply: (usage) => JSON.stringify(response('failed', [], usage)),
  error,
  refusedKey: (message) => ({ status: 401, body: error(401, message) }),
};

/** The types and codes of OpenAI's errors by status. */
const ERRORS: Readonly<Record<number, readonly [type: string, code: string | null]>> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  404: ['invalid_request_error', 'model_not_found'],
  429: ['tokens', 'rate_limit_exceeded'],
  503: ['service_unavailable_error', 'server_is_overloaded'],
};

function error(status: number, message: string): Event {
  const [type, code] = ERRORS[status] ?? (status < 500 ? ['invalid_request_error', null] : ['server_error', null]);
  return { error: { message, type, param: null, code } };
}

/** Numbers the events of a stream, and turns an error into an event. */
function numbered(): (event: Event) => Event {
  let sequence_number = 0;
  return ({ error: failure, ...event }) => ({
    ...event,
    ...(isObject(failure) && { ...failure, type: 'error' }),
    sequence_number: sequence_number++,
  });
}

function callOf({ name, arguments: text }: ToolText, form: CallForm, status: string): object {
  const known = form === 'untidy' ? {} : { id: 'fc_1', call_id: 'call_1' };
  return { type: 'function_call', ...known, ...(form === 'nameless' ? {} : { name }), arguments: text, status };
}

/** Sends the arguments letter by letter. */
function callEvents(tool: ToolText, form: CallForm, usage: Tokens): readonly Event[] {
  const place = form === 'untidy' ? {} : { output_index: 0, item_id: 'fc_1' };
  const whole = callOf(tool, form, 'completed');
  return [
    ...begun(),
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: callOf({ ...tool, arguments: '' }, form, 'in_progress'),
    },
    ...[...tool.arguments].map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
    { type: 'response.function_call_arguments.done', ...place, arguments: tool.arguments },
    { type: 'response.output_item.done', output_index: 0, item: whole },
    ended('stop', [whole], usage),
  ];
}
