import { SignalboxError } from '../core/errors.ts';
import { StoreError } from './store.ts';

/** When the disk is tried again, ms. */
const RETRY_MS = 1_000;

/**
 * What cannot be written down is not done: where the store fails, it rejects with SignalboxError `overloaded`, in these
 * words. `retry: false` tells SDKs not to repeat it by themselves.
 */
export async function orOverloaded<T>(
  message: string,
  work: () => Promise<T>,
  told: { retry?: false } = {},
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    throw new SignalboxError('overloaded', message, { retryAfterMs: RETRY_MS, ...told, cause });
  }
}
