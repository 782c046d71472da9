import type { Usage } from 'signalbox/plugin';
import { isObject, type Json } from './json.ts';

const FIGURE = /_(?:tokens|requests)$/;
/** A number of tokens that no request can reach. */
const FIGURE_MAX = 1_000_000_000;

const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= FIGURE_MAX;

/** Whether a figure of a usage is invalid. JSON has no infinite numbers: 1e999 would be sent to the caller as null. */
const isOdd = (name: string, value: unknown): boolean =>
  FIGURE.test(name) ? value != null && !isCount(value) : typeof value === 'number' && !Number.isFinite(value);

/** Whether a figure of a `usage` object is not a valid count. A client could crash on an invalid count, or add it up. */
function hasOddFigure(usage: Json): boolean {
  for (const name in usage) {
    const value = usage[name];
    if (isObject(value) ? hasOddFigure(value) : isOdd(name, value)) return true;
  }
  return false;
}

/** The figures that clients of a dialect rely on. */
interface PromisedFigures {
  /** Usage figures that must be present. */
  readonly required: readonly string[];
  /** Usage figures that may be absent, but not null. */
  readonly optional?: readonly string[];
}

/**
 * Returns the usage so far as the caller sees it in an event. If a promised figure is missing or null, or any figure is not a valid count,
 * `statedUsage` returns a usage that cannot be true.
 * @param own the event's own usage object
 * @param read the usage so far, as it was read
 */
export function statedUsage(own: unknown, read: Usage, { required, optional = [] }: PromisedFigures): Usage {
  const isWhole =
    isObject(own) &&
    !hasOddFigure(own) &&
    required.every((name) => isCount(own[name])) &&
    optional.every((name) => own[name] !== null);
  return isWhole ? read : { ...read, inputTokens: Number.NaN };
}
