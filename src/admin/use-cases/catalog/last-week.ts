import { type Bill, usageOf } from '../../../core/accounting/bill.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { costOf } from '../../../core/money/price.ts';
import { priceAt } from '../../../core/money/price-plan.ts';
import type { Endpoint } from '../../../core/policy/snapshot.ts';
import { DAY_MS } from '../../../core/time/clock.ts';
import type { JournalReader } from '../../../store/journal-reader.ts';

/** The charges of the last seven days, and what they would have been. */
export interface LastWeek {
  readonly requests: number;
  readonly charged: Microcredits;
  readonly wouldCost: Microcredits;
  /** The models whose charges would differ, the largest difference first. */
  readonly models: readonly ModelWeek[];
}

export interface ModelWeek {
  readonly model: string;
  readonly requests: number;
  readonly charged: Microcredits;
  readonly wouldCost: Microcredits;
}

/** The endpoint of a charge, as a key of a map. */
export const endpointKey = (provider: string, upstream: string): string => `${provider}\n${upstream}`;

/**
 * Recalculates the charges of the last seven days.
 * @param prices the endpoints with the new prices by `endpointKey`; charges of other endpoints stay
 */
export async function lastWeekAt(
  journal: Pick<JournalReader, 'money'>,
  prices: ReadonlyMap<string, Pick<Endpoint, 'price' | 'plan'>>,
  now: number,
): Promise<LastWeek> {
  const sums = new Map<string, { requests: number; charged: number; wouldCost: number }>();
  for await (const page of journal.money({ from: now - 7 * DAY_MS, to: now, keyId: null, model: null })) {
    for (const entry of page) {
      if (entry.kind !== 'post' && entry.kind !== 'settle') continue;
      const endpoint = prices.get(endpointKey(entry.provider, entry.upstream));
      const sum = sums.getOrInsertComputed(entry.model, () => ({ requests: 0, charged: 0, wouldCost: 0 }));
      sum.requests++;
      sum.charged += entry.amount;
      sum.wouldCost += endpoint && entry.bill !== null ? newCost(endpoint, entry.bill, entry.time) : entry.amount;
    }
  }
  const models = [...sums].map(([model, sum]) => ({ model, ...sum }));
  const total = (field: 'requests' | 'charged' | 'wouldCost') => models.reduce((all, one) => all + one[field], 0);
  const changeOf = (one: ModelWeek) => Math.abs(one.wouldCost - one.charged);
  return {
    requests: total('requests'),
    charged: total('charged'),
    wouldCost: total('wouldCost'),
    models: models.filter((one) => changeOf(one) > 0).sort((a, b) => changeOf(b) - changeOf(a)),
  };
}

/** Returns the cost of a bill at the price of its moment and its service tier. @param time when it was charged, ms since 1970 */
function newCost({ price, plan }: Pick<Endpoint, 'price' | 'plan'>, bill: Bill, time: number): Microcredits {
  const then = plan ? priceAt(plan, bill.pricedAt ?? time) : price;
  const ofTier = bill.tier === null ? undefined : then.tiers?.[bill.tier];
  return costOf(ofTier ?? then, usageOf(bill));
}
