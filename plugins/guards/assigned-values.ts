import type { TextFinder, TextSpan } from 'signalbox/plugin';
import { isWords, JUDGED } from './code-words.ts';

/** The name of a credential, also with quotes, brackets and a type, and the sign before its value: `api_key: str = `. */
const NAMED =
  /(?:passw(?:or)?d|passphrase|secret|token|(?:api|access|account|private)[_-]?key|credentials?)(?:\\{0,2}["'`])?\]?(?:\s[sS]tring)?(?:\s{0,3}:\s{0,3}[\w&.<>[\]?| ]{1,32}?(?=\s=))?\s{0,3}(?:=>|:=|[:=])(?![:=])\s{0,3}/gi;
/** The beginning of a text in code, such as `"`, `b'` or an escaped quote. */
const OPENING = /(?:[bBrRuUfFL@$]{0,2}|\\{0,2})(["'`])/y;
/** The characters of a value: after a quote, and without one. */
const QUOTED: Readonly<Record<string, RegExp>> = { '"': /[^\s"]+/y, "'": /[^\s']+/y, '`': /[^\s`]+/y };
const BARE = /[^\s"'`,;<>${}()[\]]+/y;

/** The next field after a value in a query: `token=…&scope=`. */
const NEXT_FIELD = /&\w+=/;

const VALUE_MIN = 8;
const LETTER = /[A-Za-z]/;
const DIGIT = /\d/;
/** A text with a place for a value: `${…}`, `#{…}`, `{{…}}`, `{name}`, `%s`, `<name>`. */
const WITH_PLACE = /[$#{]\{|\$\(|\{\w*\}|%[sdv](?!\w)|^<.*>$|^\$\w+$|^%\w+%$/;
/** A word that ends with a number, as many passwords do: `Summer2024!`. */
const WORD_AND_NUMBER = /^[A-Za-z]+\d+[!?@#$%^&*~.+=-]*$/;
/** Signs that passwords have, and names, paths and addresses in code do not. */
const STRONG = /[!@#$^*~]/;
const HEX_NUMBER = /^0x[0-9a-f]{1,16}$/i;
/** The end of a value in settings, queries and sentences. In code, a comma or bracket follows more often. */
const VALUE_END = /[.,]?(?:[\s;&"'`]|$)/y;
/** A number of two digits after a word, unless the word is a type or an algorithm, such as `UInt64`. */
const LONG_NUMBER = /\d\d[!?@#$%^&*~.]*$/;
const SIZE = /(?:16|32|64|128|256|384|512)$/;

/** Finds values after the name of a credential: `api_key = "…"`. References, calls, types, words and texts with a place for a value do not count. */
export const findAssigned: TextFinder = (text, from, until, found) => {
  let last = found.at(-1)?.[1] ?? 0;
  // The value before a name can end with the name, so the search goes on within it.
  NAMED.lastIndex = from;
  for (let name = NAMED.exec(text); name !== null && name.index < until; name = NAMED.exec(text)) {
    const start = NAMED.lastIndex;
    const place = start < last ? null : valueAt(text, start);
    if (start > until || (place && place[1] > until)) return name.index;
    if (place === null) continue;
    found.push(place);
    last = place[1];
  }
  return until;
};

/** Returns the place of a value that counts; null for none. */
function valueAt(text: string, from: number): TextSpan | null {
  const opening = endOf(OPENING, text, from);
  const quoted = opening === null ? undefined : QUOTED[text.charAt(opening - 1)];
  const start = opening ?? from;
  const run = quoted ?? BARE;
  // A run is read to its end only if it counts, because one run can contain the names of many credentials.
  const head = text.slice(start, start + JUDGED + 1);
  const headEnd = endOf(run, head, 0) ?? 0;
  const isLong = headEnd > JUDGED;
  const value = withoutEscape(head.slice(0, Math.min(headEnd, JUDGED)), quoted !== undefined);
  if (value.length < VALUE_MIN || !LETTER.test(value) || isLetters(value)) return null;
  const after = start + value.length;
  const judged = value.split(NEXT_FIELD, 1)[0]!;
  if (!(quoted ? isSecret(judged, isLong) : isBareSecret(judged, text, isLong ? null : after))) return null;
  if (!isLong) return [start, after];
  const end = endOf(run, text, start) ?? after;
  return [start, start + withoutEscape(text.slice(start, end), quoted !== undefined).length];
}

/** Returns where a match ends that begins at an offset; null for none. @param pattern with the flag `y` */
function endOf(pattern: RegExp, text: string, from: number): number | null {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** Removes the backslashes before an escaped quote. */
function withoutEscape(value: string, isQuoted: boolean): string {
  let end = value.length;
  while (isQuoted && end > 0 && value[end - 1] === '\\') end--;
  return value.slice(0, end);
}

const isLetters = (value: string): boolean => /^(?:[a-z]+|[A-Z]+)$/.test(value);

function isSecret(value: string, isLong: boolean): boolean {
  if (WITH_PLACE.test(value)) return false;
  if (!isWords(value)) return true;
  return !isLong && (WORD_AND_NUMBER.test(value) || (DIGIT.test(value) && STRONG.test(value)));
}

/** @param end of the value; null if it is longer than what is judged */
function isBareSecret(value: string, text: string, end: number | null): boolean {
  const next = end === null ? '' : text.charAt(end);
  if (next === '(' || next === '[' || HEX_NUMBER.test(value)) return false;
  if (!isWords(value)) return true;
  const isWhole = end !== null && endOf(VALUE_END, text, end) !== null;
  return isWhole && WORD_AND_NUMBER.test(value) && LONG_NUMBER.test(value) && !SIZE.test(value);
}
