import type { EntryLine, Tariff } from '../../core/accounting/entry.ts';
import { priceText } from '../../core/accounting/stored-price.ts';
import {
  assumedTier,
  type BilledPrice,
  type BilledTier,
  billedPrice,
  tierPrice,
} from '../../core/money/billed-price.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { costOf, type Price } from '../../core/money/price.ts';
import type { Usage } from '../../core/money/usage.ts';
import type { Endpoint, Model } from '../../core/policy/snapshot.ts';
import type { MeasuredUsage } from './meter.ts';

/** The texts of an endpoint's prices are made only once, because endpoints and their prices are frozen with their snapshot. */
const tariffs = new WeakMap<Endpoint, WeakMap<Price, Tariff>>();

function tariffOf(model: Model, endpoint: Endpoint, price: Price): Tariff {
  let known = tariffs.get(endpoint);
  if (!known) {
    known = new WeakMap();
    tariffs.set(endpoint, known);
  }
  let tariff = known.get(price);
  if (!tariff) {
    const { provider, upstream } = endpoint;
    tariff = { model: model.id, provider, upstream, price: priceText(price) };
    known.set(price, tariff);
  }
  return tariff;
}

/** An attempt that is charged. */
interface ChargedAttempt {
  readonly model: Model;
  readonly endpoint: Endpoint;
  /** How long it has taken so far, ms. */
  readonly tookMs: number;
  /** The service tier that the provider was asked for, and the one that its answer states. */
  readonly serviceTier: BilledTier;
  /** The cost that the answer states; undefined if it states none. */
  readonly stated: Microcredits | undefined;
}

/** Makes the ledger entry of an attempt. @param now ms since 1970 */
export function entryLine(attempt: ChargedAttempt, measured: MeasuredUsage, now: () => number): EntryLine {
  const { model, endpoint, stated } = attempt;
  const { usage, estimated, impossible = null } = measured;
  const { price, pricedAt } = priceOf(attempt, usage, now);
  return {
    tariff: tariffOf(model, endpoint, price),
    usage,
    estimated,
    impossible,
    cost: costOf(price, usage),
    stated,
    assumedTier: endpoint.price.tiers && assumedTier(endpoint.price, price, attempt.serviceTier),
    ...(pricedAt !== undefined && { pricedAt }),
  };
}

function priceOf(attempt: ChargedAttempt, usage: Usage, now: () => number): BilledPrice {
  const { price, plan } = attempt.endpoint;
  if (plan === undefined && price.tiers === undefined) return attempt.endpoint;
  const { serviceTier: tier } = attempt;
  if (plan === undefined) return { price: tierPrice(price, usage, tier) };
  const endMs = now();
  return billedPrice(plan, usage, { startMs: endMs - attempt.tookMs, endMs }, tier);
}
