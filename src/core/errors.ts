interface ErrorSpec {
  readonly status: number;
  /** The value of `error.type` in responses. */
  readonly type: string;
  /** Whether the same request can succeed later. */
  readonly retry: boolean;
  readonly means: string;
  /** The value of `error.code` in responses, if it differs from the name. */
  readonly code?: string;
}

const spec =
  (type: string, retry: boolean) =>
  (status: number, means: string): ErrorSpec => ({ status, type, retry, means });

const invalid = spec('invalid_request_error', false);
const forbidden = spec('permission_error', false);
const unpaid = spec('payment_required', false);
const conflict = spec('conflict_error', false);
const limited = spec('rate_limit_error', true);
const upstream = spec('upstream_error', true);
const unavailable = spec('server_error', true);

/** Every error that a caller can see. Error codes are never renamed or reused. `docs/operate/errors.md` is generated from this table. */
export const ERRORS = {
  invalid_api_key: spec('authentication_error', false)(
    401,
    'The API key is missing, unknown, expired or revoked, or the gateway does not accept the token sent in its place.',
  ),
  not_signed_in: spec('authentication_error', false)(
    401,
    'The login of the cookie has ended: someone ended it, it was not used for 12 hours, it is 7 days old, or its issuer no longer confirms it. Sign in again.',
  ),
  wrong_origin: forbidden(
    403,
    'A sign-in with a key, or a change with the cookie of a login, came without the `Origin` of the gateway’s own pages. Either another website sent it, or a proxy removes or changes the header. Programs send a key instead.',
  ),
  wrong_host: invalid(
    421,
    'The `Host` header is not a valid host. Or the request is for the console or has the cookie of a login, and its host is neither the host of `public_url` nor a name of this machine.',
  ),
  key_suspended: forbidden(403, 'The API key is suspended. It works again once its operator resumes it.'),
  insufficient_permissions: forbidden(403, 'The key lacks the required scope, or may not use this model.'),
  invalid_json: invalid(400, 'The body is not valid JSON, or is nested too deeply.'),
  invalid_type: invalid(400, 'A field has a value of the wrong type.'),
  invalid_value: invalid(400, 'The value of a field is not allowed, or contradicts another field.'),
  missing_field: invalid(400, 'A required field is missing.'),
  unknown_field: invalid(
    400,
    'Signalbox does not know this field in one of its own objects, or the name of a known field is misspelt.',
  ),
  out_of_range: invalid(400, 'A number is out of range, or a list is too long.'),
  unsupported_parameter: invalid(
    400,
    'No eligible model supports the field, or the provider would bill the field beyond the reserved amount.',
  ),
  budget_limit_too_low: invalid(
    400,
    '`budget_limit` is too low for the prompt and a useful minimum of output. `details.least_credits` is the lowest value that works.',
  ),
  context_length_exceeded: invalid(400, 'The prompt is longer than the largest eligible context window.'),
  content_blocked: invalid(
    400,
    'A guard of the policy refuses the request, or blocks the answer. The message names the guard and what it found, and `details` has `guard` and `side`. A blocked answer is charged.',
  ),
  guard_failed: unavailable(503, 'A guard of the policy could not inspect the request or the answer.'),
  upstream_rejected_request: invalid(400, 'The provider refuses the content of the request.'),
  thread_not_found: invalid(
    404,
    'The gateway does not know the stored history that the request continues. Send the whole conversation.',
  ),
  model_not_found: invalid(404, 'No model or selector has this name.'),
  insufficient_quota: spec('insufficient_quota', false)(
    402,
    'A budget or balance has too little left for the request. `details` has the amounts, the time at which a budget renews, and `until` if the budget of a key ends. If the request names a model with fallbacks, `details.rejected` has the reasons against each. If a payment would help, the header `PAYMENT-REQUIRED` says how to pay.',
  ),
  request_exceeds_budget: spec('insufficient_quota', false)(
    402,
    'The request costs more than the whole limit of a budget, so it can never be served. Ask for less output, or shorten the prompt.',
  ),
  payment_required: unpaid(
    402,
    'Pay for the request by x402. The header `PAYMENT-REQUIRED` says how; `accepts` and `details.quote` hold the same terms.',
  ),
  payment_invalid: unpaid(
    402,
    'The payment was refused, and the request was not carried out. `details.reason` says why. The header `PAYMENT-REQUIRED` has a new quote.',
  ),
  agent_wallet_mismatch: forbidden(
    403,
    '`agent_wallet` is neither the wallet of the payment nor the wallet of the API key, or the key may not name this wallet.',
  ),
  unsupported_x402_version: invalid(400, 'The payment does not use version 2 of x402.'),
  payment_unavailable: unavailable(
    503,
    'The blockchain or the payment facilitator does not answer. Nothing was charged.',
  ),
  payment_unsettled: spec('server_error', false)(
    503,
    'The outcome of the payment `details.payment_id` is not known yet. Send the same `PAYMENT-SIGNATURE` after `retry-after`; do not sign another.',
  ),
  not_found: invalid(404, 'The path does not exist, or no object that the key may see has this ID.'),
  method_not_allowed: invalid(
    405,
    'The path does not support this method. The header `allow` lists the methods that it supports.',
  ),
  upgrade_required: invalid(426, 'This path has no WebSocket. Send requests by POST.'),
  request_timeout: spec('invalid_request_error', true)(408, 'The body arrived too slowly.'),
  unsupported_media_type: invalid(415, 'The body must be sent as `application/json`.'),
  precondition_failed: invalid(
    412,
    '`If-Match` names a version that is not the current one. The header `etag` has the current version. Nothing was changed.',
  ),
  in_flight: spec('conflict_error', true)(
    409,
    'A request with this `Idempotency-Key` or payment, or the request that you want to score, is still running. Try again after `retry-after`.',
  ),
  conflict: conflict(409, 'The change contradicts the current state. The message says what to do first.'),
  learning_off: conflict(
    409,
    'The decision cannot be scored: it is about embeddings, or its model is not declared in its policy.',
  ),
  nothing_to_score: conflict(
    409,
    'The request of this decision got no complete answer that could be scored. `details.status` says why.',
  ),
  feedback_conflict: conflict(409, 'The decision already has a different score. The first score stays.'),
  feedback_window_over: invalid(410, 'The decision is older than `details.window_days`.'),
  idempotency_key_reused: invalid(
    422,
    'This `Idempotency-Key` was used with a different body or path in the last 24 hours.',
  ),
  idempotency_answer_unavailable: invalid(
    422,
    'The request was charged as `details.decision_id`, or started as `details.request_id`, but its answer cannot be repeated. It was sent with other credentials, its answer was too large to store, or a change was interrupted.',
  ),
  length_required: invalid(
    411,
    'The body came without its length. Requests without a key, and requests to paths below `/admin` and `/console`, need `content-length` instead of `transfer-encoding`.',
  ),
  request_too_large: invalid(413, 'The body has too many bytes or values.'),
  headers_too_large: { ...invalid(431, 'The headers have too many bytes.'), code: 'request_too_large' },
  no_eligible_model: invalid(
    422,
    'No model satisfies every constraint. `details` has the reasons for each model, and the smallest change that makes a model eligible.',
  ),
  policy_invalid: invalid(
    422,
    'The policy files have mistakes; the active policy stays. `details.diagnostics` lists the mistakes.',
  ),
  rate_limit_exceeded: limited(429, 'Too many requests, tokens or open streams; `details` names the limit.'),
  budget_contended: limited(429, 'Requests in progress hold the rest of the budget that `details` names.'),
  upstream_rate_limited: limited(
    429,
    'The provider is limiting its request rate, and no other provider can serve the request. `retry-after` is the rest of the pause that it requested.',
  ),
  upstream_out_of_credit: spec('server_error', false)(
    503,
    'The gateway’s account at the provider has no credit left, and no other provider can serve the request. Its operator has to add credit there.',
  ),
  upstream_failed: upstream(
    502,
    'Every attempt at a provider failed, or the answer broke off. If the provider refuses the API key of the gateway, requests get this error without another attempt until the operator corrects the key.',
  ),
  upstream_timeout: upstream(504, 'The model did not answer in time, or stopped sending.'),
  no_healthy_model: unavailable(
    503,
    'Every model that could serve the request is unavailable for now, for example because a model server does not have it.',
  ),
  overloaded: unavailable(
    503,
    'The server is overloaded or shutting down, or cannot write to the ledger. Or the request has PDFs, and the provider did not return the token count that decides whether the request fits.',
  ),
  internal_error: spec('server_error', false)(
    500,
    'The request hit a defect in Signalbox. The server’s log has the details.',
  ),
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;

/** The names of all errors. */
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** An upstream's own error, with secrets removed. */
interface OriginalError {
  /** The dialect of the request. */
  readonly dialect: string;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ErrorInfo {
  /** Path of the field that is wrong, such as `messages[0].content`. */
  readonly param?: string;
  /** Figures of the error for programs. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Members of the response body next to `error`, which another protocol requires. */
  readonly beside?: Readonly<Record<string, unknown>>;
  /** Milliseconds after which the caller can try again. */
  readonly retryAfterMs?: number;
  /** Response headers of the error. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The upstream's own error for a passed-through request. Callers in the upstream's dialect get the upstream's own error. */
  readonly original?: OriginalError;
  /** Overrides `retry` of the table: false if the request was billed or would fail again. */
  readonly retry?: boolean;
  /** The cause of the error, which only the log shows. Callers never see the cause of an error. */
  readonly cause?: unknown;
}

/** An error for the caller. `message` is public; the cause is not. */
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
    return this.info.original?.status ?? ERRORS[this.code].status;
  }
}

/** Refuses a value in a request. @param param the path of its field @throws SignalboxError */
export function refuse(param: string, message: string, code: ErrorCode = 'invalid_value'): never {
  throw new SignalboxError(code, message, { param });
}
