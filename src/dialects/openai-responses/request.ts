import { type Static, Type } from '@sinclair/typebox';
import { ROUTING_FIELDS } from '../../core/api/routing-fields.ts';
import { openShape, optionalOrNull, otherThan, tagged, word } from '../../core/define/fields.ts';
import { USES_MAX } from '../../core/money/add-ons.ts';
import { nullable, textMembers } from '../../core/schema/nullable.ts';

/**
 * The request of OpenAI's Responses, with Signalbox's additions. The schema of the request is its check, its static type and its
 * documentation. The schema keeps unknown fields, items, parts and tools unchanged. Members of items that may be null stay null, because an
 * item must return unchanged to the model that wrote it.
 */

/** Returns the types of objects that have a schema of their own. */
const typesOf = (known: readonly { readonly properties: { readonly type: { readonly const: string } } }[]) =>
  known.map((one) => one.properties.type.const);

const text = { text: Type.String() };
const InputText = tagged('input_text', text);
const OutputText = tagged('output_text', text);
/** The type of text parts in the older chat dialect, which some clients also send in Responses requests. */
const PlainText = tagged('text', text);
const Refusal = tagged('refusal', { refusal: Type.String() });
const InputImage = tagged('input_image', {
  image_url: optionalOrNull(Type.String({ description: 'https address or data: URL' })),
  file_id: optionalOrNull(Type.String()),
  detail: optionalOrNull(Type.String()),
});
const InputFile = tagged('input_file', {
  file_data: optionalOrNull(Type.String({ description: 'data: URL' })),
  file_id: optionalOrNull(Type.String()),
  file_url: optionalOrNull(Type.String()),
  filename: optionalOrNull(Type.String()),
});
const PARTS = [InputText, OutputText, PlainText, Refusal, InputImage, InputFile] as const;
const InputPart = Type.Union([...PARTS, otherThan(typesOf(PARTS))]);
export type InputPart = Static<typeof InputPart>;

const Content = Type.Union([Type.String(), Type.Array(InputPart)]);

const Message = openShape({
  type: Type.Optional(Type.Literal('message')),
  role: word(['user', 'assistant', 'system', 'developer'], 'Who speaks.'),
  content: Content,
});
const callId = Type.String({
  minLength: 1,
  description: 'The ID of the call. The output of the call has the same ID.',
});
const call = { call_id: callId, name: Type.String(), namespace: optionalOrNull(Type.String()) };
const FunctionCall = tagged('function_call', { ...call, arguments: Type.String() });
const CustomCall = tagged('custom_tool_call', { ...call, input: Type.String() });
const FunctionOutput = tagged('function_call_output', { call_id: callId, output: Content });
const CustomOutput = tagged('custom_tool_call_output', { call_id: callId, output: Content });
const ReasoningTexts = Type.Array(openShape({ text: Type.Optional(Type.String()) }));
const Reasoning = tagged('reasoning', {
  id: optionalOrNull(Type.String()),
  summary: optionalOrNull(ReasoningTexts),
  content: optionalOrNull(ReasoningTexts),
  encrypted_content: optionalOrNull(Type.String()),
});
const ITEMS = [FunctionCall, CustomCall, FunctionOutput, CustomOutput, Reasoning] as const;
const InputItem = Type.Union([Message, ...ITEMS, otherThan(['message', ...typesOf(ITEMS)])]);
export type InputItem = Static<typeof InputItem>;
export type MessageItem = Static<typeof Message>;

const toolName = Type.String({ minLength: 1, maxLength: 128 });
const FunctionTool = tagged('function', {
  name: toolName,
  description: optionalOrNull(Type.String()),
  parameters: optionalOrNull(openShape({}, { description: 'A JSON schema.' })),
  strict: optionalOrNull(Type.Boolean()),
});
const CustomTool = tagged('custom', {
  name: toolName,
  description: optionalOrNull(Type.String()),
  format: optionalOrNull(openShape({ type: Type.String() })),
});
const NamespaceTool = tagged('namespace', {
  name: toolName,
  tools: Type.Array(Type.Union([FunctionTool, CustomTool, otherThan(typesOf([FunctionTool, CustomTool]))])),
});
const TOOLS = [FunctionTool, CustomTool, NamespaceTool] as const;
const ResponsesTool = Type.Union([...TOOLS, otherThan(typesOf(TOOLS))]);
export type ResponsesTool = Static<typeof ResponsesTool>;
export type FunctionTool = Static<typeof FunctionTool>;
export type CustomTool = Static<typeof CustomTool>;

