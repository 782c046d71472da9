import file from './lexicon/code-lines.json' with { type: 'json' };
import { expressionsOf, patternsOf } from './lexicon/data.ts';
import words from './lexicon/small-words.json' with { type: 'json' };

/** The maximum number of characters that are read of a line. */
const LINE = 160;

/** Expressions for the beginnings of code lines, by language; '' for beginnings that several languages share. */
const LINES = Object.entries(expressionsOf(file));

const START = new RegExp(LINES.map(({ 1: { source } }) => `(${source})`).join('|'), 'y');
/** An expression for the ends of statements and blocks. */
const END = /(?:[)}\]] ?;|[)\w>] ?\{|=.{1,160};)$/;
/**
 * A line without any of the characters in `MARKS` and without a keyword is prose, so `MARKS` allows a fast first test. Whether parentheses
 * and colons are signs of code also depends on their neighbours.
 */
const MARKS = new Uint8Array(0x10000);
const SURE = 1;
const BESIDE = 2;
for (const mark of '{};=<>#$[]@') MARKS[mark.charCodeAt(0)] = SURE;
for (const mark of '(:') MARKS[mark.charCodeAt(0)] = BESIDE;
const KEYWORD = new RegExp(`(?:${patternsOf(words.lists.code_keywords).join('|')}) ?`, 'y');

/** Whether a line has a sign of code: a bracket, a call, a colon at its end or after the name of an error, or a keyword at its start. */
export function mayBeCode(text: string, from: number, to: number): boolean {
  const end = Math.min(to, from + LINE);
  for (let at = from; at < end; at++) {
    const mark = MARKS[text.charCodeAt(at)]!;
    if (mark === 0) continue;
    if (mark === SURE) return true;
    if (text.charCodeAt(at) === 0x28) {
      if (at > from && isWordUnit(text.charCodeAt(at - 1))) return true;
    } else if (at + 1 >= to || isErrorEnd(text, at)) return true;
  }
  KEYWORD.lastIndex = from;
  return KEYWORD.test(text);
}

const isWordUnit = (code: number): boolean =>
  (code > 0x60 && code < 0x7b) || (code > 0x40 && code < 0x5b) || (code >= 0x30 && code < 0x3a) || code === 0x5f;
const isErrorEnd = (text: string, at: number): boolean => text.endsWith('Error', at) || text.endsWith('Exception', at);

/** Returns the programming language of a line; '' for code of an unclear language, null for prose. */
export function languageOfLine(text: string, from: number, to: number): string | null {
  let start = from;
  while (start < to && text.charCodeAt(start) <= 0x20) start++;
  let end = to;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--;
  if (!mayBeCode(text, start, end)) return null;
  const line = text.slice(start, Math.min(end, start + LINE));
  START.lastIndex = 0;
  const match = START.exec(line);
  if (match) return LINES[match.indexOf(match[0], 1) - 1]![0];
  const last = end > start ? text.charCodeAt(end - 1) : 0;
  return (last === 0x3b || last === 0x7b) && END.test(line) ? '' : null;
}
