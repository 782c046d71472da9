/**
 * Every error that a caller can see: code → status and class. Codes are never renamed or reused.
 * `code` is the one on the wire where it differs from the name; `retry` tells a client whether the
 * same request can succeed later. `docs/operate/errors.md` is made from it.
 */
export const ERRORS = {
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    retry: false,
    means: 'The API key is missing, unknown, expired or revoked.',
  },
  insufficient_permissions: {
    status: 403,
    type: 'permission_error',
    retry: false,
    means: 'The key lacks the scope, or may not use this model.',
  },
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The body is not JSON, or is nested too deeply.',
  },
  invalid_type: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'A field has a value of the wrong type.',
  },
  invalid_value: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The value of a field is not allowed, or contradicts another field.',
  },
  missing_field: { status: 400, type: 'invalid_request_error', retry: false, means: 'A required field is missing.' },
  unknown_field: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'One of Signalbox’s own objects has no such field.',
  },
  out_of_range: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'A number is out of range, or a list is too long.',
  },
  unsupported_parameter: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'No eligible model supports the field, or it would be billed beyond the reservation.',
  },
  budget_limit_too_low: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: '`budget_limit` does not cover the prompt and a useful minimum of output; `details.least_credits` does.',
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
    means: 'No model or selector has this name.',
  },
  insufficient_quota: {
    status: 402,
    type: 'insufficient_quota',
    retry: false,
    means:
      'A budget or balance cannot cover the worst case; `details` names it and when it renews. If payments can help, the header `PAYMENT-REQUIRED` says how.',
  },
  payment_required: {
    status: 402,
    type: 'payment_required',
    retry: false,
    means: 'Pay by x402 as the header `PAYMENT-REQUIRED` says; `accepts` and `details.quote` say the same.',
  },
  payment_invalid: {
    status: 402,
    type: 'payment_required',
    retry: false,
    means:
      'The payment was refused and the request not carried out. `details.reason` says why; `PAYMENT-REQUIRED` has a new quote.',
  },
  agent_wallet_mismatch: {
    status: 403,
    type: 'permission_error',
    retry: false,
    means: '`agent_wallet` names another wallet than the payment or key, or one that the key may not name.',
  },
  unsupported_x402_version: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The payment uses another version of x402 than 2.',
  },
  payment_unavailable: {
    status: 503,
    type: 'server_error',
    retry: true,
    means: 'The chain or the facilitator does not answer. Nothing was charged.',
  },
  payment_unsettled: {
    status: 503,
    type: 'server_error',
    retry: false,
    means:
      'The outcome of the payment `details.payment_id` is not known yet. Send the same `PAYMENT-SIGNATURE` after `retry-after`; do not sign another.',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    retry: false,
    means: 'Nothing is at this path, or nothing with this ID that the key may see.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    retry: false,
    means: 'The path takes another method; the header `allow` lists it.',
  },
  request_timeout: { status: 408, type: 'invalid_request_error', retry: true, means: 'The body arrived too slowly.' },
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
    means: '`If-Match` names another policy revision than `details.policy_revision`, which is in force.',
  },
  in_flight: {
    status: 409,
    type: 'conflict_error',
    retry: true,
    means: 'The request with this `Idempotency-Key` or payment is still running. Repeat it after `retry-after`.',
  },
  learning_off: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    means: 'Learning is off, or was off when the decision was made.',
  },
  nothing_to_score: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    means: 'The request of this decision has no complete answer; `details.status` says why.',
  },
  feedback_conflict: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    means: 'The decision already has another score, which stays.',
  },
  feedback_window_over: {
    status: 410,
    type: 'invalid_request_error',
    retry: false,
    means: 'The decision is older than `details.window_days`.',
  },
  idempotency_key_reused: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means: 'This `Idempotency-Key` came with another body within 24 hours.',
  },
  idempotency_answer_unavailable: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means:
      'The request was charged as `details.decision_id`, but its answer cannot be repeated: the key’s secret or the signature differs, or the answer was too large.',
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
    means: 'The constraints leave no model. `details` has the reasons for each and the nearest relaxation.',
  },
  policy_invalid: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means: 'The policy files were refused; nothing changed. `details.diagnostics` lists the mistakes.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    means: 'Too many requests, tokens or open streams; `details` names the limit.',
  },
  budget_contended: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    means: 'Running requests hold the rest of the budget that `details` names.',
  },
  upstream_rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    means: 'The provider asks to slow down, and no other can serve.',
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
    means: 'The server is overloaded or shutting down, or cannot write the ledger.',
  },
  internal_error: {
    status: 500,
    type: 'server_error',
    retry: false,
    means: 'A defect in Signalbox; see its log.',
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
