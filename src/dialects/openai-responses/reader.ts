import { FIELD_NAMES } from '../../contract/field-names.ts';
import { extrasOf, unnamedMembers } from '../../core/api/extras.ts';
import { routingOf, sentFallbacks } from '../../core/api/routing-fields.ts';
import type { Members } from '../../core/json/original.ts';
import { askedTier } from '../../core/money/service-tier.ts';
import type { AnswerFormat, ModelSettings } from '../../core/request/conversation.ts';
import {
  type FieldNames,
  type ModelRequest,
  modelRequest,
  type RequestReader,
} from '../../core/request/model-request.ts';
import { runIn } from '../session.ts';
import { unpricedIn } from './billing.ts';
import { conversationOf } from './conversation.ts';
import { KNOWN_FIELDS, type ResponsesRequest } from './request.ts';

/** The name of OpenAI's Responses dialect in `original.dialect`. */
export const OPENAI_RESPONSES = 'openai-responses';

/**
 * Converts a Responses request to the neutral form.
 * @param body checked, without nulls
 */
export function readResponsesRequest(body: ResponsesRequest, headers: Headers): ModelRequest {
  const run = runIn(headers, body.metadata?.session_id, body.prompt_cache_key);
  return modelRequest(body, READER, { passed: {}, run });
}

const NAMES: FieldNames = {
  ...FIELD_NAMES,
  turns: 'input',
  outputTokensMax: 'max_output_tokens',
  logprobs: 'include',
  answerFormat: 'text.format',
  reasoningEffort: 'reasoning.effort',
};

const READER: RequestReader<ResponsesRequest> = {
  dialect: OPENAI_RESPONSES,
  operation: 'chat',
  names: () => NAMES,
  model: ({ model }) => model,
  isStream: ({ stream }) => stream === true,
  conversation: conversationOf,
  settings: settingsOf,
  routing: (body) => ({
    ...routingOf(body, body.metadata, sentFallbacks(body)),
    unpriced: unpricedIn(body),
    unnamed: unnamedIn(body),
  }),
  extras: otherFields,
  answerFormat: (format) => ({ type: 'json_schema', ...format }),
};

const LOGPROBS = 'message.output_text.logprobs';

function settingsOf(body: ResponsesRequest): ModelSettings {
  const { top_logprobs: top, include } = body;
  const logprobs = include?.includes(LOGPROBS) || (top ?? 0) > 0;
  return {
    outputTokensMax: body.max_output_tokens,
    temperature: body.temperature,
    topP: body.top_p,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
    logprobs: logprobs || undefined,
    topLogprobs: logprobs ? top : undefined,
    answerFormat: formatOf(body.text?.format),
    reasoningEffort: body.reasoning?.effort,
    parallelToolCalls: body.parallel_tool_calls,
    user: body.user,
    serviceTier: askedTier(body.service_tier),
  };
}

const AT = ['text', 'format'] as const;

function formatOf(format: NonNullable<ResponsesRequest['text']>['format']): AnswerFormat | undefined {
  if (format === undefined) return undefined;
  if (format.type !== 'json_schema') {
    return { type: format.type === 'text' ? 'text' : 'json', at: AT, valueAt: AT };
  }
  const { name, description, schema, strict } = format;
  return {
    type: 'json-schema',
    name,
    ...(description != null && { description }),
    schema,
    ...(strict != null && { strict }),
    at: AT,
    valueAt: AT,
  };
}

const OF_TEXT: ReadonlySet<string> = new Set(['format', 'verbosity']);
const OF_REASONING: ReadonlySet<string> = new Set(['effort', 'summary']);

function unnamedIn({ text, reasoning }: ResponsesRequest): readonly string[] | undefined {
  if (text === undefined && reasoning === undefined) return undefined;
  return [...unnamedMembers('text', text, OF_TEXT), ...unnamedMembers('reasoning', reasoning, OF_REASONING)];
}

/** Fields that other dialects have too. The gateway sends fields that other dialects also have to all providers that accept them. */
const SHARED: readonly string[] = ['prompt_cache_key', 'safety_identifier'];
const OWN: readonly string[] = KNOWN_FIELDS.filter((name) => !SHARED.includes(name));

function otherFields(body: ResponsesRequest): Members {
  const { text, truncation } = body;
  const fields: Record<string, unknown> = {};
  if (text?.verbosity !== undefined) fields.verbosity = text.verbosity;
  // If no provider shortens the conversation, `platform.dropped` lists the field `truncation`, so that the caller notices it.
  if (truncation !== undefined && truncation !== 'disabled') fields.truncation = truncation;
  return extrasOf(body, OWN, fields);
}
