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

/** The field that names the dialect of a body if its form is ambiguous. */
const DIALECT = 'dialect';
const CHATS = SURFACES.filter(({ operation }) => operation === 'chat');
/** The dialects of bodies that `/v1/route` can recommend a model for. */
export const ROUTE_DIALECTS: readonly string[] = CHATS.map(({ name }) => name);

/** Members that exist in Anthropic's Messages but not in OpenAI's chat completions. */
const OF_MESSAGES = ['system', 'stop_sequences', 'thinking', 'output_config', 'context_management', 'thread'] as const;

/** Fields that only a `/v1/route` request has. */
const HINTS = ['task_type', 'estimated_input_tokens', 'estimated_output_tokens'] as const;

const NO_HEADERS = new Headers();

/**
 * Reads the body of `/v1/route`: a route query, or a whole body of any dialect, with or without a `model`.
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
    const message = `\`${hint}\` can only be sent without a body, or with a body of OpenAI’s chat completions, not with a body of ${surface.path}.`;
    throw new SignalboxError('unknown_field', message, { param: hint });
  }
  return surface.read({ ...fields, model: fields.model ?? 'auto' }, headers).request;
}

function withoutDialect({ [DIALECT]: _, ...fields }: Members): Members {
  return fields;
}

/** Returns the dialect of a body according to its form. A query without a conversation counts as OpenAI's chat completions. */
function dialectOf(body: Members): string {
  if (body.messages == null) {
    return body.input != null && body.operation == null ? openaiResponses.name : openaiChat.name;
  }
  const isMessages = OF_MESSAGES.some((name) => body[name] != null) || hasTools(body.tools) || hasBlocks(body.messages);
  return isMessages ? anthropicMessages.name : openaiChat.name;
}

/** Whether the tools have Anthropic's form. */
const hasTools = (tools: unknown): boolean =>
  Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.input_schema != null);

const BLOCKS: ReadonlySet<unknown> = new Set([
  ...['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document', 'search_result'],
]);

/** Whether a turn has a block of a type that exists only in Anthropic's Messages. */
const hasBlocks = (turns: unknown): boolean =>
  Array.isArray(turns) &&
  turns.some(
    (turn) =>
      isObject(turn) &&
      Array.isArray(turn.content) &&
      turn.content.some((block) => isObject(block) && BLOCKS.has(block.type)),
  );
