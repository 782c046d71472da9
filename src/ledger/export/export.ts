import { iso } from '../../core/clock.ts';
import { toCredits } from '../../core/credits.ts';
import { parseDecimal } from '../../core/decimal.ts';
import { idText, timeOfId } from '../../core/id.ts';
import type { Price } from '../../core/price.ts';
import type { BalanceKind, JournalReader, MoneyEntry, MoneyFilter } from '../../store/journal-reader.ts';
import { readAddOns, readPrice, type UsdLine, usdLine, usdOfAddOns } from './price.ts';

/** The entries to export. */
export interface ExportFilter extends MoneyFilter {
  readonly labels: Readonly<Record<string, string>>;
}

/** Reads entries in the order in which they were made, page by page. */
export async function* moneyEntries(
  journal: Pick<JournalReader, 'money'>,
  filter: ExportFilter,
): AsyncGenerator<readonly MoneyEntry[]> {
  const wanted = Object.entries(filter.labels);
  for await (const page of journal.money(filter)) {
    yield page.filter(({ labels }) => wanted.every(([name, value]) => (labels[name] ?? '') === value));
  }
}

const BALANCE_KINDS: ReadonlySet<string> = new Set<BalanceKind>(['grant', 'deposit', 'fee']);

/** Whether an entry moves a balance alone, without spending. */
export const isBalanceOnly = ({ kind }: MoneyEntry): boolean => BALANCE_KINDS.has(kind);

/** Returns the moment at which an entry counts: that of its reservation, else its own. */
export const momentOf = ({ reservation, time }: MoneyEntry): number =>
  reservation === null ? time : timeOfId(reservation);

/** A value of a table: a text from outside, a decimal written out, a number, or nothing. */
export type Cell = string | number | boolean | null | { readonly decimal: string };
export type Line = Readonly<Record<string, Cell>>;

/** An entry with what the cells of its line need. Figures of an attempt are null where none was charged. */
interface ExportedEntry extends MoneyEntry {
  /** The worth of a Credit in USD; null in a ledger that never had a policy. */
  readonly unit: string | null;
  /** Whether it moves a balance alone. */
  readonly isGrant: boolean;
  readonly usd: UsdLine | null;
  readonly usdAddOns: string | null;
}

type CellOf = (entry: ExportedEntry) => Cell;

const attempt = (cell: CellOf) => (entry: ExportedEntry) => (isAttempt(entry) ? cell(entry) : null);
const decimal = (text: string | null | undefined): Cell =>
  text === null || text === undefined ? null : { decimal: text };

/** The columns of an export. Each line states all figures that its cost follows from. */
const CELLS: Readonly<Record<string, CellOf>> = {
  time: ({ time }) => iso(time),
  reserved_at: ({ reservation }) => (reservation === null ? null : iso(timeOfId(reservation))),
  decision: ({ reservation }) => (reservation === null ? null : idText('dec_', reservation)),
  kind: ({ kind }) => kind,
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
  usd_per_1m_input: ({ usd }) => decimal(usd?.input),
  usd_per_1m_cached_input: ({ usd }) => decimal(usd?.cachedInput),
  usd_per_1m_cache_write: ({ usd }) => decimal(usd?.cacheWrite),
  usd_per_1m_output: ({ usd }) => decimal(usd?.output),
  usd_per_request: ({ usd }) => decimal(usd?.perRequest),
  add_ons: ({ addOns }) => addOns,
  usd_add_ons: ({ usdAddOns }) => decimal(usdAddOns),
  usd_per_credit: ({ unit }) => decimal(unit),
  cost_credits: attempt(({ amount, overrun }) => toCredits(amount + overrun)),
  credits: ({ kind, isGrant, amount }) => (kind === 'overrun' || isGrant ? null : toCredits(amount)),
  overrun_credits: ({ kind, amount }) => (kind === 'overrun' ? toCredits(amount) : null),
  granted_credits: ({ isGrant, amount }) => (isGrant ? toCredits(amount) : null),
  note: ({ note }) => note,
  session: ({ session }) => session,
  agent: ({ agent }) => agent,
};
export const COLUMNS: readonly string[] = Object.keys(CELLS);

const isAttempt = ({ kind }: MoneyEntry): boolean => kind === 'post' || kind === 'settle';

/** @param unit the worth of a Credit in USD; null in a ledger that never had a policy */
export function exportedLines(unit: string | null): (entry: MoneyEntry) => Line {
  const usdPerCredit = unit === null ? null : parseDecimal(unit);
  const prices = new Map<string, Price | null>();
  return (entry) => {
    const addOns = isAttempt(entry) ? readAddOns(entry.addOns) : null;
    const price = isAttempt(entry) && entry.price !== null ? prices.getOrInsertComputed(entry.price, readPrice) : null;
    const exported: ExportedEntry = {
      ...entry,
      unit,
      isGrant: isBalanceOnly(entry),
      addOns: addOns && entry.addOns,
      usd: price && usdPerCredit && usdLine(price, entry.input, usdPerCredit),
      usdAddOns: price && addOns && usdPerCredit && usdOfAddOns(price, entry.input, addOns, usdPerCredit),
    };
    return Object.fromEntries(COLUMNS.map((name) => [name, CELLS[name]!(exported)]));
  };
}
