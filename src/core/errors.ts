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
    means: 'A field of one of Signalbox’s own objects is not known, or the name of a known field is misspelt.',
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
    means: 'No eligible model supports the field, or the provider would bill it beyond the reserved amount.',
  },
  budget_limit_too_low: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means:
      '`budget_limit` is too low for the prompt and a useful minimum of output. `details.least_credits` is the lowest value that works.',
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
      'A budget or balance cannot cover the most that the request can cost. `details` names it and says when it renews. Where a payment would help, the header `PAYMENT-REQUIRED` says how to pay.',
  },
  payment_required: {
    status: 402,
    type: 'payment_required',
    retry: false,
    means:
      'Pay for the request by x402. The header `PAYMENT-REQUIRED` says how; `accepts` and `details.quote` hold the same terms.',
  },
  payment_invalid: {
    status: 402,
    type: 'payment_required',
    retry: false,
    means:
      'The payment was refused, and the request was not carried out. `details.reason` says why. The header `PAYMENT-REQUIRED` has a new quote.',
  },
  agent_wallet_mismatch: {
    status: 403,
    type: 'permission_error',
    retry: false,
    means:
      '`agent_wallet` is not the wallet of the payment or of the API key, or the key is not allowed to name this wallet.',
  },
  unsupported_x402_version: {
    status: 400,
    type: 'invalid_request_error',
    retry: false,
    means: 'The payment does not use version 2 of x402.',
  },
  payment_unavailable: {
    status: 503,
    type: 'server_error',
    retry: true,
    means: 'The blockchain or the payment facilitator does not answer. Nothing was charged.',
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
    means: 'The path does not exist, or the key can see no object with this ID.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    retry: false,
    means: 'The path does not support this method. The header `allow` lists the methods that it supports.',
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
    means: '`If-Match` is not the policy revision in force, which is `details.policy_revision`.',
  },
  in_flight: {
    status: 409,
    type: 'conflict_error',
    retry: true,
    means: 'A request with this `Idempotency-Key` or payment is still running. Repeat it after `retry-after`.',
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
    means: 'The request of this decision got no complete answer to score. `details.status` says why.',
  },
  feedback_conflict: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    means: 'The decision already has a different score, which stays.',
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
    means: 'This `Idempotency-Key` was used with a different body in the last 24 hours.',
  },
  idempotency_answer_unavailable: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means:
      'The request was charged as `details.decision_id`, but its answer cannot be repeated: the secret of the key or the signature is different, or the answer was too large to keep.',
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
    means:
      'No model meets every constraint. `details` has the reasons for each model, and the smallest change that would admit one.',
  },
  policy_invalid: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    means: 'The policy files have mistakes; the policy in force stays. `details.diagnostics` lists the mistakes.',
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
    means: 'Requests in progress have reserved the rest of the budget that `details` names.',
  },
  upstream_rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    means: 'The provider is limiting its request rate, and no other provider can serve the request.',
  },
  upstream_failed: {
    status: 502,
    type: 'upstream_error',
    retry: true,
    means: 'Every attempt at a provider failed, or the answer broke off.',
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
    means:
      'Every model that could serve is unavailable for now: its provider asked for a pause, or refuses its API key.',
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
    means: 'The request met a defect in Signalbox. The server’s log has the details.',
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
