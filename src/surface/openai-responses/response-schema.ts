import { Type } from '@sinclair/typebox';
import {
  always,
  arrayOf,
  count,
  figure,
  flag,
  modelId,
  named,
  open,
  orNull,
  shape,
  text,
  tokens,
  unixTime,
  word,
} from '../../api/parts.ts';
import { Platform } from '../../api/platform.ts';

const id = text('Names the item.', 'msg_0a4x1wm3zk0_0');
const status = word(['in_progress', 'completed', 'incomplete'], 'Whether the item is whole.');

const OutputText = shape('A text.', {
  type: always('output_text'),
  text: text('The text.'),
  annotations: arrayOf(Type.Object({}, open), 'Citations, where a provider gives some.'),
  logprobs: arrayOf(Type.Object({}, open), 'Token probabilities, where requested and reported.'),
});
const Refusal = shape('A refusal of the model.', { type: always('refusal'), refusal: text('Its words.') });

const MessageItem = shape('A message of the model.', {
  type: always('message'),
  id,
  status,
  role: always('assistant'),
  content: arrayOf(Type.Union([OutputText, Refusal]), 'Its parts.'),
});
const ReasoningItem = shape('Reasoning. Send it back unchanged with the next request.', {
  type: always('reasoning'),
  id,
  summary: arrayOf(
    shape('A paragraph.', { type: always('summary_text'), text: text('The text.') }),
    'The reasoning, as far as the provider shows it.',
  ),
  encrypted_content: Type.Optional(text('State that only the model which answered can read.')),
});
const FunctionCallItem = shape('A call of a function.', {
  type: always('function_call'),
  id,
  status,
  call_id: text('Names the call; its output has the same.', 'call_1'),
  name: text('The function.'),
  namespace: Type.Optional(text('The namespace of the function.')),
  arguments: text('JSON, unless the call was cut off.'),
});
const CustomCallItem = shape('A call of a custom tool.', {
  type: always('custom_tool_call'),
  id,
  status,
  call_id: text('Names the call; its output has the same.', 'call_1'),
  name: text('The tool.'),
  namespace: Type.Optional(text('The namespace of the tool.')),
  input: text('The input as plain text.'),
});
const OtherItem = shape('An item that only the provider knows, as it came.', { type: text('The kind of item.') });
const OutputItem = Type.Union([MessageItem, ReasoningItem, FunctionCallItem, CustomCallItem, OtherItem], {
  description: 'One item of the answer.',
});

export const ResponsesUsage = named('ResponsesUsage', 'Tokens of one answer.', {
  input_tokens: tokens('Input tokens, cached ones included.', 12),
  input_tokens_details: shape('Parts of the input.', {
    cached_tokens: tokens('Read from the provider’s cache.', 0),
    cache_write_tokens: Type.Optional(tokens('Written to the provider’s cache; absent for none.', 2_048)),
  }),
  output_tokens: tokens('Output tokens, hidden reasoning included.', 34),
  output_tokens_details: shape('Parts of the output.', { reasoning_tokens: tokens('Went into hidden reasoning.', 0) }),
  total_tokens: tokens('The sum of input and output.', 46),
});

export const ResponseBody = named('Response', 'A whole answer. The members after `platform` repeat the request.', {
  id: text('Names the answer.', 'resp_0a4x1wm3zk0'),
  object: always('response'),
  created_at: unixTime('When the request was admitted.'),
  model: modelId('The model that answered.'),
  status: word(['in_progress', 'completed', 'incomplete', 'failed'], 'Whether the answer is whole.'),
  completed_at: orNull(Type.Integer(), 'When it ended. Unix time in seconds; null for an answer that is not whole.'),
  error: orNull(
    shape('Why a stream failed.', { code: text('As in error bodies.'), message: text('For people.') }),
    'Null for none.',
  ),
  incomplete_details: orNull(
    shape('Why the answer is not whole.', { reason: word(['max_output_tokens', 'content_filter'], 'The reason.') }),
    'Null for a whole answer.',
  ),
  usage: orNull(ResponsesUsage, 'Null before the end.'),
  output: arrayOf(OutputItem, 'The items of the answer.'),
  platform: Type.Optional(Platform),
  instructions: orNull(Type.String(), 'As requested.'),
  max_output_tokens: orNull(Type.Integer(), 'As requested.'),
  max_tool_calls: orNull(Type.Integer(), 'As requested.'),
  parallel_tool_calls: flag('As requested.', true),
  temperature: figure('As requested.', 1),
  top_p: figure('As requested.', 1),
  presence_penalty: figure('As requested.', 0),
  frequency_penalty: figure('As requested.', 0),
  top_logprobs: count('As requested.', 0),
  reasoning: shape('As requested.', {
    effort: orNull(Type.String(), 'As requested.'),
    summary: orNull(Type.String(), 'As requested.'),
  }),
  text: shape('As requested.', { format: shape('The form of the text.', { type: text('Such as `text`.', 'text') }) }),
  tool_choice: Type.Unknown({ description: 'As requested.', examples: ['auto'] }),
  tools: arrayOf(shape('A tool.', { type: text('The kind of tool.', 'function') }), 'As requested.'),
  truncation: text('As requested.', 'disabled'),
  metadata: shape('As requested.', {}),
  prompt_cache_key: orNull(Type.String(), 'As requested.'),
  safety_identifier: orNull(Type.String(), 'As requested.'),
  user: Type.Optional(Type.String({ description: 'As requested.' })),
  service_tier: text('Always `default` where Signalbox writes the answer.', 'default'),
  previous_response_id: Type.Null({ description: 'Always null: no response is stored.' }),
  background: flag('Always false.', false),
  store: flag('Always false: no response is stored.', false),
});

export const ResponseEvent = named(
  'ResponseEvent',
  'One event of a streamed answer. Further members depend on its type, as in OpenAI’s Responses.',
  {
    type: text('The kind of event.', 'response.output_text.delta'),
    sequence_number: count('Counts the events of a stream from 0.', 3),
    response: Type.Optional(ResponseBody),
    output_index: Type.Optional(count('Which item of the output.', 0)),
    item_id: Type.Optional(text('The ID of that item.')),
    item: Type.Optional(OutputItem),
    delta: Type.Optional(text('The next piece.')),
  },
);
