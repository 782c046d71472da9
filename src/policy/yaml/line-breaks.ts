import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';

/**
 * Characters that begin a new line in many editors or in YAML 1.1, but not in Signalbox, which accepts LF and CRLF. With such a character,
 * a reviewer can see another text than the text that applies: a comment can seem to end before it does.
 */
const FOREIGN_BREAK = /\r(?!\n)|[\u0085\u2028\u2029]/g;

const NAMES: ReadonlyMap<string, readonly [name: string, escape: string]> = new Map([
  ['\r', ['carriage return (U+000D) without a line feed', '\\r']],
  ['\u0085', ['next line (U+0085)', '\\N']],
  ['\u2028', ['line separator (U+2028)', '\\u2028']],
  ['\u2029', ['paragraph separator (U+2029)', '\\u2029']],
]);

/** The most characters reported for one file. */
const REPORTED_MAX = 5;

/** Reports the first line breaks of a file that only some programs recognise. @returns whether the file has any */
export function refuseForeignBreaks(file: string, text: string, report: Report): boolean {
  let found = 0;
  for (const { 0: character, index } of text.matchAll(FOREIGN_BREAK)) {
    if (++found > REPORTED_MAX) break;
    const [name, escaped] = NAMES.get(character) ?? [];
    report.add(
      'line-break',
      placeOf(file, text, index),
      `the text has a ${name}, which only some readers see as a line break`,
      {
        expected: 'LF or CRLF at the end of each line',
        hint: `in a double-quoted text, write \`${escaped}\``,
      },
    );
  }
  return found > 0;
}

function placeOf(file: string, text: string, at: number): SourceSpan {
  const before = text.slice(0, at);
  return { file, line: before.split('\n').length, column: at - before.lastIndexOf('\n'), length: 1 };
}
