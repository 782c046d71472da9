import { isObject, parseJson } from '../json/object.ts';
import { type Price, type PriceLine, priceLine } from '../money/price.ts';
import { type Amounts, toolUse } from '../money/units.ts';

/** Writes a price as tariffs store it, so that a cost can be computed again from the entry and its tariff. */
export const priceText = ({ lines, divisor, tier }: Price): string =>
  JSON.stringify({ lines: lines.map(({ overInputTokens: over, rates }) => ({ over, rates })), divisor, tier });

/**
 * Parses a price from the table `tariffs`.
 * @returns null for a text that is not a price
 */
export function readPrice(text: string): Price | null {
  const value = parseJson(text);
  if (!isObject(value) || !isCount(value.divisor) || value.divisor === 0 || !Array.isArray(value.lines)) return null;
  const fees = formerFees(value);
  const lines = value.lines.map((line) => (isObject(line) ? readLine(line, fees) : null));
  const [first, ...rest] = lines.filter((line) => line !== null);
  if (!first || rest.length < lines.length - 1) return null;
  const { divisor, tier } = value;
  return { lines: [first, ...rest], divisor, ...(typeof tier === 'string' && { tier }) };
}

function readLine(line: Readonly<Record<string, unknown>>, fees: unknown): PriceLine | null {
  const { over, rates } = 'rates' in line ? line : { over: line.overInputTokens, rates: formerRates(line, fees) };
  return isCount(over) && isAmounts(rates) ? priceLine(over, rates) : null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isAmounts = (value: unknown): value is Amounts => isObject(value) && Object.values(value).every(isCount);

/** The fees of a price in the form that builds before version 31 of the tables stored. */
const formerFees = ({ perRequest, toolUses }: Readonly<Record<string, unknown>>) => ({
  ...(perRequest !== undefined && perRequest !== 0 && { request: perRequest }),
  ...(isObject(toolUses) && Object.fromEntries(Object.entries(toolUses).map(([name, fee]) => [toolUse(name), fee]))),
});

/** The rates of a price line in the form of these builds. */
const formerRates = (line: Readonly<Record<string, unknown>>, fees: unknown) => ({
  input: line.input,
  cached_input: line.cachedInput,
  cache_write: line.cacheWrite,
  ...(line.hourCacheWrite !== undefined && { cache_write_1h: line.hourCacheWrite }),
  output: line.output,
  ...(isObject(fees) && fees),
});
