import type { Awaitable } from '../../src/core/awaitable.ts';

/** Returns a value that needs no wait. @throws Error for a promise */
export function atOnce<T>(value: Awaitable<T>): T {
  if (value instanceof Promise) throw new Error('the value needs a wait');
  return value;
}
