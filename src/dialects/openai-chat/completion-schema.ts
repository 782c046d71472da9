import { Type } from '@sinclair/typebox';
import { ErrorObject } from '../../core/api/error-schema.ts';
import * as field from '../../core/api/parts.ts';
import { Platform } from '../../core/api/platform.ts';

export const Usage = field.named('Usage', 'Tokens of one completion.', {
  prompt_tokens: field.tokens('Input tokens, cached ones included.', 12),
  completion_tokens: field.tokens('Output tokens, hidden reasoning included.', 34),
  total_tokens: field.tokens('The sum of the two.', 46),
  prompt_tokens_details: Type.Optional(
    field.shape('Absent when the tokens were counted here.', {
      cached_tokens: field.tokens('Part of `prompt_tokens` that was read from the provider’s cache.', 0),
      cache_write_tokens: Type.Optional(
        field.tokens('Part of `prompt_tokens` that was written to the provider’s cache; absent for none.', 2_048),
      ),
    }),
  ),
  completion_tokens_details: Type.Optional(
    field.shape('Absent when the tokens were counted here.', {
      reasoning_tokens: field.tokens('Part of `completion_tokens` that went into hidden reasoning.', 0),
    }),
  ),
});

const finishReason = field.word(
  ['stop', 'length', 'tool_calls', 'content_filter'],
  'Why the output ended: at its natural end, at its token limit, for tool calls, or by the provider’s filter.',
);

const TokenProbability = {
  token: field.text('The token as text.'),
  logprob: Type.Number({ description: 'Natural logarithm of the probability.' }),
  bytes: field.orNull(Type.Array(Type.Integer()), 'UTF-8 bytes of the token.'),
};
const tokenProbabilities = field.orNull(
  Type.Array(
    Type.Object({
      ...TokenProbability,
      top_logprobs: field.arrayOf(Type.Object(TokenProbability), 'The likeliest tokens at this place.'),
    }),
  ),
  'One for each token.',
);
const Logprobs = field.shape('Token probabilities, as the provider reports them.', {
  content: tokenProbabilities,
  refusal: tokenProbabilities,
});

const index = Type.Integer({ minimum: 0, description: 'Position of the choice.' });

/** State that only the model that answered can read. */
const opaque = (what: string) =>
  Type.Object({}, { additionalProperties: true, description: `${what} Send it back unchanged with the message.` });
const state = {
  reasoning_details: Type.Optional(
    field.arrayOf(
      opaque('Reasoning with its signature, or encrypted.'),
      'Reasoning data that the provider needs in the next request. Send it back unchanged with the message.',
    ),
  ),
  extra_content: Type.Optional(opaque('Data that the provider needs in the next request.')),
};

const ToolCall = Type.Object({
  id: field.text('The ID of the call. Send it as `tool_call_id` with the result.', 'call_a1'),
  type: field.always('function'),
  function: field.shape('The function to call.', {
    name: field.text('The tool.', 'weather'),
    arguments: field.text('JSON text, as the model wrote it.', '{"city":"Bern"}'),
  }),
  extra_content: Type.Optional(opaque('What a provider wants back with the call.')),
});

const message = {
  role: field.always('assistant'),
  content: field.textOrNull('The text; null with tool calls or a refusal alone.'),
  refusal: field.textOrNull('Why the model refuses, if it does.'),
  reasoning_content: Type.Optional(field.text('Reasoning, where the provider shows it.')),
  ...state,
  tool_calls: Type.Optional(field.arrayOf(ToolCall, 'Tools that the model calls.')),
};

const identity = {
  id: field.text('Names the completion.', 'chatcmpl-0a4x1wm3zk0'),
  created: field.unixTime('When the request was admitted.'),
  model: field.modelId('The model that answered; equals `platform.routed_model`.'),
};

export const ChatCompletion = field.named('ChatCompletion', 'A whole answer.', {
  ...identity,
  object: field.always('chat.completion'),
  choices: field.arrayOf(
    Type.Object({
      index,
      message: field.shape('The message of the model.', message),
      logprobs: field.orNull(Logprobs, 'Null unless requested and reported.'),
      finish_reason: finishReason,
    }),
    'As many as `n` asks for.',
  ),
  usage: Usage,
  platform: Platform,
});

const ToolCallDelta = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'Which call of the choice.' }),
  id: Type.Optional(field.text('In the first delta of a call only.')),
  type: Type.Optional(Type.Literal('function', { description: 'In the first delta of a call only.' })),
  function: field.shape('What is called.', {
    name: Type.Optional(field.text('In the first delta of a call only.')),
    arguments: field.text('The next piece of the arguments’ JSON text.'),
  }),
  extra_content: Type.Optional(opaque('What a provider wants back with the call.')),
});

const Delta = field.shape('The new parts. Empty in the chunk with the finish reason.', {
  role: Type.Optional(Type.Literal('assistant', { description: 'In the first delta of a choice only.' })),
  content: Type.Optional(field.text('The next piece of text.')),
  reasoning_content: Type.Optional(field.text('The next piece of reasoning.')),
  ...state,
  refusal: Type.Optional(field.text('The next piece of a refusal.')),
  tool_calls: Type.Optional(field.arrayOf(ToolCallDelta, 'The next pieces of tool calls.')),
});

export const ChatCompletionChunk = field.named(
  'ChatCompletionChunk',
  'One event of a streamed answer. `id`, `created` and `model` are the same in all of a stream.',
  {
    ...identity,
    object: field.always('chat.completion.chunk'),
    choices: field.arrayOf(
      Type.Object({
        index,
        delta: Delta,
        logprobs: Type.Optional(Logprobs),
        finish_reason: Type.Optional(finishReason),
      }),
      'Empty in the chunk that carries `usage`. `finish_reason` is in the last chunk of a choice only.',
    ),
    usage: Type.Optional(Usage),
    platform: Type.Optional(Platform),
  },
);

export const StreamError = field.named(
  'StreamError',
  'The last event of a stream that failed after its headers were out. No `[DONE]` follows, and the connection breaks.',
  { error: ErrorObject, platform: Type.Optional(Platform) },
);
