import { costOf, type Price, priceOfTier, pricesOfTier } from './price.ts';
import { type PricePlan, priceAt } from './price-plan.ts';
import { DEFAULT_TIER } from './service-tier.ts';
import type { Usage } from './usage.ts';

/** When an attempt was sent and when its answer ended, ms since 1970. */
export interface BilledTime {
  readonly startMs: number;
  readonly endMs: number;
}

/** The price of a charge. */
export interface BilledPrice {
  readonly price: Price;
  /** The moment that decided the price, ms since 1970; absent for a price that does not change with time. */
  readonly pricedAt?: number;
}

/** The service tiers of an attempt, as policies name them. */
export interface BilledTier {
  /** The tier that the provider was asked for; null for none, `auto` for whichever the provider chooses. */
  readonly asked: string | null;
  /** The tier that the answer states (`servedTier`); null if it states none. */
  readonly served: string | null;
}

/**
 * Returns the price of a usage that began and ended at given moments: the one of the moment that the policy names, or the more expensive of both. The
 * tier that the answer states counts; if the answer states none that the policy prices, the most expensive tier that could apply.
 */
export function billedPrice(
  plan: PricePlan,
  usage: Usage,
  { startMs, endMs }: BilledTime,
  tier: BilledTier,
): BilledPrice {
  const at = (ms: number): BilledPrice => ({ price: tierPrice(priceAt(plan, ms), usage, tier), pricedAt: ms });
  if (plan.billedAt === 'start') return at(startMs);
  const end = at(endMs);
  if (plan.billedAt === 'end') return end;
  const start = at(startMs);
  return costOf(end.price, usage) > costOf(start.price, usage) ? end : start;
}

/**
 * Returns the tier of a price that billed a request although its answer does not state the tier: it states none, or one that the policy has
 * no price for. Returns undefined if the answer states the tier, or only one price could apply.
 */
export function assumedTier(base: Price, billed: Price, { asked, served }: BilledTier): string | undefined {
  if (base.tiers === undefined || (served ?? asked ?? DEFAULT_TIER) === DEFAULT_TIER) return undefined;
  if (served !== null && priceOfTier(base, served) !== undefined) return undefined;
  return billed.tier ?? DEFAULT_TIER;
}

/** Returns the price of the service tier that billed a usage. */
export function tierPrice(price: Price, usage: Usage, { asked, served }: BilledTier): Price {
  const { tiers } = price;
  const tier = served ?? asked;
  if (tiers === undefined || tier === null || tier === DEFAULT_TIER) return price;
  const own = served === null ? undefined : priceOfTier(price, served);
  if (own !== undefined) return own;
  let dearest = price;
  for (const one of pricesOfTier(price, tier)) if (costOf(one, usage) > costOf(dearest, usage)) dearest = one;
  return dearest;
}
