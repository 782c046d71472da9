import { billOf } from '../../core/accounting/bill.ts';
import { type Decimal, parseDecimal } from '../../core/money/decimal.ts';
import type { Price } from '../../core/money/price.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import type { JournalReader, MoneyEntry } from '../../store/journal-reader.ts';
import { readAddOns, readPrice } from '../export/price.ts';
import { type Picodollars, REQUESTS, TOOL, undated } from './billed.ts';

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
  readonly units: ReadonlyMap<string, BookedSum>;
}

/** The charges of a period, one page of the journal at a time. */
export async function* bookedCharges(
  journal: Pick<JournalReader, 'money' | 'usdPerCredit'>,
  period: { readonly from: number; readonly to: number },
): AsyncGenerator<BookedCharge> {
  const worth = parseDecimal((await journal.usdPerCredit()) ?? '0') ?? { digits: 0n, scale: 0 };
  const prices = new Map<string, Price | null>();
  // A request counts on the day on which it ended, and its hold may be of the day before.
  for await (const page of journal.money({ from: period.from - DAY_MS, to: period.to, keyId: null, model: null })) {
    for (const entry of page) {
      if (!isCharge(entry) || entry.time < period.from || entry.time >= period.to) continue;
      const price = entry.price === null ? null : prices.getOrInsertComputed(entry.price, readPrice);
      if (price) yield chargeOf(entry, price, worth);
    }
  }
}

const isCharge = ({ kind }: MoneyEntry): boolean => kind === 'post' || kind === 'settle';

/** The exact cost of units at a rate, which the price's divisor divides. A Credit has a million microcredits. */
const usdOf = (units: number, rate: number, divisor: number, { digits, scale }: Decimal): Picodollars =>
  (BigInt(units) * BigInt(rate) * digits * 1_000_000n) / (BigInt(divisor) * 10n ** BigInt(scale));

function chargeOf(entry: MoneyEntry, price: Price, worth: Decimal): BookedCharge {
  const { time, upstream, provider, input, cached, written, output, reasoning } = entry;
  const addOns = readAddOns(entry.addOns);
  const usage = {
    ...{ inputTokens: input, cachedInputTokens: cached, cacheWriteTokens: written, outputTokens: output },
    ...{ reasoningTokens: reasoning, ...(addOns && { addOns }) },
  };
  const units = new Map<string, BookedSum>();
  const add = (unit: string, amount: number, usd: Picodollars) => {
    const sum = units.getOrInsertComputed(unit, () => ({ amount: 0, usd: 0n }));
    sum.amount += amount;
    sum.usd += usd;
  };
  const hour = addOns?.hourCacheTokens ?? 0;
  for (const { item, name, units: amount, rate } of billOf(price, usage)) {
    const usd = usdOf(amount, rate, price.divisor, worth);
    if (item === 'tool') add(TOOL + name, amount, usd);
    else if (item === 'request') add('request', amount, usd);
    else if (item === 'cache_write') {
      // The line of an hour's cache has only the surcharge over an ordinary write.
      const ofHour = usdOf(hour, rate, price.divisor, worth);
      add('cache_write', amount - hour, usd - ofHour);
      add('cache_write_1h', hour, ofHour);
    } else if (item === 'hour_cache') add('cache_write_1h', 0, usd);
    else add(item, amount, usd);
  }
  add(REQUESTS, 1, 0n);
  return { day: new Date(time).toISOString().slice(0, 10), model: undated(upstream), provider, units };
}
