import type { SourceSpan } from './diagnostics.ts';
import type { ScalarTree } from './tree.ts';

/**
 * Finds the place of a part of a scalar's value in the file, for every style: plain, quoted with
 * escapes, folded over lines, or a block. A part that spans lines ends with its first line.
 * @param from, to UTF-16 offsets in the value
 */
export function placeWithin(tree: ScalarTree, text: string, from: number, to: number): SourceSpan {
  const { file, line, column } = tree.place;
  const value = String(tree.value);
  const offsets = alignScalar(text, offsetOf(text, line, column), value);
  const first = offsets[Math.min(from, value.length)] ?? offsets.at(-1) ?? 0;
  const last = Math.max(from, Math.min(to, value.length) - 1);
  const end = to > from ? endOf(text, offsets, last, value) : first + 1;
  const lineStart = text.lastIndexOf('\n', first - 1) + 1;
  const lineEnd = text.indexOf('\n', first);
  const limit = lineEnd < 0 ? text.length : lineEnd;
  return {
    file,
    line: text.slice(0, first).split('\n').length,
    column: first - lineStart + 1,
    length: Math.max(1, Math.min(end, limit) - first),
  };
}

/** The offset in the file after a unit of the value. An escape is longer than its unit. */
function endOf(text: string, offsets: readonly number[], at: number, value: string): number {
  const begins = offsets[at] ?? 0;
  if (value[at] === text[begins] && text[begins] !== '\\') return begins + 1;
  return at + 1 < value.length ? (offsets[at + 1] ?? begins + 1) : begins + 2;
}

function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let at = 1; at < line; at++) start = text.indexOf('\n', start) + 1;
  return start + column - 1;
}

/**
 * The offset in the file of each unit of a scalar's value, and of its end. Characters other than
 * blanks are in the same order in the file. Blanks may be folded, so the walk resynchronises at each
 * other character.
 */
function alignScalar(text: string, start: number, value: string): number[] {
  const style = text[start] ?? '';
  const isBlock = style === '|' || style === '>';
  const isQuoted = style === '"' || style === "'";
  let at = isBlock ? text.indexOf('\n', start) + 1 : isQuoted ? start + 1 : start;
  const offsets: number[] = [];
  for (let i = 0; i < value.length; i++) {
    const unit = value[i] ?? '';
    if (style === '"') at = skipEscapedBreaks(text, at);
    const escaped = style === '"' && text[at] === '\\' ? escapeLength(text, at) : 0;
    if (isBlank(unit) && escaped === 0) {
      offsets.push(at);
      if (isBlank(text[at] ?? '')) at++;
      continue;
    }
    if (escaped === 0) while (at < text.length && isBlank(text[at] ?? '')) at++;
    if (style === '"') at = skipEscapedBreaks(text, at);
    offsets.push(at);
    // One escape may stand for two units.
    const isFirstOfPair = escaped > 6 && /[\ud800-\udbff]/.test(unit);
    if (isFirstOfPair) {
      offsets.push(at);
      i++;
    }
    at += style === '"' && text[at] === '\\' ? escapeLength(text, at) : style === "'" && unit === "'" ? 2 : 1;
  }
  offsets.push(at);
  return offsets;
}

function isBlank(unit: string): boolean {
  return unit === ' ' || unit === '\t' || unit === '\n' || unit === '\r';
}

/** Skips backslashes that join a line to the next. They leave no trace in the value. */
function skipEscapedBreaks(text: string, from: number): number {
  let at = from;
  for (;;) {
    const match = /^\\\r?\n[ \t]*/.exec(text.slice(at, at + 200));
    if (!match) return at;
    at += match[0].length;
  }
}

function escapeLength(text: string, at: number): number {
  const kind = text[at + 1];
  return kind === 'x' ? 4 : kind === 'u' ? 6 : kind === 'U' ? 10 : 2;
}
