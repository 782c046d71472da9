import { type OriginalPath, pathKey } from './original.ts';

/** The digits of numbers from 2^53 on, which lose digits when JSON is parsed, by `pathKey` of their location. */
export type LongNumbers = ReadonlyMap<string, string>;

/** A text without it has no number that loses digits. A string can contain it, too. */
const LONG = /(?:^|[[:,\s-])\d[\d.]{15}/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;
/** A number with more digits is neither a card nor any other number of a person. */
const DIGITS_MAX = 40;

/** A number in a parsed text, as it was written. */
class Written {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

/** Returns the numbers that lose digits in a JSON text; null for none. @param text valid JSON */
export function longNumbersIn(text: string): LongNumbers | null {
  if (!LONG.test(text)) return null;
  const found = new Map<string, string>();
  collect(JSON.parse(text, asWritten), [], found);
  return found.size > 0 ? found : null;
}

/** Keeps the text of each long number. The engine passes the text of a value after the value. */
function asWritten(_name: string, value: unknown, ...more: readonly unknown[]): unknown {
  if (typeof value !== 'number' || Math.abs(value) < Number.MAX_SAFE_INTEGER) return value;
  const [context] = more;
  const source = typeof context === 'object' && context !== null ? Reflect.get(context, 'source') : undefined;
  return typeof source === 'string' ? new Written(source) : value;
}

function collect(value: unknown, at: OriginalPath, into: Map<string, string>): void {
  if (value instanceof Written) {
    const digits = digitsOf(value.source);
    if (digits !== null) into.set(pathKey(at), digits);
  } else if (Array.isArray(value)) for (const [index, item] of value.entries()) collect(item, [...at, index], into);
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) collect(member, [...at, name], into);
}

/** Returns the digits of a number before its point; null for too many. `4.5e18` has the digits of `4500000000000000000`. */
function digitsOf(source: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const length = whole.length + Number(exponent);
  if (length > DIGITS_MAX) return null;
  return (
    sign +
    (whole + fraction)
      .slice(0, length)
      .padEnd(length, '0')
      .replace(/^0+(?=\d)/, '')
  );
}

/** Returns the digits of a number in a JSON value. @param numbers of the value */
export function digitsAt(numbers: LongNumbers | null, value: number, at: OriginalPath): string {
  const isLong = numbers !== null && Math.abs(value) >= Number.MAX_SAFE_INTEGER;
  return (isLong ? numbers.get(pathKey(at)) : undefined) ?? String(value);
}

/** Returns a number of a JSON text as guards read it: with all of its digits, however long it is. */
export function numberText(written: string): string {
  const value = Number(written);
  const digits = Math.abs(value) >= Number.MAX_SAFE_INTEGER ? digitsOf(written) : null;
  return digits ?? String(value);
}
