import { type Decimal, toNumber } from '../../core/money/decimal.ts';
import { type Price, scaledPrice } from '../../core/money/price.ts';
import { type CheckContext, checkNamed } from '../check/section-checks.ts';
import { ContractText } from '../schema/model.ts';
import { decimalAt, type UsdPrice } from '../schema/prices.ts';

/** The factor of the list prices of each provider, such as 0.88 for a discount of 12 %. Providers without a contract are absent. */
export type Contracts = ReadonlyMap<string, Decimal>;

/** Reads the section `prices`. */
export function draftContracts(context: CheckContext, providers: Iterable<string>): Contracts {
  const { report } = context;
  const known = new Set(providers);
  const contracts = new Map<string, Decimal>();
  for (const { name, data, tree, place } of checkNamed('prices', ContractText, context)) {
    if (!known.has(name)) report.addUnknown('provider', name, known, place);
    const discount = data && decimalAt(tree, 'discount', report);
    if (discount)
      contracts.set(name, { digits: 10n ** BigInt(discount.scale) - discount.digits, scale: discount.scale });
  }
  return contracts;
}

/** Returns the price that the operator pays. A price with `basis: own` is already that price. */
export const paidPrice = (price: Price, basis: string, factor: Decimal | undefined): Price =>
  factor === undefined || basis === 'own' ? price : scaledPrice(price, factor);

/** The same for a price in expressions. */
export function paidUsd(usd: UsdPrice, basis: string, factor: Decimal | undefined): UsdPrice {
  if (factor === undefined || basis === 'own') return usd;
  const times = toNumber(factor);
  return {
    input: usd.input * times,
    cached_input: usd.cached_input * times,
    output: usd.output * times,
    per_request: usd.per_request * times,
  };
}
