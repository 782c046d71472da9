import type { YAMLError } from 'yaml';

/** A line whose indentation does not fit the line above. */
export interface IndentationSlip {
  /** Counts from 1. */
  readonly line: number;
  /** Its leading spaces. */
  readonly spaces: number;
  readonly hint: string;
}

/** Errors that cause all later errors of the YAML library. */
const LOST: ReadonlySet<YAMLError['code']> = new Set([
  'TAB_AS_INDENT',
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'MISSING_CHAR',
]);

export function derailsParser({ code }: YAMLError): boolean {
  return LOST.has(code);
}

/** The wrong indentation behind an error of the YAML library; null for other errors. */
export function findSlip({ code, message }: YAMLError, line: number, text: string): IndentationSlip | null {
  const lines = text.split('\n');
  const isOnTheLine = /^All (?:mapping|sequence) items|without - indicator/.test(message);
  if (!isOnTheLine && code !== 'BLOCK_AS_IMPLICIT_KEY') return null;
  // A value that continues below its line: the line below is indented deeper than the key.
  const from = isOnTheLine ? line - 1 : line;
  const at = lines.findIndex((one, index) => index >= from && isFilled(one));
  const above = lines.findLastIndex((one, index) => index < at && isFilled(one));
  const slipped = lines[at];
  const stands = lines[above];
  if (slipped === undefined || stands === undefined) return null;
  const spaces = /^ */.exec(slipped)?.[0].length ?? 0;
  const wanted = /^ *(?:- +)*/.exec(stands)?.[0] ?? '';
  if (spaces === wanted.length || (!isOnTheLine && spaces < wanted.length)) return null;
  const withDash = wanted.includes('-') ? ', counting its `- `' : '';
  return {
    line: at + 1,
    spaces,
    hint: `this line begins with ${count(spaces)}, line ${above + 1} with ${wanted.length}${withDash}`,
  };
}

const count = (spaces: number) => `${spaces} ${spaces === 1 ? 'space' : 'spaces'}`;

const isFilled = (line: string) => /^\s*[^\s#]/.test(line);
