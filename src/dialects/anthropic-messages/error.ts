import { ERRORS, type ErrorCode, type SignalboxError } from '../../core/errors.ts';
import { ANTHROPIC_MESSAGES } from './reader.ts';

export const ERROR_TYPES = [
  'invalid_request_error',
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
  'conflict_error',
  'request_too_large',
  'rate_limit_error',
  'timeout_error',
  'api_error',
  'overloaded_error',
] as const;
type AnthropicErrorType = (typeof ERROR_TYPES)[number];

/** The error types of statuses that have their own type. All other statuses below 500 mean that the request is invalid. */
const BY_STATUS: Readonly<Record<number, AnthropicErrorType>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};
/** Error codes whose status would suggest the wrong error type. */
const BY_CODE: Partial<Record<ErrorCode, AnthropicErrorType>> = {
  headers_too_large: 'request_too_large',
  payment_unavailable: 'api_error',
  payment_unsettled: 'api_error',
  // An overload error would make clients retry, although the provider's account has no credit.
  upstream_out_of_credit: 'api_error',
};

/** Returns Anthropic's type of an error. */
export function errorType(code: ErrorCode): AnthropicErrorType {
  const { status } = ERRORS[code];
  return BY_CODE[code] ?? BY_STATUS[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** Clients shorten a prompt automatically if the message begins with this text. */
const TOO_LONG = 'prompt is too long: ';

/**
 * Returns the body of an error. `details` contains Signalbox's error code, the field at fault and the error's figures. For a request that
 * was passed on unchanged, `errorBody` returns the provider's error body unchanged.
 */
export function errorBody(error: SignalboxError, requestId?: string): object {
  const { code, message, info } = error;
  if (info.original?.dialect === ANTHROPIC_MESSAGES) return info.original.body;
  const { code: wire = code }: { readonly code?: string } = ERRORS[code];
  return {
    ...info.beside,
    type: 'error',
    error: {
      type: errorType(code),
      message: code === 'context_length_exceeded' ? TOO_LONG + message : message,
      details: { error_code: wire, ...(info.param !== undefined && { param: info.param }), ...info.details },
    },
    request_id: requestId ?? null,
  };
}
