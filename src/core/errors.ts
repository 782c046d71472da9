/**
 * Every error that a caller can see: code → status and class. Codes are never renamed or reused.
 * `code` is the one on the wire where it differs from the name; `retry` tells a client whether the
 * same request can succeed later. `docs/errors.md` is made from it.
 */
export const ERRORS = {
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    retry: false,
    means: 'No API key, or one that is unknown, expired or revoked.',
  },
  insufficient_permissions: {
    status: 403,
    type: 'permission_error',
    retry: false,
    means: 'The key lacks the scope, or may not use that model.',
  },
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The body is not JSON, or nests too deep.',
  },
  invalid_type: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'A field has the wrong kind of value; `param` is its path.',
  },
  invalid_value: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'A field has a value that it cannot have, or that contradicts another.',
  },
  missing_field: { status: 400, type: 'invalid_request_error', retry: false, means: 'A required field is absent.' },
  unknown_field: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'A member that Signalbox’s own objects do not know.',
  },
  out_of_range: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'A number is out of its range, or a list too long.',
  },
  unsupported_parameter: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'A field that would be billed beyond the reservation, or that no eligible model supports.',
  },
  budget_limit_too_low: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'Not even the prompt and a useful minimum of output fit `budget_limit`; `details.least_credits` would.',
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The prompt is longer than the largest eligible context window.',
  },
  upstream_rejected_request: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The provider refuses the content of the request.',
  },
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    retry: false,
    means: 'There is no such model or selector.',
  },
  insufficient_quota: {
    status: 402,
    type: 'insufficient_quota',
    retry: false,
    means:
      'A budget or the balance cannot pay the worst case; `details` names it and when it renews. Where payments are taken and a balance is short, the header `PAYMENT-REQUIRED` says how to pay.',
  },
  payment_required: {
    status: 402,
    type: 'payment_required',
    retry: false,
    means:
      'Pay for it by x402: the header `PAYMENT-REQUIRED` says how, and so do `accepts` beside `error` and `details.quote`.',
  },
  payment_invalid: {
    status: 402,
    type: 'payment_required',
    retry: false,
    means:
      'The payment was refused and its request not carried out: `details.reason` says why, and the header `PAYMENT-REQUIRED` has a new quote.',
  },
  agent_wallet_mismatch: {
    status: 403,
    type: 'permission_error',
    retry: false,
    means: 'The payment, or the key, is of another wallet than `agent_wallet` names, or the key may not name that one.',
  },
  unsupported_x402_version: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The payment is of another version of x402 than 2.',
  },
  payment_unavailable: {
    status: 503,
    type: 'server_error',
    retry: true,
    means: 'Payments cannot be taken just now: the chain or the facilitator does not answer. Nothing was charged.',
  },
  payment_unsettled: {
    status: 503,
    type: 'server_error',
    retry: false,
    means:
      'What became of the payment is not known yet. Send the same `PAYMENT-SIGNATURE` again after `retry-after`, and sign no other; `details.payment_id` names it.',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    retry: false,
    means: 'There is nothing at this path, or nothing of this ID that the key may see.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    retry: false,
    means: 'The path takes another method; the header `allow` names it.',
  },
  request_timeout: { status: 408, type: 'invalid_request_error', retry: true, means: 'The body came too slowly.' },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    retry: false,
    means: 'The body must be sent as `application/json`.',
  },
  precondition_failed: {
    status: 412,
    type: 'invalid_request_error',
    retry: false,
    means: '`If-Match` names another policy revision than the one in force; `details.policy_revision` is that one.',
  },
  in_flight: {
    status: 409,
    type: 'conflict_error',
    retry: true,
    means:
      'The request with this `Idempotency-Key` or payment is still running; ask again after `retry-after`, with the same.',
  },
  learning_off: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    means: 'Feedback teaches nothing here: learning is off, or was off when the decision was made.',
  },
  nothing_to_score: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    means: 'The request of this decision was not answered to its end; `details.status` says what became of it.',
  },
  feedback_conflict: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    means: 'This decision has another score already, which stays.',
  },
  feedback_window_over: {
    status: 410,
    type: 'invalid_request_error',
    retry: false,
    means: 'The decision is too old to be scored; `details.window_days` is how long one can be.',
  },
  idempotency_key_reused: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means: 'This `Idempotency-Key` came with another body within the last 24 hours.',
  },
  idempotency_answer_unavailable: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means:
      'The request with this `Idempotency-Key` or payment was charged as `details.decision_id`, and its answer cannot be given again: the API key’s secret, or the signature, is another one, or it was too large each time.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    retry: false,
    means: 'The body has too many bytes or values.',
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    retry: false,
    code: 'request_too_large',
    means: 'The headers have too many bytes.',
  },
  no_eligible_model: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means: 'The constraints leave no model; `details` has each one’s reasons and the nearest relaxation.',
  },
  policy_invalid: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means: 'The policy’s files were refused and nothing was changed; `details.diagnostics` has all that is wrong.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    means: 'Too many requests, tokens or open streams; `details` names the limit and which of them.',
  },
  budget_contended: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    means: 'Requests that are still running hold what the budget has left; `details` names it.',
  },
  upstream_rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    means: 'The provider asks to slow down, and no other could serve.',
  },
  upstream_failed: {
    status: 502,
    type: 'upstream_error',
    retry: true,
    means: 'Every attempt failed upstream, or the answer broke off.',
  },
  upstream_timeout: {
    status: 504,
    type: 'upstream_error',
    retry: true,
    means: 'The model did not answer in time, or stalled.',
  },
  no_healthy_model: {
    status: 503,
    type: 'server_error',
    retry: true,
    means: 'Every model that could serve is out for now: its provider asked for a pause, or refuses its key.',
  },
  overloaded: {
    status: 503,
    type: 'server_error',
    retry: true,
    means: 'Overloaded, shutting down, or the ledger cannot be written.',
  },
  internal_error: {
    status: 500,
    type: 'server_error',
    retry: false,
    means: 'A defect in Signalbox; its log tells more.',
  },
} as const satisfies Record<string, { status: number; type: string; retry: boolean; means: string; code?: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** All of them. */
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

export interface ErrorInfo {
  /** Path of the field at fault, such as `messages[0].content`. */
  readonly param?: string;
  /** Figures that a program can use. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Members of the body beside `error`, as another protocol wants them. */
  readonly beside?: Readonly<Record<string, unknown>>;
  /** Milliseconds after which trying again makes sense. */
  readonly retryAfterMs?: number;
  /** Headers that belong to the error. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides the table: false for what was billed or will fail again. */
  readonly retry?: boolean;
  /** Kept for the log; never shown to a caller. */
  readonly cause?: unknown;
}

/** An error meant for the caller. `message` is public; the cause is not. */
export class SignalboxError extends Error {
  readonly code: ErrorCode;
  readonly info: ErrorInfo;

  constructor(code: ErrorCode, message: string, info: ErrorInfo = {}) {
    super(message, { cause: info.cause });
    this.name = 'SignalboxError';
    this.code = code;
    this.info = info;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
