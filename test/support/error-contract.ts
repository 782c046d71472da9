import { expect } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import type { Answer } from './answers.ts';
import { UPSTREAM_KEY } from './policies.ts';

/** The public contract of errors, repeated by hand: status, type, code in the body, `x-should-retry`. */
export const CONTRACT = {
  invalid_api_key: [401, 'authentication_error', 'invalid_api_key', false],
  not_signed_in: [401, 'authentication_error', 'not_signed_in', false],
  wrong_origin: [403, 'permission_error', 'wrong_origin', false],
  wrong_host: [421, 'invalid_request_error', 'wrong_host', false],
  key_suspended: [403, 'permission_error', 'key_suspended', false],
  insufficient_permissions: [403, 'permission_error', 'insufficient_permissions', false],
  invalid_json: [400, 'invalid_request_error', 'invalid_json', false],
  invalid_type: [400, 'invalid_request_error', 'invalid_type', false],
  invalid_value: [400, 'invalid_request_error', 'invalid_value', false],
  missing_field: [400, 'invalid_request_error', 'missing_field', false],
  unknown_field: [400, 'invalid_request_error', 'unknown_field', false],
  out_of_range: [400, 'invalid_request_error', 'out_of_range', false],
  unsupported_parameter: [400, 'invalid_request_error', 'unsupported_parameter', false],
  budget_limit_too_low: [400, 'invalid_request_error', 'budget_limit_too_low', false],
  context_length_exceeded: [400, 'invalid_request_error', 'context_length_exceeded', false],
  content_blocked: [400, 'invalid_request_error', 'content_blocked', false],
  guard_failed: [503, 'server_error', 'guard_failed', true],
  upstream_rejected_request: [400, 'invalid_request_error', 'upstream_rejected_request', false],
  insufficient_quota: [402, 'insufficient_quota', 'insufficient_quota', false],
  request_exceeds_budget: [402, 'insufficient_quota', 'request_exceeds_budget', false],
  payment_required: [402, 'payment_required', 'payment_required', false],
  payment_invalid: [402, 'payment_required', 'payment_invalid', false],
  agent_wallet_mismatch: [403, 'permission_error', 'agent_wallet_mismatch', false],
  unsupported_x402_version: [400, 'invalid_request_error', 'unsupported_x402_version', false],
  payment_unavailable: [503, 'server_error', 'payment_unavailable', true],
  payment_unsettled: [503, 'server_error', 'payment_unsettled', false],
  thread_not_found: [404, 'invalid_request_error', 'thread_not_found', false],
  model_not_found: [404, 'invalid_request_error', 'model_not_found', false],
  not_found: [404, 'invalid_request_error', 'not_found', false],
  upgrade_required: [426, 'invalid_request_error', 'upgrade_required', false],
  method_not_allowed: [405, 'invalid_request_error', 'method_not_allowed', false],
  request_timeout: [408, 'invalid_request_error', 'request_timeout', true],
  precondition_failed: [412, 'invalid_request_error', 'precondition_failed', false],
  unsupported_media_type: [415, 'invalid_request_error', 'unsupported_media_type', false],
  length_required: [411, 'invalid_request_error', 'length_required', false],
  request_too_large: [413, 'invalid_request_error', 'request_too_large', false],
  headers_too_large: [431, 'invalid_request_error', 'request_too_large', false],
  no_eligible_model: [422, 'invalid_request_error', 'no_eligible_model', false],
  policy_invalid: [422, 'invalid_request_error', 'policy_invalid', false],
  rate_limit_exceeded: [429, 'rate_limit_error', 'rate_limit_exceeded', true],
  in_flight: [409, 'conflict_error', 'in_flight', true],
  conflict: [409, 'conflict_error', 'conflict', false],
  learning_off: [409, 'conflict_error', 'learning_off', false],
  nothing_to_score: [409, 'conflict_error', 'nothing_to_score', false],
  feedback_conflict: [409, 'conflict_error', 'feedback_conflict', false],
  feedback_window_over: [410, 'invalid_request_error', 'feedback_window_over', false],
  idempotency_key_reused: [422, 'invalid_request_error', 'idempotency_key_reused', false],
  idempotency_answer_unavailable: [422, 'invalid_request_error', 'idempotency_answer_unavailable', false],
  budget_contended: [429, 'rate_limit_error', 'budget_contended', true],
  upstream_rate_limited: [429, 'rate_limit_error', 'upstream_rate_limited', true],
  upstream_out_of_credit: [503, 'server_error', 'upstream_out_of_credit', false],
  upstream_failed: [502, 'upstream_error', 'upstream_failed', true],
  upstream_timeout: [504, 'upstream_error', 'upstream_timeout', true],
  no_healthy_model: [503, 'server_error', 'no_healthy_model', true],
  overloaded: [503, 'server_error', 'overloaded', true],
  internal_error: [500, 'server_error', 'internal_error', false],
} as const satisfies Record<ErrorCode, readonly [number, string, string, boolean]>;

/** Checks everything that an error with this code has, and returns its body. */
export async function expectError(
  response: { status: number; headers: Headers } & ({ body: string } | { json(): Promise<unknown> }),
  code: ErrorCode,
  param: string | null = null,
  // Clients ignore a `retry-after` of more than 60 s and would repeat the request at once.
  retry: boolean = CONTRACT[code][3] && Number(response.headers.get('retry-after')) <= 60,
): Promise<Answer['error']> {
  const body = ('json' in response ? await response.json() : JSON.parse(response.body)) as Answer;
  const [status, type, wireCode] = CONTRACT[code];
  // Anthropic's error format has our code and the field inside `details`.
  const { error_code, param: field = null } = { error_code: undefined, ...body.error.details };
  const named = error_code === undefined ? {} : { code: error_code, param: field };
  expect({ status: response.status, ...body.error, ...named }).toMatchObject({ status, type, code: wireCode, param });
  expect(body.error.message).toBeString();
  expect(body.error.message.length).toBeGreaterThan(10);
  expect(response.headers.get('content-type')).toStartWith('application/json');
  expect(response.headers.get('x-request-id')).toStartWith('req_');
  expect(response.headers.get('x-should-retry')).toBe(String(retry));
  expect(JSON.stringify(body)).not.toContain(UPSTREAM_KEY);
  return body.error;
}
