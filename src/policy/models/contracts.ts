import { mapOf } from '../../core/define/fields.ts';
import { type Decimal, toNumber } from '../../core/money/decimal.ts';
import { scaledPrice } from '../../core/money/price.ts';
import { scaledPlan } from '../../core/money/price-plan.ts';
import { type CheckContext, checkNamed } from '../check/section-checks.ts';
import { defineInput, ORDINARY } from '../define/section.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { ContractText } from '../schema/model.ts';
import { decimalAt, type StatedPrice, type UsdPrice } from '../schema/prices.ts';

/** The factor of the list prices of each provider, such as 0.88 for a discount of 12 %. Providers without a contract are absent. */
export type Contracts = ReadonlyMap<string, Decimal>;

/** The section `prices`. */
export const PRICES = defineInput({
  name: 'prices',
  text: mapOf(ContractText, 'Provider → what your contract changes in its prices.'),
  guard: ORDINARY,
  page: ['Serve', 'language.md#models'],
  draft: (context) =>
    draftContracts(
      context,
      context.of(PROVIDERS).named.map(({ name }) => name),
    ),
});

function draftContracts(context: CheckContext, providers: Iterable<string>): Contracts {
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

/**
 * Returns the price that the operator pays. A price with `basis: own` is already that price. `paidPrice` reports a price that cannot be exact,
 * and returns null.
 * @param place the location of the stated price
 */
export function paidPrice(
  stated: StatedPrice,
  basis: string,
  factor: Decimal | undefined,
  { place, report }: { readonly place: SourceSpan; readonly report: Report },
): StatedPrice | null {
  if (factor === undefined || basis === 'own') return stated;
  const { price, plan, usd } = stated;
  const times = toNumber(factor);
  try {
    return {
      price: scaledPrice(price, factor),
      ...(plan && { plan: scaledPlan(plan, factor) }),
      usd: usd.map((one) => scaledUsd(one, times)),
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const hint = 'round the `discount` in `prices`, or the price, to fewer digits';
    report.add('price-not-exact', place, `less the discount, ${error.message}`, { hint });
    return null;
  }
}

const scaledUsd = (usd: UsdPrice, times: number): UsdPrice => ({
  input: usd.input * times,
  cached_input: usd.cached_input * times,
  output: usd.output * times,
  per_request: usd.per_request * times,
});
