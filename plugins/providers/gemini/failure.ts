import type { ProviderFailure } from 'signalbox/plugin';
import { type FailureKind, kindOfStatus, oneLine, plainText, READ_MAX, saysUnknownModel } from '../failures.ts';
import { isObject, type Json, listOf, objectOf, objectsIn, parseJson, textOf } from '../json.ts';
import { meaningsOf } from '../meanings.ts';

/** Kinds of failures, by the name of a `google.rpc.Code`. */
const KINDS = meaningsOf<FailureKind>([
  ['rejected', ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'UNIMPLEMENTED']],
  // A missing billing account or an unsupported country is a failed precondition, which concerns the operator.
  ['auth', ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'FAILED_PRECONDITION']],
  ['not_found', ['NOT_FOUND']],
  ['rate_limited', ['RESOURCE_EXHAUSTED']],
  ['overloaded', ['UNAVAILABLE']],
  ['timeout', ['DEADLINE_EXCEEDED']],
  ['server', ['CANCELLED', 'ABORTED']],
]);

/** Google reports a prompt that is too long with the code of an invalid argument. */
const CONTEXT = /exceeds the maximum number of tokens|input token count|payload size exceeds/i;
/** The adapter matches this message only at the start of an error, because an error may quote a prompt about keys. */
const KEY = /^\W*API key (?:not valid|not found|expired)/i;

/**
 * Messages for an account without credit, which the adapter matches only at the start of an error. Google used 429 for an account without
 * credit before it used 402: https://discuss.ai.google.dev/t/183654, https://ai.google.dev/gemini-api/docs/billing.
 */
const OUT_OF_CREDIT = /^\W*your (?:prepayment credits are depleted|project has exceeded its monthly spending cap)/i;
/** The `reason` in the details of the error: https://cloud.google.com/apis/design/errors. */
const BILLING_DISABLED = 'BILLING_DISABLED';

/** The wait after an exhausted daily quota, in ms. The seconds that Google's response states are too short for a daily quota. */
const DAY_WAIT = 3_600_000;

/** Reads an answer whose status is not 2xx: a `google.rpc.Status`, which a stream without `alt=sse` puts in a list. */
export function readFailure(status: number, _headers: Headers, body: string): ProviderFailure {
  const parsed = parseJson(body);
  const whole: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  const error = objectOf(objectOf(whole).error);
  return failureOf(error, status, textOf(error.message) || plainText(body) || `status ${status}`);
}

/** Reads an `error` that replaces an answer, in a 200 or within a stream. */
export function failureOfError(error: unknown): ProviderFailure {
  const fields = objectOf(error);
  const code = typeof fields.code === 'number' && fields.code >= 400 && fields.code <= 599 ? fields.code : undefined;
  return failureOf(fields, code, textOf(fields.message) || textOf(error) || 'the upstream reported an error');
}

function failureOf(error: Json, status: number | undefined, words: string): ProviderFailure {
  const details = objectsIn(error.details);
  const retryAfterMs = retryAfter(details);
  const isOutOfCredit = OUT_OF_CREDIT.test(words) || details.some(({ reason }) => reason === BILLING_DISABLED);
  const kind = isOutOfCredit ? 'credit' : kindOf(error, status, details, words.slice(0, READ_MAX));
  return {
    kind,
    message: oneLine(words),
    ...(isOutOfCredit && { ofAccount: true }),
    ...(kind === 'not_found' && saysUnknownModel(words) && { unknownModel: true }),
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function kindOf(error: Json, status: number | undefined, details: readonly Json[], words: string): FailureKind {
  // Google's 402 has the name of an exhausted rate limit, so the status decides.
  if (status === 402) return 'credit';
  const kind = KINDS.get(textOf(error.status)) ?? kindOfStatus(status ?? 500);
  if (kind !== 'rejected') return kind;
  if (KEY.test(words) || details.some(({ reason }) => textOf(reason).startsWith('API_KEY_'))) return 'auth';
  return CONTEXT.test(words) ? 'context' : 'rejected';
}

/** Returns the wait of `RetryInfo` in ms, or a longer wait if `QuotaFailure` reports an exhausted daily quota. */
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
