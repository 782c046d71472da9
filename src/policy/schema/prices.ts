import { type Decimal, parseDecimal, toNumber } from '../../core/money/decimal.ts';
import { compilePrice, type ListPriceLine, type Price } from '../../core/money/price.ts';
import {
  PART_UNITS,
  type PartUnit,
  TOKEN_UNITS,
  type TokenUnit,
  toolUse,
  type UnitKey,
} from '../../core/money/units.ts';
import type { Report } from '../report/report.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import type { PriceText } from './model.ts';

/**
 * The lowest plausible price, in USD per 1M tokens. A lower price is probably per token or per 1,000 tokens, because the cheapest models
 * cost 20 times as much.
 */
export const PER_MILLION_MIN = 0.001;
/** The usual range of model prices, USD per 1M tokens. */
const PLAUSIBLE = { min: 0.01, max: 200 } as const;
/** Other units of prices, with the number of these units in 1M tokens. */
const OTHER_UNITS = [
  ['per 1K tokens', 1000n],
  ['per token', 1_000_000n],
] as const;

/**
 * Reads an exact decimal from the source text. `decimalAt` returns null if the decimal is absent, or if it is not in plain notation, which
 * is reported.
 */
export function decimalAt(tree: Tree, key: string, report: Report): Decimal | null {
  const at = valueAt(tree, key);
  if (at?.kind !== 'scalar') return null;
  const decimal = parseDecimal(at.source);
  if (!decimal) {
    report.add('bad-form', at.place, `\`${key}\` must be an exact decimal, not \`${at.source}\``, {
      expected: 'plain decimal digits such as 0.25 or 12',
    });
  }
  return decimal;
}

/** Compiles a price that satisfies the schema. `readPrice` reports an error and returns null if the price cannot be exact. */
export function readPrice(tree: Tree, data: PriceText, usdPerCredit: Decimal, report: Report): Price | null {
  const first = readLine(tree, 0, report);
  const tiers = data.tiers.map((tier, at) => {
    const previous = at === 0 ? 0 : (data.tiers[at - 1]?.over_input_tokens ?? 0);
    if (tier.over_input_tokens <= previous) {
      const place = placeAt(tree, 'tiers', at, 'over_input_tokens');
      const expected = `more than ${previous}`;
      report.add('out-of-range', place, '`over_input_tokens` must rise from each tier to the next', { expected });
    }
    return readLine(valueAt(tree, 'tiers', at) ?? tree, tier.over_input_tokens, report);
  });
  const lines = tiers.filter((line) => line !== null);
  if (!first || lines.length < tiers.length) return null;
  const fees = new Map<UnitKey, Decimal>();
  const perRequest = data.per_request === undefined ? null : decimalAt(tree, 'per_request', report);
  if (perRequest && perRequest.digits > 0n) fees.set('request', perRequest);
  for (const name of Object.keys(data.tool_uses ?? {})) {
    const fee = decimalAt(valueAt(tree, 'tool_uses') ?? tree, name, report);
    if (fee) fees.set(toolUse(name), fee);
  }
  try {
    return compilePrice({ lines: [first, ...lines], fees }, usdPerCredit);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    report.add('price-not-exact', tree.place, error.message, { hint: 'round the price to fewer digits' });
    return null;
  }
}

export type UsdPrice = ReturnType<typeof usdOf>;

/** Returns a price for expressions: USD per 1M tokens for the shortest inputs, and USD per request, as doubles. */
export function usdOf(text: PriceText | undefined) {
  const { input = 0, output = 0, cached_input = input, per_request = 0 } = text ?? {};
  return { input, cached_input, output, per_request };
}

/** Checks the rates of a price that has other errors. */
export function reviewRates(tree: Tree, report: Report): void {
  for (const key of TOKEN_UNITS) {
    const rate = valueAt(tree, key);
    if (rate?.kind === 'scalar' && typeof rate.value === 'number') rateAt(tree, key, report);
  }
}

function readLine(tree: Tree, overInputTokens: number, report: Report): ListPriceLine | null {
  const input = rateAt(tree, 'input', report);
  const output = rateAt(tree, 'output', report);
  const others = new Map<PartUnit, Decimal>();
  for (const unit of PART_UNITS) {
    const rate = rateAt(tree, unit, report);
    if (rate) others.set(unit, rate);
  }
  return input && output ? { overInputTokens, input, output, others } : null;
}

function rateAt(tree: Tree, key: TokenUnit, report: Report): Decimal | null {
  const rate = decimalAt(tree, key, report);
  if (!rate || rate.digits <= 0n || toNumber(rate) >= PER_MILLION_MIN) return rate;
  const meant = OTHER_UNITS.map(([unit, times]) => ({
    unit,
    perMillion: toNumber({ digits: rate.digits * times, scale: rate.scale }),
  })).filter(({ perMillion }) => perMillion >= PLAUSIBLE.min && perMillion <= PLAUSIBLE.max);
  const hint = meant.map(({ unit, perMillion }) => `${perMillion} if it was ${unit}`).join(', ');
  const looks = meant.map(({ unit }) => unit).join(' or ') || 'per token';
  report.add('price-per-token', placeAt(tree, key), `\`${key}\` looks like a price ${looks}`, {
    expected: 'USD per 1M tokens',
    hint,
  });
  return rate;
}
