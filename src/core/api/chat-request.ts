import { type Static, Type } from '@sinclair/typebox';
import { openShape, tagged, word } from '../define/fields.ts';
import { STOP_CHARS_MAX } from '../request/stop-search.ts';
import { nullable, nullableMembers, textMembers } from '../schema/nullable.ts';
import { ROUTING_FIELDS } from './routing-fields.ts';

/**
 * The chat completion request: OpenAI's, with Signalbox's additions. This one schema is the runtime check, the static type and the
 * documentation. The schema keeps fields that it does not name; the provider's `passthrough` list decides whether they go upstream. Every
 * optional field of a request may be null, and null is dropped before any code reads the request. Only the `content` of a message keeps its
 * null, because some servers require it even in an answer that only calls tools.
 */
const StopText = Type.String({ maxLength: STOP_CHARS_MAX });
const TextPart = tagged('text', { text: Type.String() });
const ImagePart = tagged('image_url', {
  image_url: openShape({
    url: Type.String({ description: 'An https URL or a `data:` URL' }),
    detail: nullable(Type.String()),
  }),
});
const AudioPart = tagged('input_audio', {
  input_audio: openShape({ data: Type.String({ description: 'base64' }), format: Type.String() }),
});
const FilePart = tagged('file', {
  file: openShape({
    file_data: nullable(Type.String()),
    file_id: nullable(Type.String()),
    filename: nullable(Type.String()),
  }),
});
const RefusalPart = tagged('refusal', { refusal: Type.String() });
export const MessagePart = Type.Union([TextPart, ImagePart, AudioPart, FilePart, RefusalPart]);
export type MessagePart = Static<typeof MessagePart>;

export const ToolCall = openShape({
  id: Type.String(),
  type: Type.Literal('function'),
  function: openShape({ name: Type.String(), arguments: Type.String() }),
});

export type ToolCall = Static<typeof ToolCall>;

export const ChatMessage = openShape({
  role: word(['system', 'developer', 'user', 'assistant', 'tool', 'function'], 'Who wrote the message.'),
  content: Type.Optional(
    Type.Union([Type.String(), Type.Array(MessagePart, { minItems: 1 }), Type.Null()], {
      description: 'Required, except in an `assistant` message with `tool_calls`.',
    }),
  ),
  name: nullable(Type.String()),
  refusal: nullable(Type.String()),
  tool_calls: nullable(Type.Array(ToolCall)),
  tool_call_id: nullable(
    Type.String({ description: 'The ID of the call that a `tool` message answers. Required in `tool` messages.' }),
  ),
});
export type ChatMessage = Static<typeof ChatMessage>;

export const ChatTool = tagged('function', {
  function: openShape({
    name: Type.String({ minLength: 1, maxLength: 64 }),
    description: nullable(Type.String()),
    parameters: nullable(openShape({}, { description: 'A JSON schema.' })),
    strict: nullable(Type.Boolean()),
  }),
});
export type ChatTool = Static<typeof ChatTool>;

const NamedTool = tagged('function', { function: openShape({ name: Type.String() }) });

const ToolChoice = Type.Union(
  [
    Type.Literal('none'),
    Type.Literal('auto'),
    Type.Literal('required'),
    NamedTool,
    tagged('allowed_tools', {
      allowed_tools: openShape({
        mode: Type.Union([Type.Literal('auto'), Type.Literal('required')]),
        tools: Type.Array(NamedTool, { minItems: 1, description: 'The tools in `tools` that the model may call.' }),
      }),
    }),
  ],
  {
    description:
      '`none`, `auto`, `required`, a function that the model must call, or a list of functions that it may call.',
  },
);

const ResponseFormat = Type.Union([
  tagged('text', {}),
  tagged('json_object', {}),
  tagged('json_schema', {
    json_schema: openShape({
      name: Type.String(),
      description: nullable(Type.String()),
      schema: nullable(openShape({})),
      strict: nullable(Type.Boolean()),
    }),
  }),
]);

const penalty = { minimum: -2, maximum: 2 } as const;
const tokenCount = (description: string) => nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000, description }));

export const ChatRequest = openShape(
  {
    model: Type.String({ minLength: 1, maxLength: 256, description: 'A model ID or a selector such as `auto`.' }),
    messages: Type.Array(ChatMessage, { minItems: 1 }),
    stream: nullable(Type.Boolean({ default: false })),
    stream_options: nullable(openShape({ include_usage: nullable(Type.Boolean()) })),
    max_tokens: tokenCount('Most output tokens.'),
    max_completion_tokens: tokenCount('The maximum number of output tokens. This is the newer name of `max_tokens`.'),
    temperature: nullable(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: nullable(Type.Number({ minimum: 0, maximum: 1 })),
    frequency_penalty: nullable(Type.Number(penalty)),
    presence_penalty: nullable(Type.Number(penalty)),
    n: nullable(Type.Integer({ minimum: 1, maximum: 128 })),
    stop: nullable(Type.Union([StopText, Type.Array(StopText, { maxItems: 4 })])),
    seed: nullable(Type.Integer()),
    logprobs: nullable(Type.Boolean()),
    top_logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 })),
    logit_bias: nullable(nullableMembers(Type.Number())),
    tools: nullable(Type.Array(ChatTool)),
    tool_choice: nullable(ToolChoice),
    parallel_tool_calls: nullable(Type.Boolean()),
    response_format: nullable(ResponseFormat),
    reasoning_effort: nullable(
      Type.String({ description: 'How much the model reasons before it answers, such as `low`, `medium` or `high`.' }),
    ),
    service_tier: nullable(
      Type.String({
        description: 'The service tier, such as `flex` or `priority`, for models with a price of this tier.',
      }),
    ),
    user: nullable(Type.String()),
    metadata: nullable(textMembers()),
    ...ROUTING_FIELDS,
  },
  { $id: 'ChatCompletionRequest' },
);
export type ChatRequest = Static<typeof ChatRequest>;

/** The fields that the gateway itself understands. Any field that is not in `KNOWN_FIELDS` is an extra. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(ChatRequest.properties);
