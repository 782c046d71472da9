import type { TextRange } from './text-range.ts';
import type { TextTables } from './text-tables.ts';
import { PLACE, type WordRows } from './word-rows.ts';
import { COLUMN, COLUMNS, SHIPPED_WORDS, STEPS } from './word-table.ts';

/**
 * Programs and people put a question into a frame that orders no task: "Please read the following and provide your answer", "Question: …
 * Answer:", `{"channel": "web", "body": "…"}`. The frame is at the beginning and at the end of a message. `innerOf` finds the
 * likeliest range of sentences between, from the words and the form of each sentence.
 */

/** A sentence, a label or a mark of a question. */
export interface Span extends TextRange {
  /** The line of the question that contains the span. */
  readonly line: number;
  /** The range of its rows in `TextTables.spans`. */
  readonly begin: number;
  readonly end: number;
}

/** After this many spans, the rest of each line is one span. */
const SPANS_MAX = 120;
/** The number of characters read at each end of a question. */
const EDGE = 500;
/** A span begins before the character, ends after it, or ends after it if a gap follows. */
const BEFORE = 1;
const AFTER = 2;
const AFTER_IF_GAP = 4;
const KIND = new Uint8Array(0x10000);
for (const one of '<[{【「“„«("') KIND[one.charCodeAt(0)]! |= BEFORE;
for (const one of '>]}】」”»):：。！？"') KIND[one.charCodeAt(0)]! |= AFTER;
for (const one of '.!?…;') KIND[one.charCodeAt(0)]! |= AFTER_IF_GAP;

/**
 * Splits the lines of a question into sentences, labels such as "Question:", and marks such as "<input>".
 * @param rows collects the words of the spans
 */
export function spansOf(text: string, lines: readonly TextRange[], rows: WordRows): Span[] {
  const spans: Span[] = [];
  rows.clear();
  const add = (first: number, last: number, line: number): void => {
    let from = first;
    let to = last;
    while (from < to && text.charCodeAt(from) <= 0x20) from++;
    while (to > from && text.charCodeAt(to - 1) <= 0x20) to--;
    if (from >= to) return;
    const begin = rows.size;
    rows.add(text, from, to, PLACE.question);
    spans.push({ from, to, line, begin, end: rows.size });
  };
  const split = (from: number, to: number, line: number): void => {
    let start = from;
    for (let at = from; at < to && spans.length < SPANS_MAX; at++) {
      const kind = KIND[text.charCodeAt(at)]!;
      if (kind === 0) continue;
      if ((kind & BEFORE) !== 0 && at > start) {
        add(start, at, line);
        start = at;
      }
      if ((kind & AFTER) === 0 && ((kind & AFTER_IF_GAP) === 0 || (at + 1 < to && text.charCodeAt(at + 1) > 0x20)))
        continue;
      add(start, at + 1, line);
      start = at + 1;
    }
    add(start, to, line);
  };
  // The middle of a long question is not read.
  const middle = (lines[0]?.from ?? 0) + EDGE;
  const end = Math.max(middle, (lines.at(-1)?.to ?? 0) - EDGE);
  for (let line = 0; line < lines.length; line++) {
    const { from, to } = lines[line]!;
    if (from < middle) split(from, Math.min(to, middle), line);
    if (to > end) split(Math.max(from, end), to, line);
  }
  return spans;
}

/** A text of more rows than this says no more about the task than a text of this many rows. */
const ROWS_COUNTED = 150;

/** The value of each row of a text: the more rows it has, the less each of them weighs. */
export const wordsValue = (rows: number): number =>
  (4 * Math.sqrt(Math.min(ROWS_COUNTED, Math.max(4, rows)))) / Math.max(4, rows);

