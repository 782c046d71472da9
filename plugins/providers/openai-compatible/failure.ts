import type { ProviderFailure } from 'signalbox/plugin';
import { type FailureKind, kindOfStatus, oneLine, plainText, READ_MAX, saysUnknownModel } from '../failures.ts';
import { isObject, type Json, listOf, objectOf, parseJson, textOf } from '../json.ts';
import { meaningsOf } from '../meanings.ts';

/** Codes and types that have the same meaning on all servers. */
const NAMES = meaningsOf<FailureKind>([
  ['context', ['context_length_exceeded', 'exceed_context_size_error']],
  ['not_found', ['model_not_found', 'not_found_error', 'invalid_model']],
  ['auth', ['invalid_api_key', 'authentication_error']],
  ['rate_limited', ['rate_limit_exceeded', 'rate_limit_error', 'rate_limited']],
  ['overloaded', ['overloaded_error', 'engine_overloaded_error', 'unavailable_error']],
  // Codes of OpenAI, which also occur within streams of Responses.
  ['overloaded', ['service_unavailable_error', 'server_is_overloaded', 'slow_down']],
  // Codes of Groq: the model's text is not a valid tool call, or not the requested JSON.
  ['malformed', ['tool_use_failed', 'json_validate_failed']],
  ['rejected', ['content_filter', 'invalid_request_error']],
]);

/** Codes and types for an account without credit, with any status. */
const OUT_OF_CREDIT = new RegExp(
  `^(?:${[
    // OpenAI: https://platform.openai.com/docs/guides/error-codes
    'insufficient_quota|billing_hard_limit_reached|billing_not_active',
    // Groq: https://console.groq.com/docs/spend-limits
    'blocked_api_access|spend_\\w+',
    // Moonshot: https://github.com/MoonshotAI/Kimi-K2/issues/5
    'exceeded_current_quota_error',
    // Z.ai: https://github.com/zai-org/GLM-5/issues/148
    '1113',
    // Alibaba Model Studio: https://help.aliyun.com/zh/model-studio/error-code#overdue-payment
    'Arrearage',
    // Xiaomi MiMo: https://github.com/anomalyco/opencode/issues/25209
    'insufficient_balance',
  ].join('|')})$`,
);
/** Messages for an account without credit. The adapter matches these messages only at their start, because an error may quote a prompt. */
const SAYS_OUT_OF_CREDIT = new RegExp(
  `^\\W*(?:error:?\\s*)?(?:${[
    // DeepSeek: https://api-docs.deepseek.com/quick_start/error_codes
    'insufficient balance',
    // xAI: https://github.com/continuedev/continue/issues/10373, https://github.com/luxus/pi-xai/issues/10
    'your team \\S+ has either used all available credits',
    'you have run out of credits',
    // Together: https://github.com/expectedparrot/edsl/issues/2098. Together's error type `credit_limit` also means a rate limit.
    'credit limit exceeded\\b',
    // Fireworks: https://github.com/pollinations/pollinations/issues/12136
    'account \\S+ is suspended, possibly due to reaching the monthly spending limit',
    // Gemini in its OpenAI dialect: https://ai.google.dev/gemini-api/docs/billing
    'your prepayment credits are depleted',
    'your project has exceeded its monthly spending cap',
  ].join('|')})`,
  'i',
);

const CONTEXT =
  /maximum context length|context[ _](length|window|size)|prompt is too long|too many (input )?tokens|input (is|was) too long|reduce the length|tokens.{0,40} must be <=/i;
/** OpenAI and Groq send this message. */
const TOO_LARGE = /^\W*request too large for /i;
/** The adapter matches this message only at the start of an error, because an error may quote a prompt about keys. */
const KEY =
  /^\W*(?:error:?\s*)?(?:(?:incorrect|invalid) api[ _]key|api[ _]key not valid|your organization must be verified)/i;
/** Codes and types that concern only the model. */
const UNKNOWN_MODEL = /^(?:model_not_found|model_not_available|invalid_model|DeploymentNotFound)$/;
/** Messages of a 403 from xAI or OpenRouter that concerns the content and not the key. */
const MODERATED = /violates usage guidelines|requires moderation|input was flagged/i;

/** Codes and types of a content filter that refuses the prompt. */
const FILTERED = new RegExp(
  `^(?:${[
    // Azure: https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
    'content_filter|ResponsibleAIPolicyViolation',
    // OpenAI
    'content_policy_violation|moderation_blocked',
    // Alibaba Model Studio: https://help.aliyun.com/zh/model-studio/error-code
    'data_inspection_failed|DataInspectionFailed',
  ].join('|')})$`,
);
/** Messages of a content filter: of OpenAI with the code `invalid_prompt`, and of DeepSeek. */
const SAYS_FILTERED = /^\W*(?:invalid prompt: your prompt was flagged|content exists risk)/i;

/** The meanings of a 400 other than rejected content. */
const BEHIND_400: ReadonlySet<FailureKind> = new Set(['context', 'auth', 'not_found', 'malformed']);

/** Reads an answer whose status is not 2xx. */
export function readFailure(status: number, _headers: Headers, body: string): ProviderFailure {
  const parsed = parseJson(body);
  const words = messageOf(parsed) || plainText(body);
  const fields = fieldsOf(parsed);
  const message = oneLine(words) || `status ${status}`;
  if (isOutOfCredit(fields, words, status)) return { kind: 'credit', message, status, ofAccount: true };
  const kind = kindOf(status, fields, words);
  return { kind, message, status, ...blameOf(kind, fields, words) };
}

