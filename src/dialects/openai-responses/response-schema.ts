import { Type } from '@sinclair/typebox';
import { Platform } from '../../core/decision/platform.ts';
import { modelId } from '../../core/decision/shared-fields.ts';
import * as field from '../../core/define/fields.ts';

const id = field.text('Names the item.', 'msg_0a4x1wm3zk0_0');
const status = field.word(['in_progress', 'completed', 'incomplete'], 'Whether the item is complete.');

const OutputText = field.shape('A text.', {
  type: field.always('output_text'),
  text: field.text('The text.'),
  annotations: field.list(Type.Object({}, field.open), 'Citations, if the provider returns any.'),
  logprobs: field.list(Type.Object({}, field.open), 'Token probabilities, if requested and reported.'),
});
const Refusal = field.shape('A refusal of the model.', {
  type: field.always('refusal'),
  refusal: field.text('Its words.'),
});

const MessageItem = field.shape('A message of the model.', {
  type: field.always('message'),
  id,
  status,
  role: field.always('assistant'),
  content: field.list(Type.Union([OutputText, Refusal]), 'Its parts.'),
});
const ReasoningItem = field.shape('Reasoning. Send it back unchanged with the next request.', {
  type: field.always('reasoning'),
  id,
  summary: field.list(
    field.shape('A paragraph.', { type: field.always('summary_text'), text: field.text('The text.') }),
    'The reasoning, if the provider shows it.',
  ),
  encrypted_content: Type.Optional(field.text('State that only the model that answered can read.')),
});
const FunctionCallItem = field.shape('A call of a function.', {
  type: field.always('function_call'),
  id,
  status,
  call_id: field.text('The ID of the call. The output of the call has the same ID.', 'call_1'),
  name: field.text('The function.'),
  namespace: Type.Optional(field.text('The namespace of the function.')),
  arguments: field.text('The arguments as JSON, unless the call was cut off.'),
});
const CustomCallItem = field.shape('A call of a custom tool.', {
  type: field.always('custom_tool_call'),
  id,
  status,
  call_id: field.text('The ID of the call. The output of the call has the same ID.', 'call_1'),
  name: field.text('The tool.'),
  namespace: Type.Optional(field.text('The namespace of the tool.')),
  input: field.text('The input as plain text.'),
});
const OtherItem = field.shape('An item that only the provider knows, passed on unchanged.', {
  type: field.text('The kind of item.'),
});
const OutputItem = Type.Union([MessageItem, ReasoningItem, FunctionCallItem, CustomCallItem, OtherItem], {
  description: 'One item of the answer.',
});

export const ResponsesUsage = field.named('ResponsesUsage', 'Tokens of one answer.', {
  input_tokens: field.count('Input tokens, including cached ones.', 12),
  input_tokens_details: field.shape('Parts of the input.', {
    cached_tokens: field.count('Input tokens that were read from the provider’s cache.', 0),
    cache_write_tokens: field.count(
      'Input tokens that were written to the provider’s cache, if the provider reports them; otherwise 0.',
      2_048,
    ),
  }),
  output_tokens: field.count('Output tokens, including hidden reasoning.', 34),
  output_tokens_details: field.shape('Parts of the output.', {
    reasoning_tokens: field.count('Output tokens of hidden reasoning.', 0),
  }),
  total_tokens: field.count('The sum of input and output.', 46),
});

export const ResponseBody = field.named(
  'Response',
  'A complete answer. The members after `platform` repeat the request.',
  {
    id: field.text('Names the answer.', 'resp_0a4x1wm3zk0'),
    object: field.always('response'),
    created_at: field.unixTime('When the request was admitted.'),
    model: modelId('The model that answered.'),
    status: field.word(['in_progress', 'completed', 'incomplete', 'failed'], 'Whether the answer is complete.'),
    completed_at: field.wholeOrNull(
      'When the answer ended, as Unix time in seconds; null if the answer is incomplete.',
    ),
    error: field.orNull(
      field.shape('Why a stream failed.', {
        code: field.text('The error code, as in error bodies.'),
        message: field.text('For people.'),
      }),
      'Null for none.',
    ),
    incomplete_details: field.orNull(
      field.shape('Why the answer is incomplete.', {
        reason: field.word(['max_output_tokens', 'content_filter'], 'The reason.'),
      }),
      'Null for a complete answer.',
    ),
    usage: field.orNull(ResponsesUsage, 'Null before the end.'),
    output: field.list(OutputItem, 'The items of the answer.'),
    platform: Type.Optional(Platform),
    instructions: field.textOrNull('As requested.'),
    max_output_tokens: field.wholeOrNull('As requested.'),
    max_tool_calls: field.wholeOrNull('As requested.'),
    parallel_tool_calls: field.flag('As requested.', true),
    temperature: field.figure('As requested.', 1),
    top_p: field.figure('As requested.', 1),
    presence_penalty: field.figure('As requested.', 0),
    frequency_penalty: field.figure('As requested.', 0),
    top_logprobs: field.count('As requested.', 0),
    reasoning: field.shape('As requested.', {
      effort: field.textOrNull('As requested.'),
      summary: field.textOrNull('As requested.'),
    }),
    text: field.shape('As requested.', {
      format: field.shape('The form of the text.', { type: field.text('Such as `text`.', 'text') }),
    }),
    tool_choice: Type.Unknown({ description: 'As requested.', examples: ['auto'] }),
    tools: field.list(field.shape('A tool.', { type: field.text('The kind of tool.', 'function') }), 'As requested.'),
    truncation: field.text('As requested.', 'disabled'),
    metadata: field.shape('As requested.', {}),
    prompt_cache_key: field.textOrNull('As requested.'),
    safety_identifier: field.textOrNull('As requested.'),
    user: Type.Optional(Type.String({ description: 'As requested.' })),
    service_tier: field.text(
      'The service tier that the provider states at the end of the answer; `default` for none.',
      'default',
    ),
    previous_response_id: Type.Null({ description: 'Always null, because responses are not stored.' }),
    background: field.flag('Always false.', false),
    store: field.flag('Always false, because responses are not stored.', false),
  },
);

export const ResponseEvent = field.named(
  'ResponseEvent',
  'One event of a streamed answer. The other members depend on its type, as in OpenAI’s Responses.',
  {
    type: field.text('The kind of event.', 'response.output_text.delta'),
    sequence_number: field.count('The number of the event in its stream, from 0.', 3),
    response: Type.Optional(ResponseBody),
    output_index: Type.Optional(field.count('The index of the output item.', 0)),
    item_id: Type.Optional(field.text('The ID of the output item.')),
    item: Type.Optional(OutputItem),
    delta: Type.Optional(field.text('The next piece.')),
  },
);
