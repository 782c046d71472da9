import { ERRORS, type SignalboxError } from '../errors.ts';

/**
 * Returns the body of an error response. `beside` holds members of another protocol, such as x402, which the response body has next to
 * `error`. OpenAI's clients can read this error body, too.
 */
export function errorBody({ code, message, info: { param, details, beside } }: SignalboxError) {
  const row: { readonly type: string; readonly code?: string } = ERRORS[code];
  return {
    ...beside,
    error: { message, type: row.type, param: param ?? null, code: row.code ?? code, ...(details && { details }) },
  };
}

/** The member `error` of the body of an error response. */
export type ApiError = ReturnType<typeof errorBody>['error'];
