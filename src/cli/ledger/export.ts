import { UsageError } from '../../core/usage-error.ts';
import { type Line, Lines, type MoneyEntry, moneyEntries, unitOf } from '../../ledger/export/export.ts';
import { GROUPINGS, type Grouping, GroupSums } from '../../ledger/export/sums.ts';
import type { Store } from '../../store/store.ts';
import { csvLine, csvRow, jsonLine } from '../csv.ts';
import { labelOf, pairsOf } from '../keys/terms.ts';
import { parseFlags } from '../options.ts';
import { periodOf } from './period.ts';

/** Resolves once the text was taken. */
export type Writer = (text: string) => Promise<void>;

const OPTIONS = {
  from: { type: 'string' },
  to: { type: 'string' },
  'time-zone': { type: 'string' },
  key: { type: 'string' },
  label: { type: 'string', multiple: true },
  model: { type: 'string' },
  by: { type: 'string' },
  format: { type: 'string' },
} as const;

interface Asked {
  readonly filter: Parameters<typeof moneyEntries>[1];
  /** Null: a line for each entry. */
  readonly by: readonly Grouping[] | null;
  readonly timeZone: string;
  readonly format: Format;
}

/** Reads what is asked for, before a database is opened. Throws UsageError. */
export function parseExport(args: readonly string[]): Asked {
  const flags = parseFlags(args, OPTIONS);
  const { format = 'csv', 'time-zone': timeZone = 'UTC', by } = flags;
  if (format !== 'csv' && format !== 'json') throw new UsageError(`--format is csv or json, not "${format}".`);
  const { from, to } = periodOf(flags.from, flags.to, timeZone);
  const labels = pairsOf(flags.label ?? [], labelOf);
  const filter = { from, to, keyId: flags.key ?? null, model: flags.model ?? null, labels };
  return { filter, by: by === undefined ? null : groupingsOf(by), timeZone, format };
}

function groupingsOf(text: string): Grouping[] {
  const groupings = text.split(',').map((part) => groupingOf(part.trim()));
  const twice = groupings.find((one, at) => groupings.indexOf(one) !== at);
  if (twice) throw new UsageError(`--by names ${twice} twice.`);
  return groupings;
}

function groupingOf(name: string): Grouping {
  if (/^label:./.test(name)) return `label:${name.slice('label:'.length)}`;
  const known = GROUPINGS.find((grouping) => grouping === name);
  if (known) return known;
  throw new UsageError(`--by takes ${GROUPINGS.join(', ')} and label:NAME, not "${name}".`);
}

/** Writes page by page: an export may be larger than the memory. */
export async function writeExport(asked: Asked, reader: Pick<Store, 'query'>, write: Writer): Promise<void> {
  const pages = moneyEntries(reader, asked.filter);
  if (asked.by) {
    const sums = new GroupSums(asked.by, asked.timeZone);
    for await (const page of pages) for (const entry of page) sums.add(entry);
    const table = new Table(sums.columns, asked.format, write);
    await table.page(sums.lines());
    await table.end();
    return;
  }
  const lines = new Lines(await unitOf(reader));
  const table = new Table(Lines.COLUMNS, asked.format, write);
  for await (const page of pages) await table.page(page.map((entry: MoneyEntry) => lines.of(entry)));
  await table.end();
}

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
