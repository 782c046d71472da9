import type { ProviderFailure } from 'signalbox/plugin';
import { type Kind, kindOfStatus, oneLine, plainText, READ_MAX } from '../failures.ts';
import { isObject, type Json, listOf, parseJson, textOf } from '../json.ts';

/** By the name of a `google.rpc.Code`. */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['INVALID_ARGUMENT', 'rejected'],
  ['OUT_OF_RANGE', 'rejected'],
  ['UNIMPLEMENTED', 'rejected'],
  ['UNAUTHENTICATED', 'auth'],
  ['PERMISSION_DENIED', 'auth'],
  // No billing, or a country that is not served: nothing that a caller could mend.
  ['FAILED_PRECONDITION', 'auth'],
  ['NOT_FOUND', 'not_found'],
  ['RESOURCE_EXHAUSTED', 'rate_limited'],
  ['UNAVAILABLE', 'overloaded'],
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['CANCELLED', 'server'],
  ['ABORTED', 'server'],
]);

/** Google calls all of these an invalid argument. */
const CONTEXT = /exceeds the maximum number of tokens|input token count|payload size exceeds/i;
/** At the beginning only: a refusal may quote a prompt that is about keys. */
const KEY = /^\W*API key (?:not valid|not found|expired)/i;

/** ms; the day's quota is not back after the seconds that come with such a refusal. */
const DAY_WAIT = 3_600_000;

/** Reads an answer outside 2xx: a `google.rpc.Status`, in a list where a stream was asked for without `alt=sse`. */
export function readFailure(status: number, _headers: Headers, body: string): ProviderFailure {
  const parsed = parseJson(body);
  const whole: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  const error = isObject(whole) && isObject(whole.error) ? whole.error : {};
  return failureOf(error, status, textOf(error.message) || plainText(body) || `status ${status}`);
}

/** Reads an `error` that came where an answer was due: in a 200 or amid a stream. */
export function failureOfError(error: unknown): ProviderFailure {
  const fields = isObject(error) ? error : {};
  const code = typeof fields.code === 'number' && fields.code >= 400 && fields.code <= 599 ? fields.code : undefined;
  return failureOf(fields, code, textOf(fields.message) || textOf(error) || 'the upstream reported an error');
}

function failureOf(error: Json, status: number | undefined, words: string): ProviderFailure {
  const details = listOf(error.details).filter(isObject);
  const retryAfterMs = retryAfter(details);
  return {
    kind: kindOf(error, status, details, words.slice(0, READ_MAX)),
    message: oneLine(words),
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function kindOf(error: Json, status: number | undefined, details: readonly Json[], words: string): Kind {
  const kind = KINDS.get(textOf(error.status)) ?? kindOfStatus(status ?? 500);
  if (kind !== 'rejected') return kind;
  if (KEY.test(words) || details.some(({ reason }) => textOf(reason).startsWith('API_KEY_'))) return 'auth';
  return CONTEXT.test(words) ? 'context' : 'rejected';
}

/** How long to stay away, ms, as `RetryInfo` says; longer where `QuotaFailure` tells that a day's quota is used up. */
function retryAfter(details: readonly Json[]): number | undefined {
  let wait: number | undefined;
  for (const { retryDelay, violations } of details) {
    const seconds = /^(\d{1,9}(?:\.\d+)?)s$/.exec(textOf(retryDelay))?.[1];
    if (seconds !== undefined) wait = Math.max(wait ?? 0, Math.ceil(Number(seconds) * 1_000));
    const daily = listOf(violations).some((one) => isObject(one) && textOf(one.quotaId).includes('PerDay'));
    if (daily) wait = Math.max(wait ?? 0, DAY_WAIT);
  }
  return wait;
}
