/** Returns an answer that a single process gives without asking the store. */
export function atOnce<T>(found: T | Promise<T>): T {
  if (found instanceof Promise) throw new Error('the store was asked');
  return found;
}
