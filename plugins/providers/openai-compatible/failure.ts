import type { ProviderFailure } from 'signalbox/plugin';
import { isObject, type Json, listOf, parseJson, textOf } from '../json.ts';

type Kind = ProviderFailure['kind'];

const MESSAGE_MAX = 300;
/** Searched for the wordings below. */
const SEARCHED_MAX = 2_000;

const CONTEXT =
  /maximum context length|context[ _](length|window|size)|prompt is too long|too many (input )?tokens|input (is|was) too long|reduce the length/i;
/** At the beginning only: a refusal may quote a prompt that is about keys. */
const KEY = /^\W*(?:error:?\s*)?(?:(?:incorrect|invalid) api[ _]key|api[ _]key not valid)/i;

const KINDS: ReadonlyMap<number, Kind> = new Map([
  [401, 'auth'],
  [402, 'auth'],
  [403, 'auth'],
  [404, 'not_found'],
  [408, 'timeout'],
  [413, 'context'],
  [429, 'rate_limited'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
]);

/** Reads an answer outside 2xx. */
export function readFailure(status: number, _headers: Headers, body: string): ProviderFailure {
  const parsed = parseJson(body);
  const error = isObject(parsed) && isObject(parsed.error) ? parsed.error : {};
  const words = messageOf(parsed) || plainText(body);
  return { kind: kindOf(status, error, words), message: oneLine(words) || `status ${status}`, status };
}

/** The error where an answer was due: in its place, or itself by its `object`. Null for none. */
export function errorIn(answer: Json): unknown {
  return answer.error || (answer.object === 'error' ? answer : null);
}

/** Reads an `error` that came where an answer was due: in a 200 or amid a stream. */
export function failureOfError(error: unknown): ProviderFailure {
  const fields = isObject(error) ? error : {};
  const words = messageOf({ error });
  const status = [fields.code, fields.status].map(Number).find((code) => code >= 400 && code <= 599);
  const kind = status === undefined ? kindByName(fields, words) : kindOf(status, fields, words);
  return { kind, message: oneLine(words) || 'the upstream reported an error', status };
}

function kindOf(status: number, error: Json, words: string): Kind {
  if (status === 400 || status === 422) {
    const named = kindByName(error, words);
    return named === 'context' || named === 'auth' || named === 'not_found' ? named : 'rejected';
  }
  return KINDS.get(status) ?? (status >= 400 && status < 500 ? 'rejected' : 'server');
}

/** The kind by OpenAI's codes and types, or by the usual wordings. */
function kindByName(error: Json, words: string): Kind {
  const code = textOf(error.code);
  const type = textOf(error.type);
  const searched = words.slice(0, SEARCHED_MAX);
  if (code === 'context_length_exceeded' || CONTEXT.test(searched)) return 'context';
  if (code === 'model_not_found') return 'not_found';
  if (code === 'invalid_api_key' || type === 'authentication_error' || KEY.test(searched)) return 'auth';
  if (code === 'rate_limit_exceeded' || code === 'insufficient_quota' || type === 'rate_limit_error') {
    return 'rate_limited';
  }
  if (type === 'overloaded_error') return 'overloaded';
  if (type === 'invalid_request_error') return 'rejected';
  return 'server';
}

/** The message wherever the dialect's speakers put it. */
function messageOf(body: unknown): string {
  if (!isObject(body)) return '';
  const { error, detail } = body;
  if (isObject(error)) return textOf(error.message) || textOf(error.code) || textOf(error.type);
  const [first] = listOf(detail);
  return textOf(error) || textOf(body.message) || textOf(detail) || (isObject(first) ? textOf(first.msg) : '');
}

/** A page of HTML explains nothing in one line. */
function plainText(body: string): string {
  return /^\s*[<[{]/.test(body) ? '' : body;
}

function oneLine(text: string): string {
  const line = text
    .slice(0, SEARCHED_MAX)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length > MESSAGE_MAX ? `${line.slice(0, MESSAGE_MAX - 1)}…` : line;
}
