import type { Usage } from 'signalbox/plugin';
import { isObject, type Json } from './json.ts';

const FIGURE = /_(?:tokens|requests)$/;
/** More than any request can have. */
const FIGURE_MAX = 1_000_000_000;

const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= FIGURE_MAX;

/** JSON has no infinite number: one such as 1e999 would go out as null. */
const isOdd = (name: string, value: unknown): boolean =>
  FIGURE.test(name) ? value != null && !isCount(value) : typeof value === 'number' && !Number.isFinite(value);

/** Whether a figure of a `usage` object is no count: a client would choke on it, or add it up. */
function hasOddFigure(usage: Json): boolean {
  for (const name in usage) {
    const value = usage[name];
    if (isObject(value) ? hasOddFigure(value) : isOdd(name, value)) return true;
  }
  return false;
}

/** The figures that a dialect promises its clients. */
interface PromisedFigures {
  /** Figures that must be there. */
  readonly required: readonly string[];
  /** Figures that may be absent, but not null. */
  readonly optional?: readonly string[];
}

/**
 * Returns the usage so far as the caller finds it in an event: one that cannot be true where a promised figure is missing or null, or
 * where any figure is no count, whether it is billed or not.
 * @param own the event's own object of usage
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
