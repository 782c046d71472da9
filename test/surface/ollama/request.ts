import { type Static, Type } from '@sinclair/typebox';
import { compileRead } from '../../../src/core/validation.ts';
import type { ChatMessage, ChatRequest, ChatTool } from '../../../src/surface/openai-chat/request.ts';

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

/** Throws SignalboxError for the field at fault. */
export const readOllama = compileRead(OllamaRequest);

/** The same request in the neutral form. */
export function toChat({ model, messages, tools, format, options = {}, stream = true }: OllamaRequest): ChatRequest {
  const { num_predict: cap, temperature, top_p, seed, stop } = options;
  return {
    model,
    messages: neutralMessages(messages),
    ...(tools && tools.length > 0 && { tools: tools.map(neutralTool) }),
    ...(format !== undefined && { response_format: responseFormat(format) }),
    // -1 and -2 mean no cap.
    ...(cap !== undefined && cap > 0 && { max_tokens: cap }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(seed !== undefined && { seed }),
    ...(stop && stop.length > 0 && { stop }),
    stream,
  };
}

const neutralTool = ({
  function: { name, description, parameters },
}: NonNullable<OllamaRequest['tools']>[number]): ChatTool => ({
  type: 'function',
  function: { name, ...(description && { description }), ...(parameters && { parameters }) },
});

function responseFormat(format: NonNullable<OllamaRequest['format']>): ChatRequest['response_format'] {
  if (format === 'json') return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format } };
}

/** Calls have no IDs in this dialect: results answer the calls before them by name, in their order. */
function neutralMessages(messages: readonly Message[]): ChatMessage[] {
  let open: { readonly id: string; readonly name: string }[] = [];
  return messages.map((message, at): ChatMessage => {
    const { role, content = '', images = [], tool_calls: calls = [], tool_name: tool } = message;
    if (role === 'tool') {
      const found = open.findIndex(({ name }) => tool === undefined || name === tool);
      const [answered] = open.splice(Math.max(found, 0), 1);
      return { role, content, tool_call_id: answered?.id ?? `call_${at}` };
    }
    if (calls.length > 0) {
      open = calls.map(({ function: { name } }, index) => ({ id: `call_${at}_${index}`, name }));
      const made = calls.map(({ function: { name, arguments: args } }, index) => ({
        id: open[index]!.id,
        type: 'function' as const,
        function: { name, arguments: JSON.stringify(args) },
      }));
      return { role, content: content === '' ? null : content, tool_calls: made };
    }
    if (images.length === 0) return { role, content };
    const pictures = images.map((data) => ({ type: 'image_url' as const, image_url: { url: imageUrl(data) } }));
    return { role, content: [...(content === '' ? [] : [{ type: 'text' as const, text: content }]), ...pictures] };
  });
}

/** The first characters of base64 tell the kind of an image. */
const IMAGE_KINDS: readonly (readonly [string, string])[] = [
  ['/9j/', 'jpeg'],
  ['R0lGOD', 'gif'],
  ['UklGR', 'webp'],
];

function imageUrl(data: string): string {
  const kind = IMAGE_KINDS.find(([start]) => data.startsWith(start))?.[1] ?? 'png';
  return `data:image/${kind};base64,${data}`;
}
