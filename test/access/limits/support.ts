/** An answer that the limits of one process give at once: nobody else is asked. */
export function atOnce<T>(found: T | Promise<T>): T {
  if (found instanceof Promise) throw new Error('the store was asked');
  return found;
}
