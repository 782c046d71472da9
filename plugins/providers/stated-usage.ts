import type { Usage } from 'signalbox/plugin';
import { isObject, type Json } from './json.ts';

const FIGURE = /_(?:tokens|requests)$/;
/** More than any request can have. */
const FIGURE_MAX = 1_000_000_000;

const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= FIGURE_MAX;

/** Whether a figure of a `usage` object is no count: a client would choke on it, or add it up. */
function hasOddFigure(usage: Json): boolean {
  for (const name in usage) {
    const value = usage[name];
    if (isObject(value) ? hasOddFigure(value) : value != null && FIGURE.test(name) && !isCount(value)) return true;
  }
  return false;
}

/**
 * Returns the usage so far as the caller finds it in an event: one that cannot be true where the event has a figure that is no
 * count, whether it is billed or not.
 * @param own the event's own object of usage
 * @param read the usage so far, as it was read
 */
export const statedUsage = (own: Json, read: Usage): Usage =>
  hasOddFigure(own) ? { ...read, inputTokens: Number.NaN } : read;
