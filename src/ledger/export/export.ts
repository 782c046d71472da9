import { idText, timeOfId } from '../../core/id.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { parseDecimal } from '../../core/money/decimal.ts';
import type { Price } from '../../core/money/price.ts';
import { usdWriter } from '../../core/money/usd.ts';
import { isGuardSelector } from '../../core/policy/guards.ts';
import { iso } from '../../core/time/clock.ts';
import type { BalanceKind, MoneyEntry } from '../../store/journal-reader.ts';
import { readAddOns, readPrice, type UsdLine, usdLine, usdOfAddOns } from './price.ts';

const BALANCE_KINDS: ReadonlySet<string> = new Set<BalanceKind>(['grant', 'deposit', 'fee']);

/** True for an entry that changes a balance without spending. */
export const isBalanceOnly = ({ kind }: MoneyEntry): boolean => BALANCE_KINDS.has(kind);

/** @returns the time that an entry counts at: the time of its reservation, or the time of the entry itself if it has no reservation */
export const momentOf = ({ reservation, time }: MoneyEntry): number =>
  reservation === null ? time : timeOfId(reservation);

/** The value of a table cell: a text, an exact decimal, a number, a boolean, or null for an empty cell. */
export type Cell = string | number | boolean | null | { readonly decimal: string };
export type Line = Readonly<Record<string, Cell>>;

/** An entry with everything that the cells of its line need. The figures of an attempt are null if the entry charges no attempt. */
interface ExportedEntry extends MoneyEntry {
  /** Writes an amount in USD. */
  readonly inUsd: ReturnType<typeof usdCell>;
  /** The value of a Credit in USD; null in a ledger that never had a policy. */
  readonly unit: string | null;
  /** True if the entry changes only a balance. */
  readonly isGrant: boolean;
  readonly rates: UsdLine | null;
  readonly usdAddOns: string | null;
}

type CellOf = (entry: ExportedEntry) => Cell;

const attempt = (cell: CellOf) => (entry: ExportedEntry) => (isAttempt(entry) ? cell(entry) : null);
const decimal = (text: string | null | undefined): Cell =>
  text === null || text === undefined ? null : { decimal: text };

/**
 * Writes amounts in USD as exact decimals.
 * @param unit the value of a Credit in USD; null if it is unknown
 */
export function usdCell(unit: string | null): (amount: Microcredits) => Cell {
  const write = usdWriter(unit);
  return (amount) => decimal(write(amount));
}

type Sum = 'cost' | 'charge' | 'overrun' | 'grant';

/** Functions that return, for each column of amounts, the amount of an entry that belongs in the column, or null. */
const AMOUNTS: Readonly<Record<Sum, (entry: ExportedEntry) => Microcredits | null>> = {
  cost: (entry) => (isAttempt(entry) ? entry.amount + entry.overrun : null),
  charge: ({ kind, isGrant, amount }) => (kind === 'overrun' || isGrant ? null : amount),
  overrun: ({ kind, amount }) => (kind === 'overrun' ? amount : null),
  grant: ({ isGrant, amount }) => (isGrant ? amount : null),
};
const credits = (sum: Sum) => (entry: ExportedEntry) => {
  const amount = AMOUNTS[sum](entry);
  return amount === null ? null : toCredits(amount);
};
const usd = (sum: Sum) => (entry: ExportedEntry) => {
  const amount = AMOUNTS[sum](entry);
  return amount === null ? null : entry.inUsd(amount);
};

/** The columns of an export. Each line contains all figures that are needed to compute its cost again. */
const CELLS: Readonly<Record<string, CellOf>> = {
  time: ({ time }) => iso(time),
  reserved_at: ({ reservation }) => (reservation === null ? null : iso(timeOfId(reservation))),
  decision: ({ reservation }) => (reservation === null ? null : idText('dec_', reservation)),
  kind: shownKind,
  key_id: ({ keyId }) => keyId,
  labels: ({ labels }) => JSON.stringify(labels),
  selector: ({ selector }) => selector,
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  upstream: ({ upstream }) => upstream,
  input_tokens: attempt(({ input }) => input),
  cached_input_tokens: attempt(({ cached }) => cached),
  cache_write_tokens: attempt(({ written }) => written),
  output_tokens: attempt(({ output }) => output),
  reasoning_tokens: attempt(({ reasoning }) => reasoning),
  estimated: attempt(({ estimated }) => estimated),
  usd_per_1m_input: ({ rates }) => decimal(rates?.input),
  usd_per_1m_cached_input: ({ rates }) => decimal(rates?.cachedInput),
  usd_per_1m_cache_write: ({ rates }) => decimal(rates?.cacheWrite),
  usd_per_1m_output: ({ rates }) => decimal(rates?.output),
  usd_per_request: ({ rates }) => decimal(rates?.perRequest),
  add_ons: ({ addOns }) => addOns,
  usd_add_ons: ({ usdAddOns }) => decimal(usdAddOns),
  usd_per_credit: ({ unit }) => decimal(unit),
  cost_credits: credits('cost'),
  cost_usd: usd('cost'),
  credits: credits('charge'),
  usd: usd('charge'),
  overrun_credits: credits('overrun'),
  overrun_usd: usd('overrun'),
  granted_credits: credits('grant'),
  granted_usd: usd('grant'),
  note: ({ note }) => note,
  session: ({ session }) => session,
  agent: ({ agent }) => agent,
  team_id: ({ team }) => team,
  user_id: ({ user }) => user,
  outcome: ({ outcome = null }) => outcome,
};
export const COLUMNS: readonly string[] = Object.keys(CELLS);

/** The kind of an entry in exports. A charge of a guard has a kind of its own. */
export function shownKind({ kind, selector }: Pick<MoneyEntry, 'kind' | 'selector'>): MoneyEntry['kind'] | 'guard' {
  return (kind === 'settle' || kind === 'post') && isGuardSelector(selector) ? 'guard' : kind;
}

const isAttempt = ({ kind }: MoneyEntry): boolean => kind === 'post' || kind === 'settle';

/** @param unit the value of a Credit in USD; null in a ledger that never had a policy */
export function exportedLines(unit: string | null): (entry: MoneyEntry) => Line {
  const usdPerCredit = unit === null ? null : parseDecimal(unit);
  const inUsd = usdCell(unit);
  const prices = new Map<string, Price | null>();
  return (entry) => {
    const addOns = isAttempt(entry) ? readAddOns(entry.addOns) : null;
    const price = isAttempt(entry) && entry.price !== null ? prices.getOrInsertComputed(entry.price, readPrice) : null;
    const exported: ExportedEntry = {
      ...entry,
      unit,
      inUsd,
      isGrant: isBalanceOnly(entry),
      addOns: addOns && entry.addOns,
      rates: price && usdPerCredit && usdLine(price, entry.input, usdPerCredit),
      usdAddOns: price && addOns && usdPerCredit && usdOfAddOns(price, entry.input, addOns, usdPerCredit),
    };
    return Object.fromEntries(COLUMNS.map((name) => [name, CELLS[name]!(exported)]));
  };
}
