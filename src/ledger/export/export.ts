import { iso } from '../../core/clock.ts';
import { toCredits } from '../../core/credits.ts';
import { type Decimal, parseDecimal } from '../../core/decimal.ts';
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

/** Makes the lines of an export. Each line states all figures that its cost follows from. */
export class Lines {
  static readonly COLUMNS = [
    ...['time', 'reserved_at', 'decision', 'kind', 'key_id', 'labels', 'selector', 'model', 'provider', 'upstream'],
    ...['input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens', 'estimated'],
    ...['usd_per_1m_input', 'usd_per_1m_cached_input', 'usd_per_1m_cache_write', 'usd_per_1m_output'],
    ...[
      'usd_per_request',
      'add_ons',
      'usd_add_ons',
      'usd_per_credit',
      'cost_credits',
      'credits',
      'overrun_credits',
      'granted_credits',
      'note',
      'session',
      'agent',
    ],
  ] as const;
  readonly #unit: string | null;
  readonly #usdPerCredit: Decimal | null;
  /** Parsed prices by their text. */
  readonly #prices = new Map<string, Price | null>();

  constructor(unit: string | null) {
    this.#unit = unit;
    this.#usdPerCredit = unit === null ? null : parseDecimal(unit);
  }

  of(entry: MoneyEntry): Line {
    const { kind, reservation, amount, overrun, keyId, labels, note } = entry;
    const { selector, session, agent, model, provider, upstream } = entry;
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
      ...(isAttempt ? this.#addOnCells(entry) : NO_ADD_ONS),
      usd_per_credit: this.#unit === null ? null : { decimal: this.#unit },
      cost_credits: isAttempt ? toCredits(amount + overrun) : null,
      credits: kind === 'overrun' || isGrant ? null : toCredits(amount),
      overrun_credits: kind === 'overrun' ? toCredits(amount) : null,
      granted_credits: isGrant ? toCredits(amount) : null,
      note,
      session,
      agent,
    };
  }

  #addOnCells({ addOns: text, input, price: list }: MoneyEntry): Line {
    const addOns = readAddOns(text);
    if (addOns === null) return NO_ADD_ONS;
    const price = list === null ? null : this.#priceOf(list);
    const usd = price && this.#usdPerCredit && usdOfAddOns(price, input, addOns, this.#usdPerCredit);
    return { add_ons: text, usd_add_ons: usd === null ? null : { decimal: usd } };
  }

  #usdOf({ price: text, input }: MoneyEntry): UsdLine | null {
    if (text === null || this.#usdPerCredit === null) return null;
    const price = this.#priceOf(text);
    return price && usdLine(price, input, this.#usdPerCredit);
  }

  #priceOf(text: string): Price | null {
    return this.#prices.getOrInsertComputed(text, readPrice);
  }
}

const NO_ADD_ONS: Line = { add_ons: null, usd_add_ons: null };

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
