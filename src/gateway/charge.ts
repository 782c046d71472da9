import { costOf, type Price } from '../core/price.ts';
import type { Endpoint, Model } from '../core/snapshot.ts';
import { isPlausible } from '../core/usage.ts';
import type { EntryLine } from '../ledger/hold.ts';
import type { Measured } from './meter.ts';

/** Prices are frozen with their snapshot, so their text is made once. */
const priceTexts = new WeakMap<Price, string>();

function priceText(price: Price): string {
  let text = priceTexts.get(price);
  if (text === undefined) {
    text = JSON.stringify(price);
    priceTexts.set(price, text);
  }
  return text;
}

/** An attempt as the ledger books it. Figures that cannot be true cost all that is left. */
export function entryLine(model: Model, endpoint: Endpoint, { usage, estimated }: Measured, left: number): EntryLine {
  return {
    model: model.id,
    provider: endpoint.provider,
    upstream: endpoint.upstream,
    usage,
    estimated,
    cost: isPlausible(usage) ? costOf(endpoint.price, usage) : left,
    price: priceText(endpoint.price),
  };
}
