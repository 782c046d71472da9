import { iso } from '../../core/clock.ts';
import { type Microcredits, toCredits } from '../../core/credits.ts';
import { type Decimal, parseDecimal } from '../../core/decimal.ts';
import { idAt, idText, timeOfId } from '../../core/id.ts';
import type { Price } from '../../core/price.ts';
import type { Statement, Store } from '../../store/store.ts';
import { readPrice, type UsdLine, usdLine } from './price.ts';

/** The entries to export. Times are those of the reservation, as budgets count, in milliseconds since 1970. */
export interface ExportFilter {
  readonly from: number;
  /** Exclusive; Infinity for all. */
  readonly to: number;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly labels: Readonly<Record<string, string>>;
}

/** The kinds that move a balance alone: an operator's grant, a wallet's deposit, and its fee, kept or given back. */
type BalanceKind = 'grant' | 'deposit' | 'fee';

/** An entry that moves money. */
export interface MoneyEntry {
  readonly kind: 'post' | 'settle' | 'expire' | 'overrun' | 'correct' | BalanceKind;
  /** Null for kinds that move a balance alone. */
  readonly reservation: number | null;
  readonly amount: Microcredits;
  /** For a charge, the part that the upstream billed beyond `amount`. */
  readonly overrun: Microcredits;
  readonly time: number;
  readonly keyId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: string;
  /** Empty, like provider and upstream, where no attempt is known. */
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
  readonly estimated: boolean;
  /** JSON of the price; null where none applied. */
  readonly price: string | null;
  readonly note: string;
}

interface Row extends Omit<MoneyEntry, 'labels' | 'estimated'> {
  readonly seq: number;
  readonly labels: string;
  readonly estimated: number | null;
}

/** A settlement or expiry that charges nothing and names no tariff is not a movement of money. */
const SELECT_MONEY: Statement = {
  sql: `SELECT j.seq, j.kind, j.reservation, j.amount, coalesce(o.amount, 0) AS overrun, j.time,
      coalesce(a.key_id, '') AS keyId, coalesce(a.labels, '{}') AS labels, coalesce(a.selector, '') AS selector,
      coalesce(t.model, '') AS model, coalesce(t.provider, '') AS provider, coalesce(t.upstream, '') AS upstream,
      coalesce(j.input_tokens, 0) AS input, coalesce(j.cached_input_tokens, 0) AS cached,
      coalesce(j.cache_write_tokens, 0) AS written, coalesce(j.output_tokens, 0) AS output,
      coalesce(j.reasoning_tokens, 0) AS reasoning, j.estimated, t.price, coalesce(j.note, '') AS note
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
      LEFT JOIN journal AS o ON o.seq = j.seq + 1 AND o.kind = 'overrun' AND o.reservation = j.reservation
        AND j.kind IN ('post', 'settle')
    WHERE j.seq > ?1 AND j.kind IN ('post', 'settle', 'expire', 'overrun', 'correct', 'grant', 'deposit', 'fee')
      AND (j.tariff IS NOT NULL OR j.amount <> 0)
      AND CASE WHEN j.reservation IS NULL THEN j.time >= ?2 AND j.time < ?3
        ELSE j.reservation >= ?4 AND j.reservation < ?5 END
      AND (?6 IS NULL OR a.key_id = ?6) AND (?7 IS NULL OR t.model = ?7)
    ORDER BY j.seq LIMIT ?8`,
};
const SELECT_UNIT: Statement = { sql: 'SELECT usd_per_credit AS usdPerCredit FROM checkpoint' };

const PAGE_ROWS = 5_000;

/** The worth of a Credit in USD by the policy; null in a ledger that never had a policy. */
export async function unitOf(reader: Pick<Store, 'query'>): Promise<string | null> {
  const [row] = await reader.query<{ usdPerCredit: string | null }>(SELECT_UNIT);
  return row?.usdPerCredit ?? null;
}

/** The entries in the order in which they were made, page by page. */
export async function* moneyEntries(
  reader: Pick<Store, 'query'>,
  { from, to, keyId, model, labels }: ExportFilter,
): AsyncGenerator<readonly MoneyEntry[]> {
  const end = Math.min(to, Number.MAX_SAFE_INTEGER);
  const lastId = Number.isFinite(to) ? idAt(to) : Number.MAX_SAFE_INTEGER;
  const wanted = Object.entries(labels);
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const params = [after, from, end, idAt(from), lastId, keyId, model, PAGE_ROWS];
    const rows = await reader.query<Row>(SELECT_MONEY, params);
    const last = rows.at(-1);
    if (!last) return;
    yield rows.map(entryOf).filter((entry) => wanted.every(([name, value]) => (entry.labels[name] ?? '') === value));
    after = last.seq;
  }
}

