import { EMBEDDING_NAMES, FIELD_NAMES } from '../../contract/field-names.ts';
import { type ChatRequest, KNOWN_FIELDS } from '../../core/api/chat-request.ts';
import { inputsOf } from '../../core/api/embedding-query.ts';
import { extrasOf } from '../../core/api/extras.ts';
import { isTextQuery, type RouteQuery, type RouteRequest } from '../../core/api/route-query.ts';
import { routingOf, sentFallbacks } from '../../core/api/routing-fields.ts';
import type { Members } from '../../core/json/original.ts';
import type { AnswerFormat, ModelSettings, RoutingTerms } from '../../core/request/conversation.ts';
import {
  type FieldNames,
  type ModelRequest,
  modelRequest,
  type RequestReader,
} from '../../core/request/model-request.ts';
import type { RunNames } from '../../core/request/run-names.ts';
import { sharedSettings } from '../openai-settings.ts';
import { runIn } from '../session.ts';
import { conversationOf } from './conversation.ts';

/** The name of OpenAI's chat completions dialect in `original.dialect`. */
export const OPENAI_CHAT = 'openai-chat';

/** A chat request, or a `/v1/route` request, which may omit its model and messages. */
type ChatBody = Omit<ChatRequest, 'model' | 'messages'> & Partial<Pick<ChatRequest, 'model' | 'messages'>>;

/**
 * Converts a chat request to the neutral form.
 * @param body checked, without nulls
 */
export const readChatRequest = (body: ChatRequest, headers = NO_HEADERS): ModelRequest =>
  modelRequest(body, CHAT, { passed: {}, run: runOf(body, headers) });

const NO_HEADERS = new Headers();

/** The field `prompt_cache_key` also names the session. The gateway passes `prompt_cache_key` on to the provider like an unknown field. */
function runOf(body: ChatBody & Members, headers: Headers): RunNames {
  const key = body.prompt_cache_key;
  return runIn(headers, body.metadata?.session_id, typeof key === 'string' ? key : null);
}

/**
 * Converts a `/v1/route` request to the neutral form. The conversation of a `/v1/route` request without messages has no turns.
 * @param body checked, without nulls
 */
export const readRouteRequest = (body: RouteRequest): ModelRequest =>
  isTextQuery(body) ? modelRequest(body, { ...ROUTE_TEXTS, operation: body.operation }) : modelRequest(body, ROUTE);

/** The field names for a caller who sends `max_completion_tokens` instead of `max_tokens`. */
const NEWER_NAMES: FieldNames = { ...FIELD_NAMES, outputTokensMax: 'max_completion_tokens' };

const CHAT: RequestReader<ChatBody> = {
  dialect: OPENAI_CHAT,
  operation: 'chat',
  names: ({ max_completion_tokens: newer }) => (newer === undefined ? FIELD_NAMES : NEWER_NAMES),
  model: ({ model }) => model ?? 'auto',
  isStream: ({ stream }) => stream === true,
  conversation: conversationOf,
  settings: settingsOf,
  routing: (body): RoutingTerms => routingOf(body, body.metadata, sentFallbacks(body)),
  extras: (body) => extrasOf(body, KNOWN_FIELDS),
  answerFormat: (format) => ({ type: 'json_schema', json_schema: format }),
};

const ROUTE: RequestReader<RouteRequest> = {
  ...CHAT,
  names: (body) => (body.messages?.length ? CHAT.names(body) : sized(CHAT.names(body))),
  routing: routeTermsOf,
};

/** The field names for a `/v1/route` request without a prompt, which states the size of the prompt instead. */
const sized = (names: FieldNames): FieldNames => ({ ...names, turns: 'estimated_input_tokens' });

/** Reads a `/v1/route` request of separate texts. */
const ROUTE_TEXTS: RequestReader<RouteQuery> = {
  ...ROUTE,
  names: ({ input }) => (input === undefined ? sized(EMBEDDING_NAMES) : EMBEDDING_NAMES),
  inputs: ({ input }) => inputsOf(input),
  dimensions: ({ dimensions }) => dimensions,
};

function settingsOf(body: ChatBody): ModelSettings {
  return {
    ...sharedSettings(body),
    outputTokensMax: body.max_completion_tokens ?? body.max_tokens,
    logprobs: body.logprobs,
    topLogprobs: body.top_logprobs,
    logitBias: body.logit_bias,
    answerFormat: formatOf(body.response_format),
    reasoningEffort: body.reasoning_effort,
    parallelToolCalls: body.parallel_tool_calls,
  };
}

const AT = ['response_format'] as const;
const SCHEMA_AT = ['response_format', 'json_schema'] as const;

function formatOf(format: ChatRequest['response_format']): AnswerFormat | undefined {
  if (format === undefined) return undefined;
  if (format.type !== 'json_schema') {
    return { type: format.type === 'text' ? 'text' : 'json', at: AT, valueAt: AT };
  }
  const { name, description, schema, strict } = format.json_schema;
  return { type: 'json-schema', name, description, schema, strict, at: AT, valueAt: SCHEMA_AT };
}

function routeTermsOf(body: RouteRequest): RoutingTerms {
  const { task_type: task, estimated_input_tokens: inputTokens, estimated_output_tokens: outputTokens } = body;
  return { ...routingOf(body, body.metadata, sentFallbacks(body)), task, inputTokens, outputTokens };
}
