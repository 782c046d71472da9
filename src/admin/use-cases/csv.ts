import type { Cell, Line } from '../../ledger/export/export.ts';

/** A text that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * A row of RFC 4180, with CRLF. A text that begins like a formula gets a single quote before it, which a
 * spreadsheet takes for "this is text"; numbers are written as they are.
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

/** Without an exponent: `String` writes 0.000001 so, and less as 1e-7, which no amount is. */
function decimalOf(number: number): string {
  const text = String(number);
  return text.includes('e') ? number.toFixed(6).replace(/\.?0+$/, '') : text;
}

/** A line as JSON; decimals stay texts, for a number would lose their digits. */
function jsonLine(columns: readonly string[], line: Line): string {
  const values = columns.map((column) => {
    const cell = line[column] ?? null;
    return [column, typeof cell === 'object' && cell !== null ? cell.decimal : cell];
  });
  return JSON.stringify(Object.fromEntries(values));
}

/** A whole table, for one whose size is bounded. */
export const csvTable = (columns: readonly string[], lines: readonly Line[]): string =>
  [csvRow(columns), ...lines.map((line) => csvLine(columns, line))].join('');

/** Resolves once the text was taken. */
export type Writer = (text: string) => Promise<void>;

/** The separators and ends of lines, by format. The lines of `json` are one array. */
const FORMS = {
  csv: { line: csvLine, between: '', end: '', empty: '' },
  json: { line: jsonLine, between: ',\n', end: '\n]\n', empty: ']\n' },
  jsonl: { line: jsonLine, between: '\n', end: '\n', empty: '' },
} as const;

/** Writes page by page: an export may be larger than the memory. */
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