const BALANCE_KINDS: ReadonlySet<string> = new Set<BalanceKind>(['grant', 'deposit', 'fee']);

/** Whether an entry moves a balance alone, without spending. */
export const isBalanceOnly = ({ kind }: MoneyEntry): boolean => BALANCE_KINDS.has(kind);

const entryOf = ({ seq: _, labels, estimated, ...row }: Row): MoneyEntry => ({
  ...row,
  labels: JSON.parse(labels) as Record<string, string>,
  estimated: estimated === 1,
});

/** The moment that an entry counts at: of its reservation, or else its own. */
export const momentOf = ({ reservation, time }: MoneyEntry): number =>
  reservation === null ? time : timeOfId(reservation);

/** A value of a table: a text from outside, a decimal written out, a number, or nothing. */
export type Cell = string | number | boolean | null | { readonly decimal: string };
export type Line = Readonly<Record<string, Cell>>;

/** Makes the lines of an export without sums: each says all that its cost follows from. */
export class Lines {
  static readonly COLUMNS = [
    ...['time', 'reserved_at', 'decision', 'kind', 'key_id', 'labels', 'selector', 'model', 'provider', 'upstream'],
    ...['input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens', 'estimated'],
    ...['usd_per_1m_input', 'usd_per_1m_cached_input', 'usd_per_1m_cache_write', 'usd_per_1m_output'],
    ...['usd_per_request', 'usd_per_credit', 'cost_credits', 'credits', 'overrun_credits', 'granted_credits', 'note'],
  ] as const;
  readonly #unit: string | null;
  readonly #usdPerCredit: Decimal | null;
  /** Prices that were read already, by their text. */
  readonly #prices = new Map<string, Price | null>();

  constructor(unit: string | null) {
    this.#unit = unit;
    this.#usdPerCredit = unit === null ? null : parseDecimal(unit);
  }

  of(entry: MoneyEntry): Line {
    const { kind, reservation, amount, overrun, keyId, labels, selector, model, provider, upstream, note } = entry;
    const isGrant = isBalanceOnly(entry);
    const isAttempt = kind === 'post' || kind === 'settle';
    const tokens = (count: number) => (isAttempt ? count : null);
    return {
      time: iso(entry.time),
      reserved_at: reservation === null ? null : iso(timeOfId(reservation)),
      decision: reservation === null ? null : idText('dec_', reservation),
      ...{ kind, key_id: keyId, labels: JSON.stringify(labels), selector, model, provider, upstream },
      input_tokens: tokens(entry.input),
      cached_input_tokens: tokens(entry.cached),
      cache_write_tokens: tokens(entry.written),
      output_tokens: tokens(entry.output),
      reasoning_tokens: tokens(entry.reasoning),
      estimated: isAttempt ? entry.estimated : null,
      ...priceCells(isAttempt ? this.#usdOf(entry) : null),
      usd_per_credit: this.#unit === null ? null : { decimal: this.#unit },
      cost_credits: isAttempt ? toCredits(amount + overrun) : null,
      credits: kind === 'overrun' || isGrant ? null : toCredits(amount),
      overrun_credits: kind === 'overrun' ? toCredits(amount) : null,
      granted_credits: isGrant ? toCredits(amount) : null,
      note,
    };
  }

  #usdOf({ price: text, input }: MoneyEntry): UsdLine | null {
    if (text === null || this.#usdPerCredit === null) return null;
    let price = this.#prices.get(text);
    if (price === undefined) {
      price = readPrice(text);
      this.#prices.set(text, price);
    }
    return price && usdLine(price, input, this.#usdPerCredit);
  }
}

function priceCells(line: UsdLine | null): Line {
  const cell = (decimal: string | undefined): Cell => (decimal === undefined ? null : { decimal });
  return {
    usd_per_1m_input: cell(line?.input),
    usd_per_1m_cached_input: cell(line?.cachedInput),
    usd_per_1m_cache_write: cell(line?.cacheWrite),
    usd_per_1m_output: cell(line?.output),
    usd_per_request: cell(line?.perRequest),
  };
}