const AllowedTools = tagged('allowed_tools', {
  mode: optionalOrNull(word(['auto', 'required', 'none'], '`auto` (default) or `required`.')),
  tools: Type.Array(openShape({ type: Type.String() }), {
    minItems: 1,
    description: 'The tools of `tools` that may be called: `{"type": "function", "name": …}`.',
  }),
});
export type AllowedTools = Static<typeof AllowedTools>;

const ToolChoice = Type.Union(
  [
    Type.Literal('none'),
    Type.Literal('auto'),
    Type.Literal('required'),
    AllowedTools,
    openShape(
      { type: Type.String({ pattern: '^(?!allowed_tools$)' }) },
      { description: 'A choice such as the one function to call.' },
    ),
  ],
  { description: '`none`, `auto`, `required`, the tool to call, or the tools that may be called.' },
);
type ToolChoice = Static<typeof ToolChoice>;

export const isAllowedTools = (choice: ToolChoice | undefined): choice is AllowedTools =>
  typeof choice === 'object' && choice.type === 'allowed_tools';

const TextFormat = Type.Union([
  tagged('text', {}),
  tagged('json_object', {}),
  tagged('json_schema', {
    name: Type.String(),
    description: optionalOrNull(Type.String()),
    schema: openShape({}),
    strict: optionalOrNull(Type.Boolean()),
  }),
]);

const penalty = { minimum: -2, maximum: 2 } as const;
/**
 * A field whose only accepted values have no effect. `check.ts` rejects values that would have an effect, with an error that names the
 * field.
 */
const inert = (description: string) => Type.Optional(Type.Unknown({ description }));

export const ResponsesRequest = openShape(
  {
    model: Type.String({ minLength: 1, maxLength: 256, description: 'A model ID or a selector such as `auto`.' }),
    input: Type.Union([Type.String(), Type.Array(InputItem, { minItems: 1 })], {
      description: 'The whole conversation: a text of the user, or items.',
    }),
    instructions: nullable(Type.String({ description: 'Instructions that come before the conversation.' })),
    stream: nullable(Type.Boolean({ default: false })),
    stream_options: nullable(
      openShape({ include_obfuscation: nullable(Type.Boolean()), include_usage: nullable(Type.Boolean()) }),
    ),
    max_output_tokens: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'The maximum number of output tokens, including reasoning.',
      }),
    ),
    temperature: nullable(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: nullable(Type.Number({ minimum: 0, maximum: 1 })),
    presence_penalty: nullable(Type.Number(penalty)),
    frequency_penalty: nullable(Type.Number(penalty)),
    top_logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 })),
    tools: nullable(Type.Array(ResponsesTool)),
    tool_choice: nullable(ToolChoice),
    parallel_tool_calls: nullable(Type.Boolean()),
    max_tool_calls: nullable(
      Type.Integer({
        minimum: 0,
        maximum: USES_MAX,
        description: 'The maximum number of calls of tools that the provider runs.',
      }),
    ),
    text: nullable(
      openShape({ format: nullable(TextFormat), verbosity: nullable(Type.String({ description: 'Such as `low`.' })) }),
    ),
    reasoning: nullable(
      openShape({
        effort: nullable(Type.String({ description: 'Such as `low`, `medium`, `high`.' })),
        summary: nullable(Type.String()),
      }),
    ),
    include: nullable(Type.Array(Type.String())),
    truncation: nullable(Type.String({ description: '`disabled`, or `auto` if the provider supports it.' })),
    store: nullable(
      Type.Boolean({ description: 'Signalbox stores no responses, and answers always contain `false`.' }),
    ),
    service_tier: nullable(
      Type.String({
        description: 'The service tier, such as `flex` or `priority`, for models with a price of this tier.',
      }),
    ),
    prompt_cache_key: nullable(
      Type.String({ description: 'Names a session. It is passed on to providers that know the field.' }),
    ),
    safety_identifier: nullable(Type.String()),
    user: nullable(Type.String()),
    metadata: nullable(textMembers()),
    background: inert('Only `false`.'),
    previous_response_id: inert('Must be null, because responses are not stored.'),
    conversation: inert('Must be null, because conversations are not stored.'),
    prompt: inert('Must be null, because prompt templates of a provider are not supported.'),
    ...ROUTING_FIELDS,
  },
  { $id: 'ResponsesRequest' },
);
export type ResponsesRequest = Static<typeof ResponsesRequest>;

/** The fields that the schema names. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(ResponsesRequest.properties);