/**
 * Returns the error in an answer: from `error`, from Groq's member, or the answer itself if its `object` says so. Returns null if the
 * answer contains no error.
 */
export function errorIn(answer: Json): unknown {
  if (answer.error) return answer.error;
  if (isObject(answer.x_groq) && answer.x_groq.error) return answer.x_groq.error;
  return answer.object === 'error' ? answer : null;
}

/** Reads an `error` that replaces an answer, in a 200 or within a stream. */
export function failureOfError(error: unknown): ProviderFailure {
  const fields = objectOf(error);
  const words = messageOf({ error });
  const status = [fields.code, fields.status].map(Number).find((code) => code >= 400 && code <= 599);
  const message = oneLine(words) || 'the upstream reported an error';
  if (isOutOfCredit(fields, words, status)) return { kind: 'credit', message, status, ofAccount: true };
  const kind = status === undefined ? kindByName(fields, words) : kindOf(status, fields, words);
  return { kind: kind ?? 'server', message, status, ...blameOf(kind, fields, words) };
}

/**
 * Returns whether an error means that the account has no credit for any request. A 402 without further details may concern one expensive
 * request, as with OpenRouter.
 */
function isOutOfCredit({ code, type }: Json, words: string, status?: number): boolean {
  if (SAYS_OUT_OF_CREDIT.test(words.slice(0, READ_MAX))) return true;
  const names = [textOf(code), textOf(type)];
  // The provider is another Signalbox, which rejects a request that a budget cannot cover. A smaller request may fit into the budget.
  if (status === 402 && names.includes('insufficient_quota')) return false;
  return names.some((name) => OUT_OF_CREDIT.test(name));
}

/** The model causes malformed output, and the person who chose a model name causes an unknown name. */
function blameOf(kind: FailureKind | undefined, error: Json, words: string): Partial<ProviderFailure> {
  if (kind === 'malformed') return { ofModel: true };
  if (kind === 'rejected') return isFiltered(error, words) ? { ofFilter: true } : {};
  return kind === 'not_found' && isUnknownModel(error, words) ? { unknownModel: true } : {};
}

/**
 * Returns whether an error means that the provider does not know the model. An error about a parameter concerns another model, such as a
 * tool's.
 */
function isUnknownModel({ code, type, param }: Json, words: string): boolean {
  if (typeof param === 'string' && param !== '' && param !== 'model') return false;
  return UNKNOWN_MODEL.test(textOf(code)) || UNKNOWN_MODEL.test(textOf(type)) || saysUnknownModel(words);
}

function kindOf(status: number, error: Json, words: string): FailureKind {
  const named = kindByName(error, words);
  if (status === 400 || status === 422) return named && BEHIND_400.has(named) ? named : 'rejected';
  if (status === 403 && (isFlagged(error) || MODERATED.test(words.slice(0, READ_MAX)))) return 'rejected';
  // The single request exceeds the account's limit per minute. Waiting does not help such a request, and other requests need not wait.
  if ((status === 413 || status === 429) && TOO_LARGE.test(words)) return 'context';
  // Fireworks returns 412 for a suspended account.
  return status === 412 ? 'auth' : kindOfStatus(status);
}

/** Returns the kind according to code, type or common messages; undefined if none matches. */
function kindByName(error: Json, words: string): FailureKind | undefined {
  const searched = words.slice(0, READ_MAX);
  const kind = NAMES.get(textOf(error.code)) ?? NAMES.get(textOf(error.type));
  if (kind !== undefined && kind !== 'rejected') return kind;
  if (CONTEXT.test(searched)) return 'context';
  if (KEY.test(searched)) return 'auth';
  if (isUnknownModel(error, searched)) return 'not_found';
  return kind;
}

/** Returns whether a content filter has refused the prompt. */
function isFiltered(error: Json, words: string): boolean {
  if ([error.code, error.type].some((name) => FILTERED.test(textOf(name)))) return true;
  const said = words.slice(0, READ_MAX);
  return isFlagged(error) || MODERATED.test(said) || SAYS_FILTERED.test(said);
}

/** OpenRouter reports moderation in `metadata`. */
const isFlagged = ({ metadata }: Json): boolean =>
  isObject(metadata) && (Array.isArray(metadata.reasons) || 'flagged_input' in metadata);

/** Returns the object with code and type: `error`, or the body itself. */
function fieldsOf(body: unknown): Json {
  if (!isObject(body)) return {};
  return isObject(body.error) ? body.error : body;
}

/** Returns the message of an error from any of the places that servers use. */
function messageOf(body: unknown): string {
  if (!isObject(body)) return '';
  const { error, message } = body;
  if (isObject(error)) return textOf(error.message) || detailOf(error) || textOf(error.code) || textOf(error.type);
  return textOf(error) || textOf(message) || detailOf(body) || detailOf(message);
}

/** Returns the `detail` of servers that validate requests: a text, or a list of locations and errors. */
function detailOf(body: unknown): string {
  if (!isObject(body)) return '';
  const [first] = listOf(body.detail);
  if (!isObject(first)) return textOf(body.detail);
  const place = listOf(first.loc).join('.');
  return place === '' ? textOf(first.msg) : `${place}: ${textOf(first.msg)}`;
}
