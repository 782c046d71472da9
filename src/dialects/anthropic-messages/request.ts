import { type Static, Type } from '@sinclair/typebox';
import { AgentWallet, BudgetLimit, RouteConstraints, RouteStrategy } from '../../core/api/routing-fields.ts';
import { openShape, optionalOrNull, otherThan, tagged } from '../../core/define/fields.ts';
import { STOP_CHARS_MAX, STOPS_MAX } from '../../core/request/stop-search.ts';
import { textMembers } from '../../core/schema/nullable.ts';

/**
 * The request of Anthropic's Messages, with Signalbox's additions. The schema allows unknown fields and block types, which are passed on
 * unchanged to Anthropic's own models. Outside of `metadata`, the schema keeps nulls, because the body may be passed on unchanged.
 */

const CacheControl = openShape(
  { type: Type.String(), ttl: optionalOrNull(Type.String()) },
  { description: 'A breakpoint of Anthropic’s prompt cache: `{"type": "ephemeral"}`.' },
);
const cache_control = optionalOrNull(CacheControl);

/** Matches every type except the given types, because a block of a known type must have the members of that type. */
const unnamed = (types: readonly string[], description: string) =>
  otherThan(types, { maxLength: 128, description }, { description: 'A form that only Anthropic’s own models know.' });

const TextBlock = tagged('text', { text: Type.String(), cache_control });

const MediaSource = Type.Union([
  tagged('base64', { media_type: Type.String(), data: Type.String({ description: 'base64' }) }),
  tagged('url', { url: Type.String({ description: 'https address' }) }),
  tagged('file', { file_id: Type.String() }),
]);
const ImageBlock = tagged('image', { source: MediaSource, cache_control });

const DocumentSource = Type.Union([
  ...MediaSource.anyOf,
  tagged('text', { media_type: Type.String(), data: Type.String() }),
  tagged('content', { content: Type.Union([Type.String(), Type.Array(Type.Union([TextBlock, ImageBlock]))]) }),
]);
const DocumentBlock = tagged('document', {
  source: DocumentSource,
  title: optionalOrNull(Type.String()),
  context: optionalOrNull(Type.String()),
  cache_control,
});

const ThinkingBlock = tagged('thinking', { thinking: Type.String(), signature: Type.String() });
const RedactedBlock = tagged('redacted_thinking', { data: Type.String() });
const ToolUseBlock = tagged('tool_use', {
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  input: Type.Unknown({ description: 'The arguments, as an object.' }),
  cache_control,
});

const ResultBlock = Type.Union([
  TextBlock,
  ImageBlock,
  DocumentBlock,
  unnamed(['text', 'image', 'document'], 'Such as `search_result`.'),
]);
export type ResultBlock = Static<typeof ResultBlock>;
const ToolResultBlock = tagged('tool_result', {
  tool_use_id: Type.String({ minLength: 1, description: 'The ID of the call that this result answers.' }),
  content: optionalOrNull(Type.Union([Type.String(), Type.Array(ResultBlock)])),
  is_error: optionalOrNull(Type.Boolean()),
  cache_control,
});
export type ToolResultBlock = Static<typeof ToolResultBlock>;

const TAGS = ['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking'];
const MessageBlock = Type.Union([
  TextBlock,
  ToolUseBlock,
  ToolResultBlock,
  ThinkingBlock,
  RedactedBlock,
  ImageBlock,
  DocumentBlock,
  unnamed(TAGS, 'A type such as `search_result` or `server_tool_use`.'),
]);
export type MessageBlock = Static<typeof MessageBlock>;

const Message = openShape({
  role: Type.Union([Type.Literal('user'), Type.Literal('assistant'), Type.Literal('system')], {
    description: 'Who speaks.',
  }),
  content: Type.Union([Type.String(), Type.Array(MessageBlock)]),
});
export type Message = Static<typeof Message>;

