import { wrapped } from '../core/text/text.ts';
import { visible } from '../core/text/visible.ts';

/** The width of printed text, in columns. */
export const WIDTH = 100;
/** The fewest characters of a name that remain when it is shortened. */
const NAME_MIN = 12;

/** Writes each text as a paragraph. */
export function paragraphs(texts: readonly string[], terminal: boolean): string {
  const lines = texts.map(visible).map((text) => (terminal ? wrapped(text, WIDTH).join('\n') : text));
  return lines.map((text) => `${text}\n`).join('');
}

/**
 * Writes lines of columns. If a line is too long for a terminal, the names in the second column are shortened first, and then the end of
 * the line.
 */
export function grid(
  rows: readonly (readonly string[])[],
  terminal: boolean,
  isRight: (column: number) => boolean = () => false,
): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const others = widths.reduce((all, width, column) => all + (column === 1 ? 0 : width) + 2, -2);
  if (terminal) widths[1] = Math.min(widths[1]!, Math.max(NAME_MIN, WIDTH - others));
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const shown = clipped(cell, widths[column]!);
      return isRight(column) ? shown.padStart(widths[column]!) : shown.padEnd(widths[column]!);
    });
    const line = cells.join('  ').trimEnd();
    return terminal ? clipped(line, WIDTH) : line;
  });
}

export const clipped = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
