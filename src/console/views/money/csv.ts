import type { SpendDimension, SpenderRow } from './spend.ts';

export type CsvCell = string | number | null;

/**
 * A table as RFC 4180 has it. A text that a spreadsheet would run as a formula begins with an apostrophe: names come from outside.
 * @param rows the first of them are the heads
 */
export const csvText = (rows: readonly (readonly CsvCell[])[]): string =>
  rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('');

function cellText(cell: CsvCell): string {
  if (cell === null || typeof cell === 'number') return String(cell ?? '');
  const text = /^[=+\-@\t\r]/.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of spend, with all digits. */
export const spendCsv = (by: SpendDimension, rows: readonly SpenderRow[]): string =>
  csvText([
    [
      ...[by, 'name', 'usd', 'credits', 'usd_before', 'credits_before'],
      ...['usd_saved', 'credits_saved', 'requests', 'input_tokens', 'output_tokens'],
    ],
    ...rows.map(({ id, name, now, before, saved, requests, inputTokens, outputTokens }) => [
      ...[id, name, now.usd, now.credits, before?.usd ?? null, before?.credits ?? null],
      ...[saved?.usd ?? null, saved?.credits ?? null, requests, inputTokens, outputTokens],
    ]),
  ]);

/** Hands a text to the viewer as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
