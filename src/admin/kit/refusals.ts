import { KeyConflict } from '../../access/key-patch.ts';
import { PeopleError } from '../../access/people-terms.ts';
import { KeyTermsError } from '../../access/terms.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { orOverloaded } from '../../store/unwritten.ts';

/**
 * Runs `work` on a key's terms. Turns a refusal of the terms into an error for the caller.
 * @param isField whether the body has a field of this name
 * @throws SignalboxError `invalid_value`
 */
export async function inTerms<T>(
  work: () => T | Promise<T>,
  isField: (param: string) => boolean = () => true,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof KeyTermsError)) throw cause;
    const { message, param } = cause;
    throw new SignalboxError('invalid_value', message, isField(param) ? { param } : {});
  }
}

/** Runs a change. Rejects with SignalboxError `overloaded` if the database cannot be written. */
export const orNothingDone = <T>(change: () => Promise<T>): Promise<T> =>
  orOverloaded('The database cannot be written, so nothing was changed. Try again.', change);

/**
 * Runs a change like `translated`, and also reports a database that cannot be written as an error for the caller. @throws SignalboxError
 */
export const refused = <T>(change: () => T | Promise<T>, isField?: (param: string) => boolean): Promise<T> =>
  orNothingDone(() => translated(change, isField));

/**
 * Runs `work`. Turns a refusal because of terms, or because of the state of a key, a team or a user, into an error for the caller.
 * @param isField whether the body has a field of this name
 * @throws SignalboxError
 */
export async function translated<T>(
  work: () => T | Promise<T>,
  isField: (param: string) => boolean = () => true,
): Promise<T> {
  try {
    return await inTerms(work, isField);
  } catch (cause) {
    if (!(cause instanceof KeyConflict || cause instanceof PeopleError)) throw cause;
    const { reason, message, tag } = cause;
    const param = cause instanceof PeopleError ? cause.param : null;
    throw new SignalboxError(CODES[reason], message, {
      ...(param !== null && isField(param) && { param }),
      ...(tag !== null && { headers: { etag: `"${tag}"` } }),
      cause,
    });
  }
}

const CODES = {
  conflict: 'conflict',
  last_admin_key: 'conflict',
  stale: 'precondition_failed',
  missing: 'not_found',
  busy: 'overloaded',
} as const satisfies Record<(KeyConflict | PeopleError)['reason'], ErrorCode>;
