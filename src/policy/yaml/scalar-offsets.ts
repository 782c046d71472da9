import type { SourceSpan } from '../report/diagnostics.ts';
import type { ScalarTree } from './tree.ts';

/**
 * Finds the location in the file of a part of a scalar's value, for every YAML style: plain, quoted with escapes, folded over lines, or a
 * block. A part that spans several lines ends with its first line.
 * @param from, to UTF-16 offsets in the value
 */
export function placeWithin(tree: ScalarTree, text: string, from: number, to: number): SourceSpan {
  const { file, line, column } = tree.place;
  const value = String(tree.value);
  const offsets = alignScalar(text, offsetOf(text, line, column), value);
  const first = offsets[Math.min(from, value.length)]!;
  const lineEnd = `${text}\n`.indexOf('\n', first);
  const end = to > from ? endOf(text, offsets, Math.max(from, Math.min(to, value.length) - 1), value) : first + 1;
  return {
    file,
    line: text.slice(0, first).split('\n').length,
    column: first - text.lastIndexOf('\n', first - 1),
    length: Math.max(1, Math.min(end, lineEnd) - first),
  };
}

/**
 * Returns the offset in the file after one unit of the value. An escape is longer than the unit that it represents, and a folded space may
 * have no text in the file.
 */
function endOf(text: string, offsets: readonly number[], at: number, value: string): number {
  const begins = offsets[at]!;
  return value[at] === text[begins] && text[begins] !== '\\' ? begins + 1 : (offsets[at + 1] ?? begins + 1);
}

const offsetOf = (text: string, line: number, column: number): number =>
  text.split('\n', line - 1).reduce((sum, above) => sum + above.length + 1, column - 1);

const BLANKS: ReadonlySet<string | undefined> = new Set(' \t\n\r');

/**
 * Returns the offset in the file of each unit of a scalar's value, and of its end. All characters except whitespace are in the same order
 * in the file. Whitespace may be folded, so `alignScalar` synchronises again at each other character.
 */
function alignScalar(text: string, start: number, value: string): number[] {
  const style = text[start] ?? '';
  const isDouble = style === '"';
  let at = style === '|' || style === '>' ? text.indexOf('\n', start) + 1 : start + (/["']/.test(style) ? 1 : 0);
  const offsets: number[] = [];
  while (offsets.length < value.length) {
    const unit = value[offsets.length]!;
    if (isDouble) at = behindEscapedBreaks(text, at);
    const isEscaped = isDouble && text[at] === '\\';
    if (BLANKS.has(unit) && !isEscaped) {
      offsets.push(at);
      if (BLANKS.has(text[at])) at++;
      continue;
    }
    if (!isEscaped) while (BLANKS.has(text[at])) at++;
    if (isDouble) at = behindEscapedBreaks(text, at);
    const length = isDouble && text[at] === '\\' ? escapeLength(text[at + 1]) : style === "'" && unit === "'" ? 2 : 1;
    offsets.push(at);
    // One escape may represent two UTF-16 units.
    if (length > 6 && /[\ud800-\udbff]/.test(unit)) offsets.push(at);
    at += length;
  }
  return [...offsets, at];
}

/** Skips backslashes that join a line to the next line, because such backslashes do not appear in the value. */
function behindEscapedBreaks(text: string, at: number): number {
  const breaks = /(?:\\\r?\n[ \t]*)*/y;
  breaks.lastIndex = at;
  return at + (breaks.exec(text)?.[0].length ?? 0);
}

const escapeLength = (kind: string | undefined): number =>
  kind === 'x' ? 4 : kind === 'u' ? 6 : kind === 'U' ? 10 : 2;