/** Writes the rows of facts about a span to `rows`: where it is and how it begins and ends. */
export function readForm(text: string, spans: readonly Span[], at: number, rows: WordRows): void {
  const { from, to, line, begin, end } = spans[at]!;
  const before = spans[at - 1];
  const after = spans[at + 1];
  const [first, last] = [Math.min(at, 4), Math.min(spans.length - 1 - at, 4)];
  const length = spans.at(-1)!.to - spans[0]!.from;
  rows.clear();
  rows.fact(0, (before?.line === line ? 1 : 0) + (after?.line === line ? 2 : 0));
  rows.fact(1, first);
  rows.fact(2, last);
  rows.fact(3, 5 * first + last);
  rows.fact(4, Math.min(9, Math.floor(1.5 * Math.log2(end - begin + 1))));
  rows.fact(5, Math.min(6, Math.floor(Math.log2(spans.length))));
  rows.fact(6, before ? newlines(text, before.to, from) : 3);
  rows.fact(7, after ? newlines(text, to, after.from) : 3);
  rows.fact(8, Math.floor((9 * (to - from)) / length));
  rows.fact(9, text.charCodeAt(to - 1));
  rows.fact(10, 8 * KIND[text.charCodeAt(from)]! + KIND[text.charCodeAt(to - 1)]!);
  rows.fact(11, before ? text.charCodeAt(before.to - 1) : 0);
}

/** Returns the number of line breaks in a range, at most 2. */
function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to && count < 2; at++) if (text.charCodeAt(at) === 0x0a) count++;
  return count;
}

/** Returns the log odds that a span belongs to a frame. A span whose words name a task is less likely a frame. */
function frameOdds(text: string, spans: readonly Span[], at: number, tables: TextTables): number {
  const { begin, end } = spans[at]!;
  const form = tables.rows;
  readForm(text, spans, at, form);
  const value = wordsValue(end - begin);
  const odds = (value * sum(tables.spans, begin, end) + sum(form, 0, form.size)) / STEPS;
  return odds > 0 ? odds - (value * leadOfTask(begin, end, tables)) / STEPS : odds;
}

/** Returns by how much the words of a span make their likeliest task likelier than the next. */
function leadOfTask(begin: number, end: number, { spans, tasks }: TextTables): number {
  tasks.fill(0);
  for (let at = begin; at < end; at++) {
    const place = spans.at(at) * COLUMNS;
    for (let task = 0; task < tasks.length; task++) tasks[task]! += SHIPPED_WORDS[place + task]!;
  }
  let [first, second] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const one of tasks) {
    if (one > first) [first, second] = [one, first];
    else if (one > second) second = one;
  }
  return first - second;
}

function sum(rows: WordRows, from: number, to: number): number {
  let all = 0;
  for (let at = from; at < to; at++) all += SHIPPED_WORDS[rows.at(at) * COLUMNS + COLUMN.frame]!;
  return all;
}

/** The number of spans at each end that may belong to a frame. All between belong to the question. */
const ENDS = 12;
/** The log odds of a frame for each span between the ends. */
const WITHIN = -1;

/** A span counts as a frame only if it is this likely, because a question without its words is worse than a question with a frame. */
const SURE = 0.5;

/** The first and the last span of the question itself. */
export interface Inner {
  readonly spans: readonly Span[];
  readonly first: number;
  readonly last: number;
  /** Whether the question itself is more likely a frame too. */
  readonly isFrame: boolean;
}

/** Finds the range of spans that asks: the range with the largest sum of log odds against a frame. */
export function innerOf(text: string, lines: readonly TextRange[], tables: TextTables): Inner {
  const spans = spansOf(text, lines, tables.spans);
  let [first, last, best] = [0, spans.length - 1, Number.NEGATIVE_INFINITY];
  let start = 0;
  let sumHere = 0;
  for (let at = 0; at < spans.length; at++) {
    const isWithin = at >= ENDS && at < spans.length - ENDS;
    const odds = SURE - (isWithin ? WITHIN : frameOdds(text, spans, at, tables));
    if (sumHere <= 0) {
      start = at;
      sumHere = 0;
    }
    sumHere += odds;
    if (sumHere > best) [first, last, best] = [start, at, sumHere];
  }
  return { spans, first, last, isFrame: best < 0 };
}
