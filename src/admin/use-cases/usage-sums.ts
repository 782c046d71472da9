import { type Window, windowAt } from '../../core/accounting/window.ts';
import { TOKEN_UNITS, type TokenUnit } from '../../core/money/units.ts';
import { isBalanceOnly, momentOf, tokensOf } from '../../ledger/export/export.ts';
import type { MoneyEntry } from '../../store/journal-reader.ts';
import { type Grouping, isLabel, labelOf } from './report/grouping.ts';

/**
 * Tokens of each unit, where `input` and `output` are all of their side, and money of charges, in microcredits. `charged` is after refunds. `overrun` was billed by providers beyond holds and is the
 * operator's loss. `stated` is the cost that answers state, and `matched` the cost of the same attempts at our prices.
 */
const NO_TOKENS = Object.fromEntries(TOKEN_UNITS.map((unit) => [unit, 0])) as Record<TokenUnit, number>;
export const NO_FIGURES = { charges: 0, ...NO_TOKENS, charged: 0, overrun: 0, stated: 0, matched: 0 };
export type UsageFigures = Readonly<typeof NO_FIGURES>;
const FIGURES = Object.keys(NO_FIGURES) as readonly (keyof UsageFigures)[];

/** Figures with the dimensions for grouping. A missing dimension is empty. */
export interface Spending
  extends UsageFigures,
    Pick<MoneyEntry, 'keyId' | 'team' | 'user' | 'labels' | 'selector' | 'session' | 'agent' | 'model' | 'provider'> {
  /** The time of the hold, ms since 1970. */
  readonly moment: number;
}

/**
 * Converts an entry of the journal. Returns null for grants, deposits and fees, which are not usage. A refund reduces the Credits of its
 * group.
 */
export function spendingOf(entry: MoneyEntry): Spending | null {
  if (isBalanceOnly(entry)) return null;
  const [charges, charged, overrun] = entry.kind === 'overrun' ? [0, 0, entry.amount] : [1, entry.amount, 0];
  const tokens = Object.fromEntries(TOKEN_UNITS.map((unit) => [unit, tokensOf(entry.bill, unit)])) as typeof NO_TOKENS;
  const { stated = 0, cost: matched = 0 } = entry.bill?.stated ?? {};
  return { ...entry, ...tokens, moment: momentOf(entry), charges, charged, overrun, stated, matched };
}

/** The figures of a group. */
export interface UsageGroup extends UsageFigures {
  /** The value of each grouping for this group. */
  readonly names: readonly string[];
}

type Sums = { names: readonly string[] } & typeof NO_FIGURES;

/** Sums up charges by groupings. */
export class UsageSums {
  readonly #nameOf: readonly ((spending: Spending) => string)[];
  readonly #groups = new Map<string, Sums>();

  /** @param timeZone the IANA name of the time zone in which days and months begin */
  constructor(by: readonly Grouping[], timeZone: string) {
    this.#nameOf = by.map((grouping) => namer(grouping, timeZone));
  }

  get size(): number {
    return this.#groups.size;
  }

  add(spending: Spending): void {
    const names = this.#nameOf.map((nameOf) => nameOf(spending));
    const sums = this.#groups.getOrInsertComputed(JSON.stringify(names), () => ({ names, ...NO_FIGURES }));
    for (const figure of FIGURES) sums[figure] += spending[figure];
  }

  /** Returns the groups, sorted by their names. */
  groups(): UsageGroup[] {
    return [...this.#groups.values()].sort((a, b) => compareNames(a.names, b.names));
  }
}

/** Compares lists of names by the first name that differs. */
export function compareNames(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((name, i) => name !== b[i]);
  if (at < 0) return 0;
  return a[at]! < b[at]! ? -1 : 1;
}

function namer(grouping: Grouping, timeZone: string): (spending: Spending) => string {
  if (isLabel(grouping)) return ({ labels }) => labels[labelOf(grouping)] ?? '';
  if (grouping === 'day' || grouping === 'month') return calendar(grouping, timeZone);
  return (spending) => spending[grouping === 'key' ? 'keyId' : grouping];
}

/** Remembers the last window, because figures arrive almost in the order of time. */
function calendar(kind: 'day' | 'month', timeZone: string): (spending: Spending) => string {
  let window: Window = { starts: 0, ends: 0 };
  let name = '';
  return ({ moment }) => {
    if (moment < window.starts || moment >= window.ends) {
      window = windowAt(kind, timeZone, moment);
      const start = Temporal.Instant.fromEpochMilliseconds(window.starts).toZonedDateTimeISO(timeZone);
      name = start
        .toPlainDate()
        .toString()
        .slice(0, kind === 'day' ? 10 : 7);
    }
    return name;
  };
}
