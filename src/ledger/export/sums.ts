import { type Microcredits, toCredits } from '../../core/credits.ts';
import { type Window, windowAt } from '../rules/window.ts';
import { isBalanceOnly, type Line, type MoneyEntry, momentOf } from './export.ts';

/** What an export can be summed by: `label:NAME`, too. */
export const GROUPINGS = ['day', 'month', 'key', 'model', 'provider', 'selector'] as const;
export type Grouping = (typeof GROUPINGS)[number] | `label:${string}`;

interface Sums {
  readonly names: readonly string[];
  charges: number;
  input: number;
  cached: number;
  written: number;
  output: number;
  charged: Microcredits;
  overrun: Microcredits;
}

/** Sums of an export. Grants, deposits and fees are not spent, so they are in none; a correction lessens the Credits of its group. */
export class GroupSums {
  readonly columns: readonly string[];
  readonly #nameOf: readonly ((entry: MoneyEntry) => string)[];
  readonly #groups = new Map<string, Sums>();

  constructor(by: readonly Grouping[], timeZone: string) {
    const names = by.map((grouping) => (grouping === 'key' ? 'key_id' : grouping));
    this.columns = [
      ...names,
      ...['charges', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens'],
      ...['credits', 'overrun_credits'],
    ];
    this.#nameOf = by.map((grouping) => namer(grouping, timeZone));
  }

  add(entry: MoneyEntry): void {
    if (isBalanceOnly(entry)) return;
    const sums = this.#sumsOf(this.#nameOf.map((nameOf) => nameOf(entry)));
    if (entry.kind === 'overrun') {
      sums.overrun += entry.amount;
      return;
    }
    sums.charges++;
    sums.input += entry.input;
    sums.cached += entry.cached;
    sums.written += entry.written;
    sums.output += entry.output;
    sums.charged += entry.amount;
  }

  /** In the order of the groups' names. */
  lines(): Line[] {
    const sorted = [...this.#groups.values()].sort((a, b) => compare(a.names, b.names));
    return sorted.map(({ names, charges, input, cached, written, output, charged, overrun }) => ({
      ...Object.fromEntries(names.map((name, at) => [this.columns[at]!, name])),
      charges,
      input_tokens: input,
      cached_input_tokens: cached,
      cache_write_tokens: written,
      output_tokens: output,
      credits: toCredits(charged),
      overrun_credits: toCredits(overrun),
    }));
  }

  #sumsOf(names: readonly string[]): Sums {
    const key = JSON.stringify(names);
    let sums = this.#groups.get(key);
    if (!sums) {
      sums = { names, charges: 0, input: 0, cached: 0, written: 0, output: 0, charged: 0, overrun: 0 };
      this.#groups.set(key, sums);
    }
    return sums;
  }
}

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((name, i) => name !== b[i]);
  if (at < 0) return 0;
  return a[at]! < b[at]! ? -1 : 1;
}

function namer(grouping: Grouping, timeZone: string): (entry: MoneyEntry) => string {
  switch (grouping) {
    case 'day':
      return calendar('day', timeZone, 10);
    case 'month':
      return calendar('month', timeZone, 7);
    case 'key':
      return ({ keyId }) => keyId;
    case 'model':
    case 'provider':
    case 'selector':
      return (entry) => entry[grouping];
    default: {
      const label = grouping.slice('label:'.length);
      return ({ labels }) => labels[label] ?? '';
    }
  }
}

/** Entries come nearly in the order of time, so the last window is kept. */
function calendar(kind: 'day' | 'month', timeZone: string, length: number): (entry: MoneyEntry) => string {
  let window: Window = { starts: 0, ends: 0 };
  let name = '';
  return (entry) => {
    const moment = momentOf(entry);
    if (moment < window.starts || moment >= window.ends) {
      window = windowAt(kind, timeZone, moment);
      const start = Temporal.Instant.fromEpochMilliseconds(window.starts).toZonedDateTimeISO(timeZone);
      name = start.toPlainDate().toString().slice(0, length);
    }
    return name;
  };
}
