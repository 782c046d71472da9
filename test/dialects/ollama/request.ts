import { type Static, Type } from '@sinclair/typebox';
import type { OriginalPath } from '../../../src/core/json/original.ts';
import type {
  AnswerFormat,
  ContentPart,
  Conversation,
  ModelSettings,
  Turn,
} from '../../../src/core/request/conversation.ts';
import {
  type FieldNames,
  type ModelRequest,
  modelRequest,
  type RequestReader,
} from '../../../src/core/request/model-request.ts';
import { compileRead } from '../../../src/core/schema/validation.ts';

const open = { additionalProperties: true } as const;

const ToolCall = Type.Object(
  { function: Type.Object({ name: Type.String(), arguments: Type.Object({}, open) }, open) },
  open,
);

const Message = Type.Object(
  {
    role: Type.Union([Type.Literal('system'), Type.Literal('user'), Type.Literal('assistant'), Type.Literal('tool')]),
    content: Type.Optional(Type.String()),
    images: Type.Optional(Type.Array(Type.String({ description: 'base64' }))),
    tool_calls: Type.Optional(Type.Array(ToolCall)),
    tool_name: Type.Optional(Type.String({ description: 'The tool that a `tool` message answers for.' })),
  },
  open,
);
type Message = Static<typeof Message>;

/** The body of `POST /api/chat`. */
export const OllamaRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 256 }),
    messages: Type.Array(Message, { minItems: 1 }),
    tools: Type.Optional(
      Type.Array(
        Type.Object(
          {
            type: Type.Literal('function'),
            function: Type.Object(
              {
                name: Type.String({ minLength: 1, maxLength: 64 }),
                description: Type.Optional(Type.String()),
                parameters: Type.Optional(Type.Object({}, open)),
              },
              open,
            ),
          },
          open,
        ),
      ),
    ),
    format: Type.Optional(Type.Union([Type.Literal('json'), Type.Object({}, open)])),
    options: Type.Optional(
      Type.Object(
        {
          num_predict: Type.Optional(Type.Integer({ minimum: -2, maximum: 10_000_000 })),
          temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
          top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
          seed: Type.Optional(Type.Integer()),
          stop: Type.Optional(Type.Array(Type.String(), { maxItems: 4 })),
        },
        open,
      ),
    ),
    stream: Type.Optional(Type.Boolean({ default: true })),
  },
  open,
);
export type OllamaRequest = Static<typeof OllamaRequest>;

/** @throws SignalboxError for the field at fault */
export const checkOllama = compileRead(OllamaRequest);

/** Converts a checked body to the neutral form. */
export const readOllama = (body: OllamaRequest): ModelRequest => modelRequest(body, OLLAMA);

const NAMES: FieldNames = {
  turns: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  agentWallet: 'agent_wallet',
  budgetCredits: 'budget_limit',
  dimensions: 'dimensions',
  outputTokensMax: 'options.num_predict',
  temperature: 'options.temperature',
  topP: 'options.top_p',
  frequencyPenalty: 'options.frequency_penalty',
  presencePenalty: 'options.presence_penalty',
  choices: 'n',
  stop: 'options.stop',
  seed: 'options.seed',
  logprobs: 'logprobs',
  topLogprobs: 'top_logprobs',
  logitBias: 'logit_bias',
  answerFormat: 'format',
  reasoningEffort: 'think',
  parallelToolCalls: 'parallel_tool_calls',
  user: 'user',
  serviceTier: 'service_tier',
};

const OLLAMA: RequestReader<OllamaRequest> = {
  dialect: 'ollama-chat',
  operation: 'chat',
  names: () => NAMES,
  model: ({ model }) => model,
  isStream: ({ stream }) => stream !== false,
  conversation: conversationOf,
  settings: settingsOf,
  routing: () => ({}),
  extras: ({ model, messages, tools, format, options, stream, ...rest }) => rest,
};

function settingsOf({ options = {}, format }: OllamaRequest): ModelSettings {
  const { num_predict: cap, temperature, top_p: topP, seed, stop } = options;
  return {
    // -1 and -2 mean that there is no cap.
    ...(cap !== undefined && cap > 0 && { outputTokensMax: cap }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(seed !== undefined && { seed }),
    ...(stop && stop.length > 0 && { stop }),
    ...(format !== undefined && { answerFormat: formatOf(format) }),
  };
}

function formatOf(format: NonNullable<OllamaRequest['format']>): AnswerFormat {
  const at = ['format'];
  if (format === 'json') return { type: 'json', at, valueAt: at };
  return { type: 'json-schema', name: 'answer', schema: { ...format }, at, valueAt: at };
}

/** Calls have no IDs in this dialect. Results belong to the calls before them by name and order. */
function conversationOf({ messages, tools = [] }: OllamaRequest): Conversation {
  let unanswered: { readonly id: string; readonly name: string }[] = [];
  const turns = messages.map((message, i): Turn => {
    const at = ['messages', i];
    if (message.role === 'tool') {
      const found = unanswered.findIndex(({ name }) => name === (message.tool_name ?? name));
      const [answered] = unanswered.splice(Math.max(found, 0), 1);
      return { role: 'tool', parts: partsOf(message, at), toolCallId: answered?.id ?? `call_${i}`, extras: {}, at };
    }
    const parts = partsOf(message, at);
    const calls = parts.filter((part) => part.type === 'tool-call');
    if (calls.length > 0) unanswered = [...calls];
    return { role: message.role, parts, extras: {}, at };
  });
  return {
    turns,
    tools: tools.map(({ function: { name, description, parameters } }, i) => ({
      name,
      ...(description !== undefined && { description }),
      ...(parameters && { parameters: { ...parameters } }),
      extras: {},
      at: ['tools', i],
      valueAt: ['tools', i, 'function'],
    })),
    toolChoice: undefined,
  };
}

function partsOf({ content = '', images = [], tool_calls: calls = [] }: Message, at: OriginalPath): ContentPart[] {
  const placed = (...steps: OriginalPath) => ({ extras: {}, at: [...at, ...steps], valueAt: [...at, ...steps] });
  return [
    ...(content === '' ? [] : [{ type: 'text' as const, text: content, ...placed('content') }]),
    ...images.map((data, i) => ({ type: 'image' as const, url: imageUrl(data), ...placed('images', i) })),
    ...calls.map(({ function: { name, arguments: args } }, i) => ({
      type: 'tool-call' as const,
      id: `call_${at.at(-1)}_${i}`,
      name,
      arguments: JSON.stringify(args),
      ...placed('tool_calls', i),
    })),
  ];
}

/** The first characters of base64 data determine the image type. */
const IMAGE_KINDS: readonly (readonly [string, string])[] = [
  ['/9j/', 'jpeg'],
  ['R0lGOD', 'gif'],
  ['UklGR', 'webp'],
];

function imageUrl(data: string): string {
  const kind = IMAGE_KINDS.find(([start]) => data.startsWith(start))?.[1] ?? 'png';
  return `data:image/${kind};base64,${data}`;
}
