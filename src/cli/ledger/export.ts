import { toCredits } from '../../core/credits.ts';
import { UsageError } from '../../core/usage-error.ts';
import { type Line, Lines, moneyEntries } from '../../ledger/export/export.ts';
import {
  columnOf,
  GROUPINGS,
  type Grouping,
  parseGrouping,
  type UsageGroup,
  UsageSums,
} from '../../operate/usage-sums.ts';
import type { JournalReader, MoneyEntry } from '../../store/journal-reader.ts';
import { choiceOf, LIST, pairsOf, parseFlags, TEXT } from '../arguments.ts';
import { csvLine, csvRow, jsonLine } from '../csv.ts';
import { periodOf } from './period.ts';

/** Resolves once the text was taken. */
export type Writer = (text: string) => Promise<void>;

/** The flags that choose entries of the books, and group them. */
export const ENTRY_FLAGS = { from: TEXT, to: TEXT, 'time-zone': TEXT, key: TEXT, label: LIST, model: TEXT, by: TEXT };

interface ExportQuery {
  readonly filter: Parameters<typeof moneyEntries>[1];
  /** Null: a line for each entry. */
  readonly by: readonly Grouping[] | null;
  readonly timeZone: string;
  readonly format: Format;
}

/** Reads the arguments, before a database is opened. Throws UsageError. */
export function parseExport(args: readonly string[]): ExportQuery {
  const flags = parseFlags(args, { ...ENTRY_FLAGS, format: TEXT });
  const { 'time-zone': timeZone = 'UTC', by } = flags;
  const format = choiceOf('--format', flags.format ?? 'csv', ['csv', 'json']);
  const { from, to } = periodOf(flags.from, flags.to, timeZone);
  const labels = pairsOf(flags.label, 'A label');
  const filter = { from, to, keyId: flags.key ?? null, model: flags.model ?? null, labels };
  return { filter, by: by === undefined ? null : groupingsOf(by), timeZone, format };
}

/** Reads `--by`. Throws UsageError. */
export function groupingsOf(text: string): Grouping[] {
  const groupings = text.split(',').map((part) => groupingOf(part.trim()));
  const repeated = groupings.find((one, at) => groupings.indexOf(one) !== at);
  if (repeated) throw new UsageError(`--by names ${repeated} twice.`);
  return groupings;
}

function groupingOf(name: string): Grouping {
  const grouping = parseGrouping(name);
  if (grouping) return grouping;
  throw new UsageError(`--by takes ${GROUPINGS.join(', ')} and label:NAME, not "${name}".`);
}

/** Writes page by page: an export may be larger than the memory. */
export async function writeExport(
  { filter, by, timeZone, format }: ExportQuery,
  journal: Pick<JournalReader, 'money' | 'usdPerCredit'>,
  write: Writer,
): Promise<void> {
  const pages = moneyEntries(journal, filter);
  if (by) {
    const sums = new UsageSums(by, timeZone);
    for await (const page of pages) for (const entry of page) sums.addEntry(entry);
    const names = by.map(columnOf);
    const table = new Table([...names, ...SUM_COLUMNS], format, write);
    await table.page(sums.groups().map((group) => sumLine(names, group)));
    await table.end();
    return;
  }
  const lines = new Lines(await journal.usdPerCredit());
  const table = new Table(Lines.COLUMNS, format, write);
  for await (const page of pages) await table.page(page.map((entry: MoneyEntry) => lines.of(entry)));
  await table.end();
}

const SUM_COLUMNS = [
  ...['charges', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens'],
  ...['credits', 'overrun_credits'],
];

const sumLine = (columns: readonly string[], { names, ...sums }: UsageGroup): Line => ({
  ...Object.fromEntries(columns.map((column, at) => [column, names[at]!])),
  charges: sums.charges,
  input_tokens: sums.input,
  cached_input_tokens: sums.cached,
  cache_write_tokens: sums.written,
  output_tokens: sums.output,
  credits: toCredits(sums.charged),
  overrun_credits: toCredits(sums.overrun),
});

type Format = 'csv' | 'json';

/** CSV with a line of names, or one JSON array with an object a line. */
class Table {
  readonly #columns: readonly string[];
  readonly #format: Format;
  readonly #write: Writer;
  #isEmpty = true;

  constructor(columns: readonly string[], format: Format, write: Writer) {
    this.#columns = columns;
    this.#format = format;
    this.#write = write;
  }

  async page(lines: readonly Line[]): Promise<void> {
    if (lines.length === 0) return;
    const begin = this.#isEmpty ? this.#begin() : '';
    if (this.#format === 'csv') {
      await this.#write(begin + lines.map((line) => csvLine(this.#columns, line)).join(''));
    } else {
      const between = this.#isEmpty ? '' : ',\n';
      await this.#write(begin + between + lines.map((line) => jsonLine(this.#columns, line)).join(',\n'));
    }
    this.#isEmpty = false;
  }

  async end(): Promise<void> {
    const begin = this.#isEmpty ? this.#begin() : '';
    const end = this.#isEmpty ? ']\n' : '\n]\n';
    await this.#write(begin + (this.#format === 'csv' ? '' : end));
  }

  #begin(): string {
    return this.#format === 'csv' ? csvRow(this.#columns) : '[\n';
  }
}
