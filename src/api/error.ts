import { ERRORS, type SignalboxError } from '../core/errors.ts';

/** The body of an error, and members of another protocol beside it. OpenAI's clients read it, too. */
interface ErrorAnswer {
  readonly error: {
    readonly message: string;
    readonly type: string;
    /** Path of the field at fault. */
    readonly param: string | null;
    readonly code: string;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

/** Returns the body that tells a caller of an error. */
export function errorBody({ code, message, info: { param, details, beside } }: SignalboxError): ErrorAnswer {
  const row: { readonly type: string; readonly code?: string } = ERRORS[code];
  return {
    ...beside,
    error: { message, type: row.type, param: param ?? null, code: row.code ?? code, ...(details && { details }) },
  };
}
