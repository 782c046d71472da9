import { type Window, windowAt } from '../accounting/window.ts';
import { isBalanceOnly, momentOf } from '../ledger/export/export.ts';
import type { MoneyEntry } from '../store/journal-reader.ts';

/** The dimensions of the books that usage can be grouped by; `label:NAME`, too. */
const BOOKED = ['key', 'team', 'user', 'model', 'provider', 'selector', 'session', 'agent'] as const;
export const GROUPINGS = ['day', 'month', ...BOOKED] as const;
export type Grouping = (typeof GROUPINGS)[number] | `label:${string}`;

/** Reads the name of a grouping; null for any other text. */
export function parseGrouping(name: string): Grouping | null {
  if (/^label:./.test(name)) return `label:${name.slice('label:'.length)}`;
  return GROUPINGS.find((grouping) => grouping === name) ?? null;
}

/** The name of a grouping's column. */
export const columnOf = (grouping: Grouping): string => (BY_ID.includes(grouping) ? `${grouping}_id` : grouping);

/** Groups that are named by IDs. */
const BY_ID: readonly Grouping[] = ['key', 'team', 'user'];

/**
 * Tokens and money of charges, microcredits. `charged` is less what was given back; `overrun` was billed by providers beyond
 * holds: the operator's loss.
 */
export const NO_FIGURES = { charges: 0, input: 0, cached: 0, written: 0, output: 0, charged: 0, overrun: 0 };
export type UsageFigures = Readonly<typeof NO_FIGURES>;

/** UsageFigures with the dimensions that they can be grouped by; a dimension that they lack is empty. */
export interface Spending
  extends UsageFigures,
    Pick<MoneyEntry, 'keyId' | 'team' | 'user' | 'labels' | 'selector' | 'session' | 'agent' | 'model' | 'provider'> {
  /** Ms since 1970: of the hold. */
  readonly moment: number;
}

/** UsageFigures of one group. */
export interface UsageGroup extends UsageFigures {
  /** The group's name in each grouping. */
  readonly names: readonly string[];
}

type Sums = { names: readonly string[] } & typeof NO_FIGURES;

/** Sums up charges by groupings. */
export class UsageSums {
  readonly #nameOf: readonly ((spending: Spending) => string)[];
  readonly #groups = new Map<string, Sums>();

  /** @param timeZone the IANA name of the zone in which days and months begin. */
  constructor(by: readonly Grouping[], timeZone: string) {
    this.#nameOf = by.map((grouping) => namer(grouping, timeZone));
  }

  get size(): number {
    return this.#groups.size;
  }

  add(spending: Spending): void {
    const names = this.#nameOf.map((nameOf) => nameOf(spending));
    const key = JSON.stringify(names);
    const sums = this.#groups.get(key) ?? { names, ...NO_FIGURES };
    this.#groups.set(key, sums);
    sums.charges += spending.charges;
    sums.input += spending.input;
    sums.cached += spending.cached;
    sums.written += spending.written;
    sums.output += spending.output;
    sums.charged += spending.charged;
    sums.overrun += spending.overrun;
  }

  /** Adds an entry of the journal. Grants, deposits and fees are no usage; a correction lessens the Credits of its group. */
  addEntry(entry: MoneyEntry): void {
    if (isBalanceOnly(entry)) return;
    const isOverrun = entry.kind === 'overrun';
    this.add({
      ...entry,
      moment: momentOf(entry),
      charges: isOverrun ? 0 : 1,
      charged: isOverrun ? 0 : entry.amount,
      overrun: isOverrun ? entry.amount : 0,
    });
  }

  /** The groups in the order of their names. */
  groups(): UsageGroup[] {
    return [...this.#groups.values()].sort((a, b) => compareNames(a.names, b.names));
  }
}

/** Orders lists of names by the first that differs. */
export function compareNames(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((name, i) => name !== b[i]);
  if (at < 0) return 0;
  return a[at]! < b[at]! ? -1 : 1;
}

function namer(grouping: Grouping, timeZone: string): (spending: Spending) => string {
  switch (grouping) {
    case 'day':
      return calendar('day', timeZone, 10);
    case 'month':
      return calendar('month', timeZone, 7);
    case 'key':
      return ({ keyId }) => keyId;
    case 'team':
    case 'user':
    case 'model':
    case 'provider':
    case 'selector':
    case 'session':
    case 'agent':
      return (spending) => spending[grouping];
    default: {
      const label = grouping.slice('label:'.length);
      return ({ labels }) => labels[label] ?? '';
    }
  }
}

/** UsageFigures come nearly in the order of time, so the last window is remembered. */
function calendar(kind: 'day' | 'month', timeZone: string, length: number): (spending: Spending) => string {
  let window: Window = { starts: 0, ends: 0 };
  let name = '';
  return ({ moment }) => {
    if (moment < window.starts || moment >= window.ends) {
      window = windowAt(kind, timeZone, moment);
      const start = Temporal.Instant.fromEpochMilliseconds(window.starts).toZonedDateTimeISO(timeZone);
      name = start.toPlainDate().toString().slice(0, length);
    }
    return name;
  };
}
