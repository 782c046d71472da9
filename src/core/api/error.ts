import { ERRORS, type SignalboxError } from '../errors.ts';

/** Returns the body that tells a caller of an error, with members of another protocol beside it. OpenAI's clients read it, too. */
export function errorBody({ code, message, info: { param, details, beside } }: SignalboxError) {
  const row: { readonly type: string; readonly code?: string } = ERRORS[code];
  return {
    ...beside,
    error: { message, type: row.type, param: param ?? null, code: row.code ?? code, ...(details && { details }) },
  };
}
