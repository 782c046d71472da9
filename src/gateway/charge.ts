import { costOf } from '../core/price.ts';
import type { Endpoint, Model } from '../core/snapshot.ts';
import { isPlausible } from '../core/usage.ts';
import type { EntryLine, Tariff } from '../ledger/rules/entry.ts';
import type { MeasuredUsage } from './meter.ts';

/** Endpoints are frozen with their snapshot, so the text of their prices is made once. */
const tariffs = new WeakMap<Endpoint, Tariff>();

function tariffOf(model: Model, endpoint: Endpoint): Tariff {
  let tariff = tariffs.get(endpoint);
  if (!tariff) {
    const { provider, upstream, price } = endpoint;
    tariff = { model: model.id, provider, upstream, price: JSON.stringify(price) };
    tariffs.set(endpoint, tariff);
  }
  return tariff;
}

/**
 * Makes the ledger's line of an attempt. Implausible usage costs all that is left of the hold, and counts as estimated.
 * @param left microcredits of the hold
 */
export function entryLine(
  model: Model,
  endpoint: Endpoint,
  { usage, estimated }: MeasuredUsage,
  left: number,
): EntryLine {
  const isSound = isPlausible(usage);
  const cost = isSound ? costOf(endpoint.price, usage) : left;
  return { tariff: tariffOf(model, endpoint), usage, estimated: estimated || !isSound, cost };
}
