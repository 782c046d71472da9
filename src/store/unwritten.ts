import { SignalboxError } from '../core/errors.ts';
import { StoreError, type StoreErrorReason } from './store.ts';

/** The time after which the disk is tried again, ms. */
const RETRY_MS = 1_000;

/** A copy of the store that is older serves nothing, ms. */
const COPY_AGE_MAX_MS = 5_000;

/** A store that fails so answers again later, maybe by an operator’s doing. The other reasons lie in the request or in the program. */
const AWAY: ReadonlySet<StoreErrorReason> = new Set([
  'broken',
  'busy',
  'crowded',
  'full',
  'denied',
  'missing',
  'fenced',
]);

/** Returns the error of a request that found the store away; null for any other cause. */
export function awayError(cause: unknown): SignalboxError | null {
  if (!(cause instanceof StoreError && AWAY.has(cause.reason))) return null;
  return new SignalboxError('overloaded', 'The database does not answer now; try again.', {
    retryAfterMs: RETRY_MS,
    cause,
  });
}

/** @throws SignalboxError `overloaded` for a copy by which nobody may be judged any more: neither a yes nor a no would be right */
export function checkAge(ageMs: number, copy: string): void {
  if (ageMs <= COPY_AGE_MAX_MS) return;
  throw new SignalboxError('overloaded', `The ${copy} cannot be read now; try again.`, { retryAfterMs: RETRY_MS });
}

interface OverloadOptions {
  /** False asks SDKs not to repeat the request by themselves. */
  readonly retry?: false;
}

/** Returns the error of work that must not happen unwritten: `overloaded` where the store failed, else the cause itself. */
export function overloadedBy(cause: unknown, message: string, options: OverloadOptions = {}): unknown {
  if (!(cause instanceof StoreError)) return cause;
  return new SignalboxError('overloaded', message, { retryAfterMs: RETRY_MS, ...options, cause });
}

/**
 * Runs work that must not happen unwritten.
 * @throws SignalboxError `overloaded` with this message when the store fails.
 */
export async function orOverloaded<T>(message: string, work: () => Promise<T>, options?: OverloadOptions): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw overloadedBy(cause, message, options);
  }
}
