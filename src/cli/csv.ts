import type { Cell, Line } from '../ledger/export/export.ts';

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

export const csvLine = (columns: readonly string[], line: Line): string =>
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
export function jsonLine(columns: readonly string[], line: Line): string {
  const values = columns.map((column) => {
    const cell = line[column] ?? null;
    return [column, typeof cell === 'object' && cell !== null ? cell.decimal : cell];
  });
  return JSON.stringify(Object.fromEntries(values));
}
