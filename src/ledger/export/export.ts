import { type Bill, billed } from '../../core/accounting/bill.ts';
import { readPrice } from '../../core/accounting/stored-price.ts';
import { idText, timeOfId } from '../../core/id.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { parseDecimal } from '../../core/money/decimal.ts';
import type { Price } from '../../core/money/price.ts';
import { TOKEN_UNITS, type TokenUnit } from '../../core/money/units.ts';
import { usdWriter } from '../../core/money/usd.ts';
import { isGuardSelector } from '../../core/policy/guards.ts';
import { iso } from '../../core/time/clock.ts';
import type { BalanceKind, MoneyEntry } from '../../store/journal-reader.ts';
import { toolUsesOf, type UsdLine, usdOfBill } from './price.ts';

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
  readonly tools: ReturnType<typeof toolUsesOf>;
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

/** The column of a unit of tokens. */
export const columnOf = (unit: TokenUnit): string => `${unit}_tokens`;

/** The tokens of a unit on a bill. `input` and `output` are all tokens of their side. */
export const tokensOf = (bill: Bill | null, unit: TokenUnit): number =>
  unit === 'input' || unit === 'output' ? (bill?.[unit] ?? 0) : billed(bill, unit);

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
  ...Object.fromEntries(TOKEN_UNITS.map((unit) => [columnOf(unit), attempt(({ bill }) => tokensOf(bill, unit))])),
  reasoning_tokens: attempt(({ bill }) => bill?.reasoning ?? 0),
  estimated: attempt(({ estimated }) => estimated),
  ...Object.fromEntries(
    TOKEN_UNITS.map((unit): [string, CellOf] => [`usd_per_1m_${unit}`, ({ rates }) => decimal(rates?.[unit])]),
  ),
  usd_per_request: ({ rates }) => decimal(rates?.request),
  tool_uses: ({ tools }) => tools?.uses ?? null,
  usd_tool_uses: ({ tools }) => decimal(tools?.usd),
  usd_per_credit: ({ unit }) => decimal(unit),
  service_tier: attempt(({ bill }) => bill?.tier ?? null),
  priced_at: attempt(({ bill }) => (bill === null || bill.pricedAt === null ? null : iso(bill.pricedAt))),
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
    const bill = isAttempt(entry) ? entry.bill : null;
    const price = bill && entry.price !== null ? prices.getOrInsertComputed(entry.price, readPrice) : null;
    const exported: ExportedEntry = {
      ...entry,
      unit,
      inUsd,
      isGrant: isBalanceOnly(entry),
      rates: bill && price && usdPerCredit && usdOfBill(price, bill, usdPerCredit),
      tools: bill && toolUsesOf(bill, usdPerCredit),
    };
    return Object.fromEntries(COLUMNS.map((name) => [name, CELLS[name]!(exported)]));
  };
}
