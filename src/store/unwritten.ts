import { SignalboxError } from '../core/errors.ts';
import { StoreError, type StoreErrorReason } from './store.ts';

/** How long callers wait before they retry, ms. */
const RETRY_MS = 1_000;

/** The greatest age of a copy of the store that may still be used to answer requests, ms. */
const COPY_AGE_MAX_MS = 5_000;

/**
 * Reasons after which the store can work again later, perhaps after an operator's action. Reasons that are not in this list are caused by
 * the request or by a bug.
 */
const AWAY: ReadonlySet<StoreErrorReason> = new Set([
  'broken',
  'busy',
  'crowded',
  'full',
  'denied',
  'missing',
  'fenced',
]);

/** Returns the error for a request during which the store was unavailable; null for any other cause. */
export function awayError(cause: unknown): SignalboxError | null {
  if (!(cause instanceof StoreError && AWAY.has(cause.reason))) return null;
  return new SignalboxError('overloaded', 'The database does not answer now; try again.', {
    retryAfterMs: RETRY_MS,
    cause,
  });
}

/** @throws SignalboxError `overloaded` if a copy of the store is too old to decide with: both a permission and a refusal could be wrong */
export function checkAge(ageMs: number, copy: string): void {
  if (ageMs <= COPY_AGE_MAX_MS) return;
  throw new SignalboxError('overloaded', `The ${copy} cannot be read now; try again.`, { retryAfterMs: RETRY_MS });
}

interface OverloadOptions {
  /** The value false tells SDKs not to retry the request by themselves. */
  readonly retry?: false;
}

/** Returns the error for work that must not happen without being recorded: `overloaded` if the store failed, else the cause itself. */
export function overloadedBy(cause: unknown, message: string, options: OverloadOptions = {}): unknown {
  if (!(cause instanceof StoreError)) return cause;
  return new SignalboxError('overloaded', message, { retryAfterMs: RETRY_MS, ...options, cause });
}

/**
 * Runs work that must not happen without being recorded.
 * @throws SignalboxError `overloaded` with this message if the store fails
 */
export async function orOverloaded<T>(message: string, work: () => Promise<T>, options?: OverloadOptions): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw overloadedBy(cause, message, options);
  }
}
