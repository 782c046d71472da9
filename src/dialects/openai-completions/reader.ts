import { FIELD_NAMES } from '../../contract/field-names.ts';
import { extrasOf, NO_EXTRAS } from '../../core/api/extras.ts';
import { routingOf } from '../../core/api/routing-fields.ts';
import { checkSpelling } from '../../core/api/spelling.ts';
import { isObject } from '../../core/json/object.ts';
import type { Conversation, ModelSettings } from '../../core/request/conversation.ts';
import { type ModelRequest, modelRequest, type RequestReader } from '../../core/request/model-request.ts';
import { compileRead } from '../../core/schema/validation.ts';
import { textPart } from '../neutral-parts.ts';
import { sharedSettings } from '../openai-settings.ts';
import { invalid, missing, unsupported } from '../refusals.ts';
import { runIn } from '../session.ts';
import { CompletionsRequest, KNOWN_FIELDS, LACKS } from './request.ts';

/** The name of OpenAI's older completions in `original.dialect`. */
export const OPENAI_COMPLETIONS = 'openai-completions';

/** The output of a request that states no cap, as in OpenAI's API, tokens. */
const OUTPUT_DEFAULT = 16;

const checked = compileRead(CompletionsRequest);

/**
 * Reads the body of a completion.
 * @throws SignalboxError for the field at fault
 */
export function readCompletions(body: unknown): CompletionsRequest {
  checkSpelling(body, KNOWN_FIELDS);
  if (isObject(body)) checkUnsupported(body);
  const request = checked(body);
  for (const _ in request.stream ? {} : request.stream_options)
    throw invalid('stream_options', '`stream_options` requires `stream: true`.');
  return request;
}

/** Converts a checked body to the neutral form. */
export const completionsRequest = (body: CompletionsRequest, headers: Headers): ModelRequest =>
  modelRequest(body, READER, { passed: {}, run: runIn(headers, body.metadata?.session_id) });

function checkUnsupported(body: Readonly<Record<string, unknown>>): void {
  const { prompt, messages, echo, logprobs, best_of: bestOf } = body;
  if (prompt == null && messages != null)
    throw missing('prompt', '`prompt` is required. Send `messages` to /v1/chat/completions instead.');
  for (const field of CHAT_FIELDS)
    if (!isEmpty(body[field]))
      throw unsupported(
        field,
        `\`${field}\` is not supported for completions. Send the request to /v1/chat/completions.`,
      );
  const items: readonly unknown[] = Array.isArray(prompt) ? prompt : [];
  const isTokens = items.some((item) => typeof item === 'number' || Array.isArray(item));
  if (isTokens)
    throw unsupported('prompt', 'Lists of tokens are not supported: models have different tokenizers. Send a text.');
  if (items.length > 1)
    throw unsupported('prompt', 'A request may have only one prompt. Send a request for each prompt.');
  if (echo != null && echo !== false)
    throw unsupported('echo', '`echo` is not supported. Put the prompt in front of the answer yourself.');
  if (logprobs != null && logprobs !== 0)
    throw unsupported('logprobs', '`logprobs` is not supported for completions. Chat completions support it.');
  if (bestOf != null && bestOf !== 1)
    throw unsupported('best_of', '`best_of` is not supported: it bills answers that are discarded. Use `n`.');
}

const CHAT_FIELDS: readonly string[] = Object.values(LACKS).flat();
/** Some clients send null or an empty list for a feature that they do not use. */
const isEmpty = (value: unknown): boolean => value == null || (Array.isArray(value) && value.length === 0);

const READER: RequestReader<CompletionsRequest> = {
  dialect: OPENAI_COMPLETIONS,
  operation: 'chat',
  names: () => ({ ...FIELD_NAMES, turns: 'prompt' }),
  model: ({ model }) => model,
  isStream: ({ stream }) => stream === true,
  conversation: conversationOf,
  settings: settingsOf,
  routing: (body) => routingOf(body, body.metadata),
  extras: (body) => extrasOf(body, [...KNOWN_FIELDS, ...CHAT_FIELDS, 'echo', 'logprobs', 'best_of']),
};

/** The prompt and the suffix are the parts of one message. */
function conversationOf({ prompt, suffix }: CompletionsRequest): Conversation {
  const at = ['prompt'];
  const parts = [
    typeof prompt === 'string' ? textPart(prompt, at) : textPart(prompt[0] ?? '', ['prompt', 0]),
    ...(suffix ? [textPart(suffix, ['suffix'])] : []),
  ];
  return {
    turns: [{ role: 'user', parts, extras: NO_EXTRAS, at }],
    tools: [],
    toolChoice: undefined,
    isCompletion: true,
  };
}

function settingsOf(body: CompletionsRequest): ModelSettings {
  return {
    ...sharedSettings(body),
    outputTokensMax: body.max_tokens ?? OUTPUT_DEFAULT,
  };
}
