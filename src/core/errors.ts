/**
 * Every error that a caller can see: code → status and OpenAI error type. Codes are never
 * renamed or reused. `code` is the one on the wire where it differs from the name; `retry`
 * tells a client whether the same request can succeed later.
 */
export const ERRORS = {
  invalid_api_key: { status: 401, type: 'authentication_error', retry: false },
  insufficient_permissions: { status: 403, type: 'permission_error', retry: false },
  invalid_json: { status: 400, type: 'invalid_request_error', retry: false },
  invalid_type: { status: 400, type: 'invalid_request_error', retry: false },
  invalid_value: { status: 400, type: 'invalid_request_error', retry: false },
  missing_field: { status: 400, type: 'invalid_request_error', retry: false },
  unknown_field: { status: 400, type: 'invalid_request_error', retry: false },
  out_of_range: { status: 400, type: 'invalid_request_error', retry: false },
  unsupported_parameter: { status: 400, type: 'invalid_request_error', retry: false },
  budget_limit_too_low: { status: 400, type: 'invalid_request_error', retry: false },
  context_length_exceeded: { status: 400, type: 'invalid_request_error', retry: false },
  upstream_rejected_request: { status: 400, type: 'invalid_request_error', retry: false },
  model_not_found: { status: 404, type: 'invalid_request_error', retry: false },
  not_found: { status: 404, type: 'invalid_request_error', retry: false },
  method_not_allowed: { status: 405, type: 'invalid_request_error', retry: false },
  unsupported_media_type: { status: 415, type: 'invalid_request_error', retry: false },
  request_too_large: { status: 413, type: 'invalid_request_error', retry: false },
  headers_too_large: { status: 431, type: 'invalid_request_error', retry: false, code: 'request_too_large' },
  no_eligible_model: { status: 422, type: 'invalid_request_error', retry: false },
  upstream_rate_limited: { status: 429, type: 'rate_limit_error', retry: true },
  upstream_failed: { status: 502, type: 'upstream_error', retry: true },
  upstream_timeout: { status: 504, type: 'upstream_error', retry: true },
  overloaded: { status: 503, type: 'server_error', retry: true },
  no_healthy_model: { status: 503, type: 'server_error', retry: true },
  internal_error: { status: 500, type: 'server_error', retry: false },
} as const satisfies Record<string, { status: number; type: string; retry: boolean; code?: string }>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorInfo {
  /** Path of the field at fault, such as `messages[0].content`. */
  readonly param?: string;
  /** Figures that a program can use. */
  readonly details?: Readonly<Record<string, unknown>>;
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

  /** The body that goes out, in OpenAI's shape. */
  toBody(): {
    error: {
      message: string;
      type: string;
      param: string | null;
      code: string;
      details?: Readonly<Record<string, unknown>>;
    };
  } {
    const { param, details } = this.info;
    const row: { type: string; code?: string } = ERRORS[this.code];
    return {
      error: {
        message: this.message,
        type: row.type,
        param: param ?? null,
        code: row.code ?? this.code,
        ...(details && { details }),
      },
    };
  }
}
