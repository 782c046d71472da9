import { refuse, SignalboxError } from '../core/errors.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { isObject } from '../core/object.ts';
import type { Members } from '../core/original.ts';
import { anthropicMessages } from './anthropic-messages/surface.ts';
import { readRoute } from './openai-chat/read-body.ts';
import { readRouteRequest } from './openai-chat/reader.ts';
import { openaiChat } from './openai-chat/surface.ts';
import { openaiResponses } from './openai-responses/surface.ts';
import { SURFACES } from './surfaces.ts';

/** Names a body's dialect where its shape would not tell. */
const DIALECT = 'dialect';
const CHATS = SURFACES.filter(({ operation }) => operation === 'chat');
/** The dialects of bodies that a model can be recommended for. */
export const ROUTE_DIALECTS: readonly string[] = CHATS.map(({ name }) => name);

/** Members that Anthropic's Messages have and OpenAI's chats have not. */
const OF_MESSAGES = ['system', 'stop_sequences', 'thinking', 'output_config', 'context_management', 'thread'] as const;

/** Fields of a route query alone. */
const HINTS = ['task_type', 'estimated_input_tokens', 'estimated_output_tokens'] as const;

const NO_HEADERS = new Headers();

/**
 * Reads what a model is to be recommended for: a route query, or a whole body of any dialect, with or without a `model`.
 * @throws SignalboxError for the field at fault
 */
export function readRouteBody(body: unknown, headers: Headers = NO_HEADERS): ModelRequest {
  if (!isObject(body)) return readRouteRequest(readRoute(body));
  const { [DIALECT]: stated } = body;
  const fields = DIALECT in body ? withoutDialect(body) : body;
  const dialect = stated ?? dialectOf(fields);
  if (dialect === openaiChat.name) return readRouteRequest(readRoute(fields));
  const surface = CHATS.find(({ name }) => name === dialect);
  if (!surface) {
    const message = `\`${DIALECT}\` must be one of ${ROUTE_DIALECTS.join(', ')}.`;
    refuse(DIALECT, message);
  }
  const hint = HINTS.find((name) => fields[name] != null);
  if (hint !== undefined) {
    const message = `\`${hint}\` stands beside a body of OpenAI’s chat completions, or without one, and not in one of ${surface.path}.`;
    throw new SignalboxError('unknown_field', message, { param: hint });
  }
  return surface.read({ ...fields, model: fields.model ?? 'auto' }, headers).request;
}

function withoutDialect({ [DIALECT]: _, ...fields }: Members): Members {
  return fields;
}

/** The dialect that a body has by its shape. A query without a conversation is of OpenAI's chat. */
function dialectOf(body: Members): string {
  if (body.messages == null) {
    return body.input != null && body.operation == null ? openaiResponses.name : openaiChat.name;
  }
  const isMessages = OF_MESSAGES.some((name) => body[name] != null) || hasTools(body.tools) || hasBlocks(body.messages);
  return isMessages ? anthropicMessages.name : openaiChat.name;
}

/** Whether tools are stated as Anthropic has them. */
const hasTools = (tools: unknown): boolean =>
  Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.input_schema != null);

const BLOCKS: ReadonlySet<unknown> = new Set([
  ...['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document', 'search_result'],
]);

/** Whether a turn has a block of a type that only Anthropic's Messages know. */
const hasBlocks = (turns: unknown): boolean =>
  Array.isArray(turns) &&
  turns.some(
    (turn) =>
      isObject(turn) &&
      Array.isArray(turn.content) &&
      turn.content.some((block) => isObject(block) && BLOCKS.has(block.type)),
  );
