import type { Bill } from '../../core/accounting/bill.ts';
import { type Decimal, parseDecimal } from '../../core/money/decimal.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import type { JournalReader, MoneyEntry } from '../../store/journal-reader.ts';
import { type Picodollars, REQUESTS, undated } from './billed.ts';

/** The amounts and the cost of one unit, as the books have them. */
export interface BookedSum {
  amount: number;
  usd: Picodollars;
}

/** A charge of the books, as the bill of its provider would show it. */
export interface BookedCharge {
  readonly day: string;
  readonly model: string;
  readonly provider: string;
  /** The service tier, if it is not the usual one; null otherwise. */
  readonly tier: string | null;
  readonly units: ReadonlyMap<string, BookedSum>;
}

/** The charges of a period, one page of the journal at a time. */
export async function* bookedCharges(
  journal: Pick<JournalReader, 'money' | 'usdPerCredit'>,
  period: { readonly from: number; readonly to: number },
): AsyncGenerator<BookedCharge> {
  const worth = parseDecimal((await journal.usdPerCredit()) ?? '0') ?? { digits: 0n, scale: 0 };
  // A request counts on the day on which it ended, and its hold may be of the day before.
  for await (const page of journal.money({ from: period.from - DAY_MS, to: period.to, keyId: null, model: null })) {
    for (const entry of page) {
      if (!isCharge(entry) || entry.time < period.from || entry.time >= period.to) continue;
      if (entry.bill) yield chargeOf(entry, entry.bill, worth);
    }
  }
}

const isCharge = ({ kind }: MoneyEntry): boolean => kind === 'post' || kind === 'settle';

/** The exact cost of an amount at a rate, which the price's divisor divides. A Credit has a million microcredits. */
const usdOf = (amount: number, rate: number, divisor: number, { digits, scale }: Decimal): Picodollars =>
  (BigInt(amount) * BigInt(rate) * digits * 1_000_000n) / (BigInt(divisor) * 10n ** BigInt(scale));

function chargeOf(
  { time, upstream, provider }: MoneyEntry,
  { lines, divisor, tier }: Bill,
  worth: Decimal,
): BookedCharge {
  const units = new Map<string, BookedSum>([[REQUESTS, { amount: 1, usd: 0n }]]);
  for (const { unit, amount, rate } of lines) {
    units.set(unit, { amount, usd: divisor === null ? 0n : usdOf(amount, rate ?? 0, divisor, worth) });
  }
  return { day: new Date(time).toISOString().slice(0, 10), model: undated(upstream), provider, tier, units };
}
