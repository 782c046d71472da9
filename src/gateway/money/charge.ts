import type { EntryLine, Tariff } from '../../core/accounting/entry.ts';
import { priceText } from '../../core/accounting/stored-price.ts';
import { costOf } from '../../core/money/price.ts';
import type { Endpoint, Model } from '../../core/policy/snapshot.ts';
import type { MeasuredUsage } from './meter.ts';

/** The text of an endpoint's prices is made only once, because endpoints are frozen with their snapshot. */
const tariffs = new WeakMap<Endpoint, Tariff>();

function tariffOf(model: Model, endpoint: Endpoint): Tariff {
  let tariff = tariffs.get(endpoint);
  if (!tariff) {
    const { provider, upstream, price } = endpoint;
    tariff = { model: model.id, provider, upstream, price: priceText(price) };
    tariffs.set(endpoint, tariff);
  }
  return tariff;
}

/** Makes the ledger entry of an attempt. */
export function entryLine(
  model: Model,
  endpoint: Endpoint,
  { usage, estimated, impossible = null }: MeasuredUsage,
): EntryLine {
  return { tariff: tariffOf(model, endpoint), usage, estimated, impossible, cost: costOf(endpoint.price, usage) };
}
