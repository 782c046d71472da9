import type { Cell, Line } from '../../ledger/export/export.ts';

/** The beginning of a text that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Writes a row according to RFC 4180, with CRLF. A text that begins like a formula gets a leading single quote, with which spreadsheets
 * show it as text. Numbers are written unchanged.
 */
export function csvRow(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

const csvLine = (columns: readonly string[], line: Line): string =>
  csvRow(columns.map((column) => line[column] ?? null));

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return decimalOf(cell);
  if (typeof cell === 'boolean') return String(cell);
  if (typeof cell === 'object') return cell.decimal;
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Avoids an exponent. `String` writes 0.000001 without an exponent and smaller numbers, such as 1e-7, with one; no amount is that small.
 */
function decimalOf(number: number): string {
  const text = String(number);
  return text.includes('e') ? number.toFixed(6).replace(/\.?0+$/, '') : text;
}

/** Writes a line as JSON. Decimals stay strings, because a JSON number would lose digits. */
function jsonLine(columns: readonly string[], line: Line): string {
  const values = columns.map((column) => {
    const cell = line[column] ?? null;
    return [column, typeof cell === 'object' && cell !== null ? cell.decimal : cell];
  });
  return JSON.stringify(Object.fromEntries(values));
}

/** Writes rows of a table, without its header. */
export const csvLines = (columns: readonly string[], lines: readonly Line[]): string =>
  lines.map((line) => csvLine(columns, line)).join('');

/** Writes a whole table at once, if its size is bounded. */
export const csvTable = (columns: readonly string[], lines: readonly Line[]): string =>
  csvRow(columns) + csvLines(columns, lines);

/** Resolves when the reader has accepted the text. */
export type Writer = (text: string) => Promise<void>;

/** The separators and line ends of each format. The lines of `json` form one array. */
const FORMS = {
  csv: { line: csvLine, between: '', end: '', empty: '' },
  json: { line: jsonLine, between: ',\n', end: '\n]\n', empty: ']\n' },
  jsonl: { line: jsonLine, between: '\n', end: '\n', empty: '' },
} as const;

/** The writer writes an export page by page, because an export may be larger than the memory. */
export async function writeTable(
  columns: readonly string[],
  pages: AsyncIterable<readonly Line[]> | Iterable<readonly Line[]>,
  format: keyof typeof FORMS,
  write: Writer,
): Promise<void> {
  const { line, between, end, empty } = FORMS[format];
  await write({ csv: csvRow(columns), json: '[\n', jsonl: '' }[format]);
  let isEmpty = true;
  for await (const page of pages) {
    if (page.length === 0) continue;
    const lines = page.map((one) => line(columns, one)).join(between);
    await write(isEmpty ? lines : between + lines);
    isEmpty = false;
  }
  await write(isEmpty ? empty : end);
}
