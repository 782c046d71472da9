import type { ProviderFailure } from 'signalbox/plugin';
import { type Kind, kindOfStatus, oneLine, plainText, READ_MAX } from '../failures.ts';
import { isObject, type Json, listOf, parseJson, textOf } from '../json.ts';

/** Codes and types that mean one thing wherever they stand, by whoever has them. */
const NAMES: ReadonlyMap<string, Kind> = new Map([
  ['context_length_exceeded', 'context'],
  ['exceed_context_size_error', 'context'],
  ['model_not_found', 'not_found'],
  ['not_found_error', 'not_found'],
  ['invalid_model', 'not_found'],
  ['invalid_api_key', 'auth'],
  ['authentication_error', 'auth'],
  ['rate_limit_exceeded', 'rate_limited'],
  ['rate_limit_error', 'rate_limited'],
  ['rate_limited', 'rate_limited'],
  ['insufficient_quota', 'rate_limited'],
  ['overloaded_error', 'overloaded'],
  ['engine_overloaded_error', 'overloaded'],
  ['unavailable_error', 'overloaded'],
  // Groq: what the model wrote is no call of a tool, or not the JSON that was asked for.
  ['tool_use_failed', 'malformed'],
  ['json_validate_failed', 'malformed'],
  ['content_filter', 'rejected'],
  ['invalid_request_error', 'rejected'],
]);

const CONTEXT =
  /maximum context length|context[ _](length|window|size)|prompt is too long|too many (input )?tokens|input (is|was) too long|reduce the length|tokens.{0,40} must be <=/i;
/** OpenAI's and Groq's. */
const TOO_LARGE = /^\W*request too large for /i;
/** At the beginning only: a refusal may quote a prompt that is about keys. */
const KEY =
  /^\W*(?:error:?\s*)?(?:(?:incorrect|invalid) api[ _]key|api[ _]key not valid|your organization must be verified)/i;
const MODEL = /^\W*(?:model not exist|invalid model:)/i;
/** A 403 that is about what was said, by xAI and OpenRouter: the key is not refused. */
const MODERATED = /violates usage guidelines|requires moderation|input was flagged/i;

/** What a 400 may turn out to be, beside a refusal of the content. */
const BEHIND_400: ReadonlySet<Kind> = new Set(['context', 'auth', 'not_found', 'malformed']);

/** Reads an answer outside 2xx. */
export function readFailure(status: number, _headers: Headers, body: string): ProviderFailure {
  const parsed = parseJson(body);
  const words = messageOf(parsed) || plainText(body);
  const kind = kindOf(status, fieldsOf(parsed), words);
  return { kind, message: oneLine(words) || `status ${status}`, status, ...blameOf(kind) };
}

/** The error where an answer was due: in its place, in Groq's own member, or itself by its `object`. Null for none. */
export function errorIn(answer: Json): unknown {
  if (answer.error) return answer.error;
  if (isObject(answer.x_groq) && answer.x_groq.error) return answer.x_groq.error;
  return answer.object === 'error' ? answer : null;
}

/** Reads an `error` that came where an answer was due: in a 200 or amid a stream. */
export function failureOfError(error: unknown): ProviderFailure {
  const fields = isObject(error) ? error : {};
  const words = messageOf({ error });
  const status = [fields.code, fields.status].map(Number).find((code) => code >= 400 && code <= 599);
  const kind = status === undefined ? kindByName(fields, words) : kindOf(status, fields, words);
  return {
    kind: kind ?? 'server',
    message: oneLine(words) || 'the upstream reported an error',
    status,
    ...blameOf(kind),
  };
}

/** Where an error says so, it is what the model wrote that was malformed. */
const blameOf = (kind: Kind | undefined) => (kind === 'malformed' ? ({ ofModel: true } as const) : {});

function kindOf(status: number, error: Json, words: string): Kind {
  const named = kindByName(error, words);
  if (status === 400 || status === 422) return named && BEHIND_400.has(named) ? named : 'rejected';
  if (status === 403 && (isFlagged(error) || MODERATED.test(words.slice(0, READ_MAX)))) return 'rejected';
  // More than an account may send in a minute, by itself: no pause helps it, and nobody else's has to wait for it.
  if ((status === 413 || status === 429) && TOO_LARGE.test(words)) return 'context';
  // Fireworks: the account is suspended.
  return status === 412 ? 'auth' : kindOfStatus(status);
}

/** The kind by codes and types, or by the usual wordings; undefined where neither tells. */
function kindByName(error: Json, words: string): Kind | undefined {
  const searched = words.slice(0, READ_MAX);
  const kind = NAMES.get(textOf(error.code)) ?? NAMES.get(textOf(error.type));
  if (kind !== undefined && kind !== 'rejected') return kind;
  if (CONTEXT.test(searched)) return 'context';
  if (KEY.test(searched)) return 'auth';
  if (MODEL.test(searched)) return 'not_found';
  return kind;
}

/** OpenRouter tells in `metadata` what its moderation saw. */
const isFlagged = ({ metadata }: Json): boolean =>
  isObject(metadata) && (Array.isArray(metadata.reasons) || 'flagged_input' in metadata);

/** Where code and type stand: in `error`, or beside the message. */
function fieldsOf(body: unknown): Json {
  if (!isObject(body)) return {};
  return isObject(body.error) ? body.error : body;
}

/** The message wherever the dialect's speakers put it. */
function messageOf(body: unknown): string {
  if (!isObject(body)) return '';
  const { error, message } = body;
  if (isObject(error)) return textOf(error.message) || detailOf(error) || textOf(error.code) || textOf(error.type);
  return textOf(error) || textOf(message) || detailOf(body) || detailOf(message);
}

/** The `detail` of servers that check requests against a schema: a text, or a list of places and what is wrong there. */
function detailOf(body: unknown): string {
  if (!isObject(body)) return '';
  const [first] = listOf(body.detail);
  if (!isObject(first)) return textOf(body.detail);
  const place = listOf(first.loc).join('.');
  return place === '' ? textOf(first.msg) : `${place}: ${textOf(first.msg)}`;
}
