import { KeyConflict } from '../../access/key-patch.ts';
import { PeopleError } from '../../access/people-terms.ts';
import { KeyTermsError } from '../../access/terms.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { orOverloaded } from '../../store/unwritten.ts';

/**
 * Runs work on a key's terms and turns their refusal into an error of the caller.
 * @param isField whether the body has a field of that name
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

/** Runs a change that the disk may refuse. Rejects with SignalboxError `overloaded` where it does. */
export const orNothingDone = <T>(change: () => Promise<T>): Promise<T> =>
  orOverloaded('The database cannot be written, so nothing was changed; try again.', change);

/** Runs a change as `translated` runs work, and turns a refusal by the disk into an error of the caller, too. @throws SignalboxError */
export const refused = <T>(change: () => T | Promise<T>, isField?: (param: string) => boolean): Promise<T> =>
  orNothingDone(() => translated(change, isField));

/**
 * Runs work, and turns a refusal by terms, or by the state of what it is about, into an error of the caller.
 * @param isField as in `inTerms`
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