const OwnTool = openShape({
  type: optionalOrNull(Type.Literal('custom')),
  name: Type.String({ minLength: 1, maxLength: 128 }),
  description: optionalOrNull(Type.String()),
  input_schema: openShape({}, { description: 'A JSON schema of the arguments.' }),
  strict: optionalOrNull(Type.Boolean()),
  cache_control,
});
export type OwnTool = Static<typeof OwnTool>;
const Tool = Type.Union([OwnTool, unnamed(['custom'], 'Such as `bash_20250124`.')]);
export type Tool = Static<typeof Tool>;

const disable_parallel_tool_use = optionalOrNull(Type.Boolean({ description: 'At most one call in an answer.' }));
const ToolChoice = Type.Union(
  [
    tagged('auto', { disable_parallel_tool_use }),
    tagged('any', { disable_parallel_tool_use }),
    tagged('tool', { name: Type.String(), disable_parallel_tool_use }),
    tagged('none', {}),
  ],
  { description: 'Whether tools are called, and which.' },
);

const Thinking = Type.Union(
  [
    tagged('enabled', { budget_tokens: Type.Integer({ minimum: 1 }) }),
    tagged('adaptive', {}),
    tagged('disabled', {}),
    unnamed(['enabled', 'adaptive', 'disabled'], 'Such as `between_tools`.'),
  ],
  { description: 'Whether the model thinks. For models of other providers it is converted to an effort.' },
);

const Thread = Type.Union(
  [tagged('create', {}), tagged('continue', { previous_message_id: Type.String({ minLength: 1, maxLength: 256 }) })],
  { description: 'A history that Anthropic keeps. It requires one of Anthropic’s models.' },
);

const AnswerForm = tagged('json_schema', { schema: openShape({}) });
const OutputConfig = openShape({
  effort: optionalOrNull(Type.String({ description: 'Such as `low`, `medium`, `high`.' })),
  format: optionalOrNull(AnswerForm),
});

export const messageFields = {
  model: Type.String({ minLength: 1, maxLength: 256, description: 'A model ID or a selector such as `auto`.' }),
  messages: Type.Array(Message, { description: 'At least one message, unless `thread` continues a history.' }),
  system: optionalOrNull(Type.Union([Type.String(), Type.Array(TextBlock)])),
  tools: optionalOrNull(Type.Array(Tool)),
  tool_choice: optionalOrNull(ToolChoice),
  thinking: optionalOrNull(Thinking),
  output_config: optionalOrNull(OutputConfig),
  output_format: optionalOrNull(AnswerForm),
  cache_control,
};

export const MessagesRequest = openShape(
  {
    ...messageFields,
    thread: optionalOrNull(Thread),
    max_tokens: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description:
        'The maximum number of output tokens. 0 makes Anthropic’s models cache the prompt without an answer; other models do not support it.',
    }),
    stream: optionalOrNull(Type.Boolean({ default: false })),
    temperature: optionalOrNull(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: optionalOrNull(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optionalOrNull(Type.Integer({ minimum: 0 })),
    stop_sequences: optionalOrNull(Type.Array(Type.String({ maxLength: STOP_CHARS_MAX }), { maxItems: STOPS_MAX })),
    metadata: optionalOrNull(
      textMembers({
        description: '`user_id` is sent to Anthropic’s models. The policy’s rules can use the other members.',
      }),
    ),
    speed: optionalOrNull(
      Type.String({ description: '`fast` for models with a price of the service tier `fast`; otherwise `standard`.' }),
    ),
    service_tier: optionalOrNull(
      Type.String({
        description: '`auto` or `standard_only`; for models of other providers also a tier such as `flex`.',
      }),
    ),
    route_strategy: optionalOrNull(RouteStrategy),
    constraints: optionalOrNull(RouteConstraints),
    budget_limit: optionalOrNull(BudgetLimit),
    agent_wallet: optionalOrNull(AgentWallet),
  },
  { $id: 'MessagesRequest' },
);
export type MessagesRequest = Static<typeof MessagesRequest>;

/** The fields with a neutral meaning. All other fields are extras, even `top_k`, because not every provider supports them. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(MessagesRequest.properties).filter(
  (name) => name !== 'top_k' && name !== 'cache_control',
);
