import { Type } from '@sinclair/typebox';
import { ErrorObject } from '../../core/api/error-schema.ts';
import { Platform } from '../../core/decision/platform.ts';
import { modelId, servedTier } from '../../core/decision/shared-fields.ts';
import * as field from '../../core/define/fields.ts';

export const Usage = field.named('Usage', 'Tokens of one completion.', {
  prompt_tokens: field.count('Input tokens, including cached ones.', 12),
  completion_tokens: field.count('Output tokens, including hidden reasoning.', 34),
  total_tokens: field.count('The sum of input and output tokens.', 46),
  prompt_tokens_details: Type.Optional(
    field.shape('Missing if Signalbox counted the tokens.', {
      cached_tokens: field.count('Part of `prompt_tokens` that was read from the provider’s cache.', 0),
      cache_write_tokens: Type.Optional(
        field.count('Part of `prompt_tokens` that was written to the provider’s cache; missing if none was.', 2_048),
      ),
    }),
  ),
  completion_tokens_details: Type.Optional(
    field.shape('Missing if Signalbox counted the tokens.', {
      reasoning_tokens: field.count('Part of `completion_tokens` that went into hidden reasoning.', 0),
    }),
  ),
});

const finishReason = field.word(
  ['stop', 'length', 'tool_calls', 'content_filter'],
  'Why the output ended: naturally or at a stop sequence, at the token limit, for tool calls, or because of the provider’s filter.',
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
      top_logprobs: field.list(Type.Object(TokenProbability), 'The most likely tokens at this position.'),
    }),
  ),
  'One for each token.',
);
const Logprobs = field.shape('Token probabilities, as the provider reports them.', {
  content: tokenProbabilities,
  refusal: tokenProbabilities,
});

const index = Type.Integer({ minimum: 0, description: 'Position of the choice.' });

/** A schema for state that only the model that answered can read. */
const opaque = (what: string) =>
  Type.Object({}, { additionalProperties: true, description: `${what} Send it back unchanged with the message.` });
const state = {
  reasoning_details: Type.Optional(
    field.list(
      opaque('Reasoning with its signature, or encrypted reasoning.'),
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
    arguments: field.text('The arguments as JSON text, as the model wrote it.', '{"city":"Bern"}'),
  }),
  extra_content: Type.Optional(opaque('Data that the provider needs back with the call.')),
});

const message = {
  role: field.always('assistant'),
  content: field.textOrNull('The text; null if there are only tool calls or a refusal.'),
  refusal: field.textOrNull('Why the model refuses, if it does.'),
  reasoning_content: Type.Optional(field.text('The reasoning, if the provider shows it.')),
  ...state,
  tool_calls: Type.Optional(field.list(ToolCall, 'Tools that the model calls.')),
};

const identity = {
  id: field.text('Names the completion.', 'chatcmpl-0a4x1wm3zk0'),
  created: field.unixTime('When the request was admitted.'),
  model: modelId('The model that answered; equal to `platform.routed_model`.'),
};

export const ChatCompletion = field.named('ChatCompletion', 'A whole answer.', {
  ...identity,
  object: field.always('chat.completion'),
  choices: field.list(
    Type.Object({
      index,
      message: field.shape('The message of the model.', message),
      logprobs: field.orNull(
        Logprobs,
        'Null unless the request wants token probabilities and the provider reports them.',
      ),
      finish_reason: finishReason,
    }),
    'The choices. Their number is `n`.',
  ),
  usage: Usage,
  service_tier: Type.Optional(servedTier),
  platform: Platform,
});

const ToolCallDelta = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'The index of the call within the choice.' }),
  id: Type.Optional(field.text('Only in the first delta of a call.')),
  type: Type.Optional(Type.Literal('function', { description: 'Only in the first delta of a call.' })),
  function: field.shape('What is called.', {
    name: Type.Optional(field.text('Only in the first delta of a call.')),
    arguments: field.text('The next piece of the arguments’ JSON text.'),
  }),
  extra_content: Type.Optional(opaque('Data that the provider needs back with the call.')),
});

const Delta = field.shape('The new parts. Empty in the chunk with the finish reason.', {
  role: Type.Optional(Type.Literal('assistant', { description: 'Only in the first delta of a choice.' })),
  content: Type.Optional(field.text('The next piece of text.')),
  reasoning_content: Type.Optional(field.text('The next piece of reasoning.')),
  ...state,
  refusal: Type.Optional(field.text('The next piece of a refusal.')),
  tool_calls: Type.Optional(field.list(ToolCallDelta, 'The next pieces of tool calls.')),
});

export const ChatCompletionChunk = field.named(
  'ChatCompletionChunk',
  'One event of a streamed answer. `id`, `created` and `model` are the same in the whole stream.',
  {
    ...identity,
    object: field.always('chat.completion.chunk'),
    choices: field.list(
      Type.Object({
        index,
        delta: Delta,
        logprobs: Type.Optional(Logprobs),
        finish_reason: Type.Optional(finishReason),
      }),
      'Empty in the chunk that contains `usage`. Only the last chunk of a choice has a `finish_reason`.',
    ),
    usage: Type.Optional(Usage),
    service_tier: Type.Optional(servedTier),
    platform: Type.Optional(Platform),
  },
);

export const StreamError = field.named(
  'StreamError',
  'The last event of a stream that fails after its headers were sent. No `[DONE]` follows, and the server closes the connection.',
  { error: ErrorObject, platform: Type.Optional(Platform) },
);
