import { SignalboxError } from '../core/errors.ts';
import { StoreError } from './store.ts';

/** The time after which the disk is tried again, ms. */
const RETRY_MS = 1_000;

/**
 * Runs work that must not happen unwritten.
 * @param options `retry: false` asks SDKs not to repeat it by themselves.
 * @throws SignalboxError `overloaded` with this message when the store fails.
 */
export async function orOverloaded<T>(
  message: string,
  work: () => Promise<T>,
  options: { retry?: false } = {},
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    throw new SignalboxError('overloaded', message, { retryAfterMs: RETRY_MS, ...options, cause });
  }
}
