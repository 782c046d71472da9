import { SignalboxError } from '../core/errors.ts';
import { StoreError } from './store.ts';

/** The time after which the disk is tried again, ms. */
const RETRY_MS = 1_000;

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
