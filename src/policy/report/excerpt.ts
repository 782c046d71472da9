import type { SourceSpan } from '../../core/source-place.ts';
import { visibleLines } from '../../core/text/visible.ts';
import { maskSecrets } from './mask.ts';

/** Code points that take no column in a terminal: combining marks, joiners, variation selectors. */
const ZERO = /^(?:\p{Mn}|\p{Me}|\p{Cf})$/u;
/** Code points that take two columns: East Asian wide and full-width forms, and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$|^\p{Emoji_Presentation}$/u;

/** Returns the width of a text in terminal columns. A tab counts as one column. */
function widthOf(text: string): number {
  let width = 0;
  for (const point of text) width += ZERO.test(point) ? 0 : WIDE.test(point) ? 2 : 1;
  return width;
}

/** Returns spaces as wide as a text. Tabs in the text stay tabs, so the width of a tab does not matter. */
function blanksFor(text: string): string {
  return text
    .split('\t')
    .map((part) => ' '.repeat(widthOf(part)))
    .join('\t');
}

/** A file that diagnostics refer to; without text if it could not be read. */
export interface FileText {
  readonly path: string;
  readonly text?: string;
}

/** Maps the path of a file to its lines, safe to show in a terminal. */
type SourceLines = ReadonlyMap<string, readonly string[]>;

/** Splits files into lines. `sourceLines` masks texts that look like keys, and the texts at the given locations. */
export function sourceLines(files: readonly FileText[], secrets: readonly SourceSpan[]): SourceLines {
  const lines = new Map(files.map(({ path, text }) => [path, text?.split(/\r?\n/) ?? []]));
  for (const { file, line, column, length } of secrets) {
    const of = lines.get(file);
    const text = of?.[line - 1];
    if (!of || text === undefined) continue;
    const from = column - 1;
    // The mask has the same length as the secret, so that other carets on the line stay correct.
    of[line - 1] = text.slice(0, from) + '*'.repeat(Math.min(length, text.length - from)) + text.slice(from + length);
  }
  return new Map([...lines].map(([path, of]) => [path, of.map((line) => visibleLines(maskSecrets(line)))]));
}

/** The most characters shown of a line. */
const SHOWN_MAX = 160;
const SHOWN_BEFORE = 60;

/** Returns the line of a location, with the line before it and carets below; empty if the file is unknown. */
export function excerptOf(
  place: SourceSpan,
  lines: SourceLines,
  paint: (carets: string) => string = (text) => text,
): string {
  const of = lines.get(place.file);
  const whole = of?.[place.line - 1];
  if (!of || whole === undefined) return '';
  const width = String(place.line).length;
  const row = (mark: string, number: string, content: string) =>
    `${mark} ${number.padStart(width)} | ${content}`.trimEnd();
  const before = of[place.line - 2];
  const at = Math.min(place.column - 1, whole.length);
  const [text, from] = windowOf(whole, at);
  const marked = text.slice(from, from + Math.max(1, place.length));
  const carets = '^'.repeat(Math.max(1, widthOf(marked)));
  return [
    ...(before?.trim() ? [row(' ', String(place.line - 1), windowOf(before, 0)[0])] : []),
    row('>', String(place.line), text),
    row(' ', '', blanksFor(text.slice(0, from)) + paint(carets)),
  ].join('\n');
}

/** Returns the part of a line to show, and the position of a location in that part. */
function windowOf(line: string, at: number): readonly [string, number] {
  if (line.length <= SHOWN_MAX) return [line, at];
  const start = Math.max(0, at - SHOWN_BEFORE);
  const end = Math.min(line.length, start + SHOWN_MAX);
  const shown = `${start > 0 ? '…' : ''}${line.slice(start, end)}${end < line.length ? '…' : ''}`;
  return [shown, at - start + (start > 0 ? 1 : 0)];
}
