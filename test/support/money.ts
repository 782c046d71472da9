import fc from 'fast-check';
import { type PriceLine, priceLine } from '../../src/core/money/price.ts';
import { PART_UNITS, type PartUnit, UNIT_NAMES, UNITS } from '../../src/core/money/units.ts';
import type { Usage } from '../../src/core/money/usage.ts';

/** The units that are a part of a side, without those that only some requests ask for. */
export const partsOf = (side: 'input' | 'output', withAsked = false): readonly PartUnit[] =>
  PART_UNITS.filter((unit) => UNITS[unit].side === side && (withAsked || !UNITS[unit].asked));

/** Draws a price line that states a rate for each unit of the table. */
export const anyLine = (rate: fc.Arbitrary<number>, fee: fc.Arbitrary<number> = rate): fc.Arbitrary<PriceLine> =>
  fc
    .record(
      Object.fromEntries(
        UNIT_NAMES.filter((unit) => unit !== 'tool_use').map((unit) => [unit, unit === 'request' ? fee : rate]),
      ),
    )
    .map((rates) => priceLine(0, rates));

/** The same line with changed rates, or for longer inputs. */
export const changedLine = (
  { overInputTokens, rates }: PriceLine,
  more: Readonly<Record<string, number>>,
  over = overInputTokens,
): PriceLine => priceLine(over, { ...rates, ...more });

const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
/** A share for each part of the input and the output, of what the parts before it leave. */
export const anyShares = fc.record(Object.fromEntries(PART_UNITS.map((unit) => [unit, share])));
export type Shares = typeof anyShares extends fc.Arbitrary<infer Value> ? Value : never;

/** Divides tokens into units. @param isPossible whether a unit may occur */
export function dividedUsage(
  inputTokens: number,
  outputTokens: number,
  shares: Shares,
  isPossible = (unit: PartUnit) => !UNITS[unit].asked,
): Usage {
  const left = { input: inputTokens, output: outputTokens, beside: 0 };
  const units: Record<string, number> = {};
  for (const unit of PART_UNITS.filter(isPossible)) {
    const { side } = UNITS[unit];
    units[unit] = Math.floor(left[side] * (shares[unit] ?? 0));
    left[side] -= units[unit];
  }
  return { inputTokens, outputTokens, reasoningTokens: 0, units };
}

/** The cost of a usage at a line, before rounding, according to its definition: each token at the rate of its unit, in big integers. */
export function sumAnew({ rates }: PriceLine, { inputTokens, outputTokens, units = {} }: Usage): bigint {
  const parts = (side: 'input' | 'output') =>
    partsOf(side, true).reduce((sum, unit) => sum + BigInt(units[unit] ?? 0), 0n);
  let sum = BigInt(rates.request ?? 0);
  sum += (BigInt(inputTokens) - parts('input')) * BigInt(rates.input ?? 0);
  sum += (BigInt(outputTokens) - parts('output')) * BigInt(rates.output ?? 0);
  for (const [key, amount] of Object.entries(units)) sum += BigInt(amount) * BigInt(rates[key] ?? 0);
  return sum;
}
