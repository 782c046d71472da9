import type { ProviderFailure } from 'signalbox/plugin';
import { type FailureKind, kindOfStatus, oneLine, plainText, READ_MAX, saysUnknownModel } from '../failures.ts';
import { isObject, type Json, objectOf, parseJson, textOf } from '../json.ts';
import { meaningsOf } from '../meanings.ts';

const TYPES = meaningsOf<FailureKind>([
  ['rejected', ['invalid_request_error']],
  ['auth', ['authentication_error', 'permission_error']],
  ['credit', ['billing_error']],
  ['not_found', ['not_found_error']],
  ['context', ['request_too_large']],
  ['rate_limited', ['rate_limit_error']],
  ['timeout', ['timeout_error']],
  ['overloaded', ['overloaded_error']],
  ['server', ['conflict_error', 'api_error']],
]);

/** Error codes of a 400 that concerns the account and not the request. */
const OF_ACCOUNT =
  /^(?:organization_(?:on_hold|type_not_supported)|claude_code_(?:key_creator_not_member|version_too_old)|cmek_key_(?:disabled|network_blocked))$/;
/**
 * Messages of a 400 for an account without credit. The adapter matches these messages only at the start of an error, because an error may
 * quote a prompt. The messages are from https://github.com/anthropics/anthropic-sdk-typescript/issues/618 and
 * https://platform.claude.com/docs/en/api/errors.
 */
const OUT_OF_CREDIT =
  /^(?:your credit balance is too low|you have reached your specified (?:workspace )?api usage limits)/i;
/**
 * Codes for an account without credit: as listed in Anthropic's SDK, and of Z.ai in this dialect
 * (https://github.com/zai-org/feedback/issues/789).
 */
const OUT_OF_CREDIT_CODE = /^(?:(?:contract|enforced)_spend_limit_reached|1113)$/;
/** Codes that concern one request: its organization has a payment problem, or a budget of Signalbox cannot cover it. */
const OF_REQUEST = /^(?:linked_organization_|user_profile_|(?:insufficient_quota|request_exceeds_budget)$)/;
/**
 * Error codes for a thread that cannot continue, or cannot continue with this request. One of the thread errors is a 404, which says
 * nothing about the model.
 */
const OF_THREAD = /^thread_/;
/** The message of a 400 of Anthropic's content filter. */
const FILTERED = /^output blocked by content filtering policy/i;
const CONTEXT = /^(?:prompt is too long|input length and `?max_tokens`? exceed context limit|input is too long)/i;

/** Reads an answer whose status is not 2xx. @param passthrough whether a rejection contains the error unchanged */
export function readFailure(status: number, _headers: Headers, body: string, passthrough = false): ProviderFailure {
  const original = objectOf(parseJson(body));
  const error = objectOf(original.error);
  const words = textOf(error.message) || textOf(error.type) || plainText(body);
  const kind = kindOf(error, status);
  const failure: ProviderFailure = {
    kind,
    message: oneLine(words) || `status ${status}`,
    status,
    ...(isOutOfCredit(error) && { ofAccount: true }),
    ...(kind === 'not_found' && saysUnknownModel(words) && { unknownModel: true }),
    ...(kind === 'rejected' && FILTERED.test(words) && { ofFilter: true }),
  };
  const isRefusal = kind === 'rejected' || kind === 'context';
  return passthrough && isRefusal && isObject(original.error) ? { ...failure, original } : failure;
}

/** Reads an `error` that replaces an answer, in a 200 or within a stream. */
export function failureOfError(error: unknown): ProviderFailure {
  const fields = objectOf(error);
  const words = textOf(fields.message) || textOf(fields.type);
  const kind = kindOf(fields, null);
  return {
    kind,
    message: oneLine(words) || 'the upstream reported an error',
    ...(isOutOfCredit(fields) && { ofAccount: true }),
    ...(kind === 'rejected' && FILTERED.test(words) && { ofFilter: true }),
  };
}

/**
 * Returns whether an error means that the account has no credit for any request. A 402 without further details may concern one expensive
 * request.
 */
const isOutOfCredit = ({ type, code, details, message }: Json): boolean => {
  const named = textOf(objectOf(details).error_code) || textOf(code);
  if (OF_REQUEST.test(named)) return false;
  const isBilling = TYPES.get(textOf(type)) === 'credit' || OUT_OF_CREDIT_CODE.test(named);
  return isBilling || OUT_OF_CREDIT.test(textOf(message).slice(0, READ_MAX));
};

/** @param status null if the answer had begun */
function kindOf(error: Json, status: number | null): FailureKind {
  const code = textOf(objectOf(error.details).error_code);
  if (OF_THREAD.test(code)) return 'rejected';
  if (isOutOfCredit(error)) return 'credit';
  const kind = kindOfStatus(status ?? 500, TYPES.get(textOf(error.type)));
  if (kind !== 'rejected') return kind;
  const words = textOf(error.message).slice(0, READ_MAX);
  if (CONTEXT.test(words)) return 'context';
  return OF_ACCOUNT.test(code) ? 'auth' : 'rejected';
}
