import { Type } from '@sinclair/typebox';
import { ErrorObject } from '../../api/error-schema.ts';
import { always, arrayOf, modelId, named, orNull, shape, text, tokens, unixTime, word } from '../../api/parts.ts';
import { Platform } from '../../api/platform.ts';

export const Usage = named('Usage', 'Tokens of one completion.', {
  prompt_tokens: tokens('Input tokens, cached ones included.', 12),
  completion_tokens: tokens('Output tokens, hidden reasoning included.', 34),
  total_tokens: tokens('The sum of the two.', 46),
  prompt_tokens_details: Type.Optional(
    shape('Absent when the tokens were counted here.', {
      cached_tokens: tokens('Part of `prompt_tokens` that was read from the provider’s cache.', 0),
      cache_write_tokens: Type.Optional(
        tokens('Part of `prompt_tokens` that was written to the provider’s cache; absent for none.', 2_048),
      ),
    }),
  ),
  completion_tokens_details: Type.Optional(
    shape('Absent when the tokens were counted here.', {
      reasoning_tokens: tokens('Part of `completion_tokens` that went into hidden reasoning.', 0),
    }),
  ),
});

const finishReason = word(
  ['stop', 'length', 'tool_calls', 'content_filter'],
  'Why the output ended: at its natural end, at its token limit, for tool calls, or by the provider’s filter.',
);

const TokenProbability = {
  token: text('The token as text.'),
  logprob: Type.Number({ description: 'Natural logarithm of the probability.' }),
  bytes: orNull(Type.Array(Type.Integer()), 'UTF-8 bytes of the token.'),
};
const tokenProbabilities = orNull(
  Type.Array(
    Type.Object({
      ...TokenProbability,
      top_logprobs: arrayOf(Type.Object(TokenProbability), 'The likeliest tokens at this place.'),
    }),
  ),
  'One for each token.',
);
const Logprobs = shape('Token probabilities, as the provider reports them.', {
  content: tokenProbabilities,
  refusal: tokenProbabilities,
});

const index = Type.Integer({ minimum: 0, description: 'Position of the choice.' });

/** State that only the model that answered can read. */
const opaque = (what: string) =>
  Type.Object({}, { additionalProperties: true, description: `${what} Send it back unchanged with the message.` });
const state = {
  reasoning_details: Type.Optional(
    arrayOf(
      opaque('Reasoning with its signature, or encrypted.'),
      'Reasoning data that the provider needs in the next request. Send it back unchanged with the message.',
    ),
  ),
  extra_content: Type.Optional(opaque('Data that the provider needs in the next request.')),
};

const ToolCall = Type.Object({
  id: text('The ID of the call. Send it as `tool_call_id` with the result.', 'call_a1'),
  type: always('function'),
  function: shape('The function to call.', {
    name: text('The tool.', 'weather'),
    arguments: text('JSON text, as the model wrote it.', '{"city":"Bern"}'),
  }),
  extra_content: Type.Optional(opaque('What a provider wants back with the call.')),
});

const message = {
  role: always('assistant'),
  content: orNull(Type.String(), 'The text; null with tool calls or a refusal alone.'),
  refusal: orNull(Type.String(), 'Why the model refuses, if it does.'),
  reasoning_content: Type.Optional(text('Reasoning, where the provider shows it.')),
  ...state,
  tool_calls: Type.Optional(arrayOf(ToolCall, 'Tools that the model calls.')),
};

const identity = {
  id: text('Names the completion.', 'chatcmpl-0a4x1wm3zk0'),
  created: unixTime('When the request was admitted.'),
  model: modelId('The model that answered; equals `platform.routed_model`.'),
};

export const ChatCompletion = named('ChatCompletion', 'A whole answer.', {
  ...identity,
  object: always('chat.completion'),
  choices: arrayOf(
    Type.Object({
      index,
      message: shape('The message of the model.', message),
      logprobs: orNull(Logprobs, 'Null unless requested and reported.'),
      finish_reason: finishReason,
    }),
    'As many as `n` asks for.',
  ),
  usage: Usage,
  platform: Platform,
});

const ToolCallDelta = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'Which call of the choice.' }),
  id: Type.Optional(text('In the first delta of a call only.')),
  type: Type.Optional(Type.Literal('function', { description: 'In the first delta of a call only.' })),
  function: shape('What is called.', {
    name: Type.Optional(text('In the first delta of a call only.')),
    arguments: text('The next piece of the arguments’ JSON text.'),
  }),
  extra_content: Type.Optional(opaque('What a provider wants back with the call.')),
});

const Delta = shape('The new parts. Empty in the chunk with the finish reason.', {
  role: Type.Optional(Type.Literal('assistant', { description: 'In the first delta of a choice only.' })),
  content: Type.Optional(text('The next piece of text.')),
  reasoning_content: Type.Optional(text('The next piece of reasoning.')),
  ...state,
  refusal: Type.Optional(text('The next piece of a refusal.')),
  tool_calls: Type.Optional(arrayOf(ToolCallDelta, 'The next pieces of tool calls.')),
});

export const ChatCompletionChunk = named(
  'ChatCompletionChunk',
  'One event of a streamed answer. `id`, `created` and `model` are the same in all of a stream.',
  {
    ...identity,
    object: always('chat.completion.chunk'),
    choices: arrayOf(
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

export const StreamError = named(
  'StreamError',
  'The last event of a stream that failed after its headers were out. No `[DONE]` follows.',
  { error: ErrorObject, platform: Type.Optional(Platform) },
);
