import { type Static, Type } from '@sinclair/typebox';
import { nullable, nullableMembers } from '../core/nullable.ts';
import { STOP_CHARS_MAX } from '../core/stop-search.ts';
import { ROUTING_FIELDS } from './routing-fields.ts';

/**
 * The chat completion request: OpenAI's, with Signalbox's additions. This one schema is the
 * runtime check, the static type and the documentation. Fields it does not know are kept;
 * whether they reach an upstream is the provider's `passthrough` list to say. Every optional
 * field is nullable, and null is dropped before anything reads the request, but for the
 * `content` of a message: of an answer that only calls tools, some servers want it to be there.
 */
const open = { additionalProperties: true } as const;

const StopText = Type.String({ maxLength: STOP_CHARS_MAX });
const TextPart = Type.Object({ type: Type.Literal('text'), text: Type.String() }, open);
const ImagePart = Type.Object(
  {
    type: Type.Literal('image_url'),
    image_url: Type.Object(
      { url: Type.String({ description: 'https address or data: URL' }), detail: nullable(Type.String()) },
      open,
    ),
  },
  open,
);
const AudioPart = Type.Object(
  {
    type: Type.Literal('input_audio'),
    input_audio: Type.Object({ data: Type.String({ description: 'base64' }), format: Type.String() }, open),
  },
  open,
);
const FilePart = Type.Object(
  {
    type: Type.Literal('file'),
    file: Type.Object(
      {
        file_data: nullable(Type.String()),
        file_id: nullable(Type.String()),
        filename: nullable(Type.String()),
      },
      open,
    ),
  },
  open,
);
const RefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() }, open);
export const MessagePart = Type.Union([TextPart, ImagePart, AudioPart, FilePart, RefusalPart]);
export type MessagePart = Static<typeof MessagePart>;

export const ToolCall = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('function'),
    function: Type.Object({ name: Type.String(), arguments: Type.String() }, open),
  },
  open,
);

export type ToolCall = Static<typeof ToolCall>;

export const ChatMessage = Type.Object(
  {
    role: Type.Union(
      [
        Type.Literal('system'),
        Type.Literal('developer'),
        Type.Literal('user'),
        Type.Literal('assistant'),
        Type.Literal('tool'),
        Type.Literal('function'),
      ],
      { description: 'Who speaks.' },
    ),
    content: Type.Optional(Type.Union([Type.String(), Type.Array(MessagePart, { minItems: 1 }), Type.Null()])),
    name: nullable(Type.String()),
    refusal: nullable(Type.String()),
    tool_calls: nullable(Type.Array(ToolCall)),
    tool_call_id: nullable(Type.String({ description: 'The call that a `tool` message answers.' })),
  },
  open,
);
export type ChatMessage = Static<typeof ChatMessage>;

export const ChatTool = Type.Object(
  {
    type: Type.Literal('function'),
    function: Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 64 }),
        description: nullable(Type.String()),
        parameters: nullable(Type.Object({}, { ...open, description: 'A JSON schema.' })),
        strict: nullable(Type.Boolean()),
      },
      open,
    ),
  },
  open,
);
export type ChatTool = Static<typeof ChatTool>;

const NamedTool = Type.Object(
  { type: Type.Literal('function'), function: Type.Object({ name: Type.String() }, open) },
  open,
);

const ToolChoice = Type.Union(
  [
    Type.Literal('none'),
    Type.Literal('auto'),
    Type.Literal('required'),
    NamedTool,
    Type.Object(
      {
        type: Type.Literal('allowed_tools'),
        allowed_tools: Type.Object(
          {
            mode: Type.Union([Type.Literal('auto'), Type.Literal('required')]),
            tools: Type.Array(NamedTool, { minItems: 1, description: 'Those of `tools` that may be called.' }),
          },
          open,
        ),
      },
      open,
    ),
  ],
  { description: '`none`, `auto`, `required`, the one function to call, or the functions that may be called.' },
);

const ResponseFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }, open),
  Type.Object({ type: Type.Literal('json_object') }, open),
  Type.Object(
    {
      type: Type.Literal('json_schema'),
      json_schema: Type.Object(
        {
          name: Type.String(),
          description: nullable(Type.String()),
          schema: nullable(Type.Object({}, open)),
          strict: nullable(Type.Boolean()),
        },
        open,
      ),
    },
    open,
  ),
]);

const penalty = { minimum: -2, maximum: 2 } as const;
const tokenCount = (description: string) => nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000, description }));

export const ChatRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 256, description: 'A model ID or a selector such as `auto`.' }),
    messages: Type.Array(ChatMessage, { minItems: 1 }),
    stream: nullable(Type.Boolean({ default: false })),
    stream_options: nullable(Type.Object({ include_usage: nullable(Type.Boolean()) }, open)),
    max_tokens: tokenCount('Most output tokens.'),
    max_completion_tokens: tokenCount('Most output tokens; the newer name of `max_tokens`.'),
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
    reasoning_effort: nullable(Type.String({ description: 'Such as `low`, `medium`, `high`.' })),
    user: nullable(Type.String()),
    metadata: nullable(nullableMembers(Type.String())),
    ...ROUTING_FIELDS,
  },
  { ...open, $id: 'ChatCompletionRequest' },
);
export type ChatRequest = Static<typeof ChatRequest>;

/** The fields that the gateway itself understands. Anything else is an extra. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(ChatRequest.properties);
