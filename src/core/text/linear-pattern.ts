import type * as Re2 from 're2js';
import { allIn, type TextFinder, type TextSpan } from './search.ts';

declare const require: (name: 're2js') => typeof Re2;

/** A pattern whose search takes time proportional to the text, whatever the pattern and the text are. */
export interface LinearPattern {
  /** Returns all matches in order, without overlap and without empty matches. A match ends after 4,096 characters at the latest. */
  matches(text: string): TextSpan[];
  /** Finds the same matches, also in parts of a text. */
  readonly find: TextFinder;
}

const MATCH_MAX = 4_096;
/** The characters before a place that can decide whether a match begins there. */
const CONTEXT = 16;
/** The most steps of a compiled pattern. Each takes about 200 bytes, and each character of a text can take every step once. */
export const PATTERN_SIZE_MAX = 4_096;

/**
 * Compiles a pattern in the syntax of RE2, which has no references to groups and no look-around.
 * @param isCaseBlind whether `a` also matches `A`
 * @throws Error with a sentence for a pattern that RE2 refuses, or that is too large
 */
export function linearPattern(source: string, isCaseBlind = false): LinearPattern {
  const size = patternSize(source);
  if (size > PATTERN_SIZE_MAX)
    throw new Error(
      `the repetitions of its parts make ${size.toLocaleString('en')} steps, and at most 4,096 are possible`,
    );
  // Loading RE2 would take a fifth of a start, and few policies have patterns.
  const { RE2JS } = require('re2js');
  const pattern = RE2JS.compile(source, isCaseBlind ? RE2JS.CASE_INSENSITIVE : 0);
  const find: TextFinder = (text, from, until, found) => {
    // A search reads some texts from their beginning, whatever it begins at.
    const base = Math.max(0, from - CONTEXT);
    const matcher = pattern.matcher(text.slice(base));
    for (let isFound = matcher.find(from - base); isFound; ) {
      const [start, end] = [base + matcher.start(), base + matcher.end()];
      const isLong = end - start > MATCH_MAX;
      if ((isLong ? start + MATCH_MAX : end) > until) return Math.min(start, until);
      if (end > start) found.push([start, isLong ? start + MATCH_MAX : end]);
      isFound = isLong ? matcher.find(start - base + MATCH_MAX) : matcher.find();
    }
    return until;
  };
  return { find, matches: (text) => allIn(find, text) };
}

/** The counts of a repetition: `{3}`, `{3,}` or `{3,9}`. */
const REPETITION = /\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/y;
/** A class of characters: `[^a-z]`. The first sign may be `]`. */
const CLASS = /\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]/y;
/** An escaped character, or a class of characters with a name: `\d`, `\x{41}`, `\pL`, `\p{Greek}`. */
const ESCAPED = /\\(?:Q[\s\S]*?(?:\\E|$)|[pPx]\{[^}]*\}|[\s\S])/y;
/** The beginning of a group with its flags. */
const GROUP = /\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:?))?/y;

/** Returns about how many steps a pattern has when it is compiled, rather too many. It is read without being compiled. */
export function patternSize(source: string): number {
  /** The sizes of the open groups, without their last part. */
  const open: number[] = [];
  let [sum, last] = [0, 0];
  let at = 0;
  const take = (form: RegExp): string | null => {
    form.lastIndex = at;
    const found = form.exec(source)?.[0] ?? null;
    if (found !== null) at += found.length;
    return found;
  };
  const begin = (size: number): void => {
    sum += last;
    last = size;
  };
  while (at < source.length) {
    const sign = source[at]!;
    REPETITION.lastIndex = at;
    const repeated = sign === '{' ? REPETITION.exec(source) : null;
    if (repeated) {
      at += repeated[0].length;
      last = (last + 1) * Math.max(1, Number(repeated[1]) + (repeated[2] ? 1 : 0), Number(repeated[3] ?? 0));
    } else if (sign === '(') {
      take(GROUP);
      open.push(sum + last);
      [sum, last] = [2, 0];
    } else if (sign === ')') {
      at++;
      const size = sum + last;
      [sum, last] = [open.pop() ?? 0, size];
    } else if (sign === '\\') begin(take(ESCAPED)!.length);
    else if (sign === '[') begin(take(CLASS) === null ? ++at : 1);
    else {
      at++;
      if ('*+?'.includes(sign)) last += 1;
      else begin(1);
    }
  }
  return sum + last + open.reduce((all, size) => all + size, 0);
}
