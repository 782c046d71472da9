import { isObject, parseJson } from '../json/object.ts';
import type { Microcredits } from '../money/credits.ts';
import { lineFor, type Price, type PriceLine, rateOf } from '../money/price.ts';
import { type Amounts, unitOf } from '../money/units.ts';
import type { Usage } from '../money/usage.ts';

/** A bill as the journal stores it: the amounts, each with the rate that applied. */
export interface Bill {
  /** All tokens of the input and the output, and the part of the output that was hidden reasoning. */
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  /** The lines, without units that have no amount. */
  readonly lines: readonly BillLine[];
  /** The price line that applied, by its `overInputTokens`, and the divisor of the rates; null if the price is unknown. */
  readonly over: number | null;
  readonly divisor: number | null;
  /** The service tier that was billed; null for the default tier. */
  readonly tier: string | null;
  /** The moment that decided the price, ms since 1970; null for a price that does not change with time. */
  readonly pricedAt: number | null;
  /** Absent if the answer stated no cost. */
  readonly stated?: StatedCost;
}

/** The cost that a provider states in an answer, beside the cost of the same attempt at our price. */
export interface StatedCost {
  readonly stated: Microcredits;
  readonly cost: Microcredits;
}

/** One line of a bill: an amount of a unit at a rate. Divide the rate by the price's divisor to get microcredits. */
export interface BillLine {
  /** `UnitKey`. */
  readonly unit: string;
  readonly amount: number;
  /** Null if the price is unknown. */
  readonly rate: number | null;
}

/**
 * Writes bills at a price as the journal stores them:
 * `{"input":1204,"output":20,"units":{"cached_input":300},"rates":{"input":2500,"output":10000,"cached_input":250},"over":0,"divisor":10}`.
 * `input` and `output` are all tokens of their side. `reasoning` and `units` are left out if there are none, and the rates and what follows
 * if the price is unknown. A bill at the price of a service tier ends with its `tier`, and a bill at a price that changes with time with
 * the moment `at` that decided it. If the answer states its cost, `"stated":1200,"cost":1204` follow. Create a writer once for each price,
 * because it keeps the texts of bills that have only input and output.
 */
export class BillWriter {
  readonly #price: Price | null;
  readonly #plainEnds = new Map<PriceLine, string>();

  /** @param price null if it is unknown */
  constructor(price: Price | null) {
    this.#price = price;
    if (price) for (const line of price.lines) this.#plainEnds.set(line, endOf(line, price, {}));
  }

  /**
   * @param pricedAt the moment that decided the price, ms since 1970; absent for a price that does not change with time
   * @param stated absent if the answer states no cost
   */
  text(usage: Usage, pricedAt?: number, stated?: StatedCost): string {
    const text = this.#text(usage);
    if (pricedAt === undefined && stated === undefined) return text;
    const moment = pricedAt === undefined ? '' : `,"at":${Math.round(pricedAt)}`;
    const compared = stated === undefined ? '' : `,"stated":${stated.stated},"cost":${stated.cost}`;
    return `${text.slice(0, -1)}${moment}${compared}}`;
  }

  #text(usage: Usage): string {
    const { inputTokens, outputTokens, reasoningTokens, units } = usage;
    const end = units === undefined ? this.#plainEnd(inputTokens) : this.#endWith(units, inputTokens);
    if (reasoningTokens === 0) return `{"input":${inputTokens},"output":${outputTokens}${end}`;
    return `{"input":${inputTokens},"output":${outputTokens},"reasoning":${reasoningTokens}${end}`;
  }

  #plainEnd(inputTokens: number): string {
    return this.#price === null ? '}' : this.#plainEnds.get(lineFor(this.#price, inputTokens))!;
  }

  #endWith(units: Amounts, inputTokens: number): string {
    const price = this.#price;
    const end = price === null ? '}' : endOf(lineFor(price, inputTokens), price, units);
    return `,"units":${JSON.stringify(units)}${end}`;
  }
}

function endOf(line: PriceLine, { divisor, tier }: Price, units: Amounts): string {
  const rates: Record<string, number> = { input: line.input, output: line.output };
  for (const key in units) rates[key] = rateOf(line, key);
  if (line.request > 0) rates.request = line.request;
  const ofTier = tier === undefined ? '' : `,"tier":${JSON.stringify(tier)}`;
  return `,"rates":${JSON.stringify(rates)},"over":${line.overInputTokens},"divisor":${divisor}${ofTier}}`;
}

/**
 * Reads a bill of the journal.
 * @returns null for none, and for a text that is not a bill
 */
export function readBill(text: string | null): Bill | null {
  const value = text === null ? null : parseJson(text);
  if (!isObject(value)) return null;
  const { input, output, reasoning = 0, units = {}, rates = null, over = null, divisor = null } = value;
  const { tier = null, at = null, stated, cost } = value;
  if (!isCount(input) || !isCount(output) || !isCount(reasoning) || !isAmounts(units)) return null;
  if (!(rates === null || isAmounts(rates)) || !isCountOrNull(over) || !isCountOrNull(divisor)) return null;
  if (!(tier === null || typeof tier === 'string') || !isCountOrNull(at)) return null;
  const lines = linesOf({ input, output }, units, rates);
  const bill = { input, output, reasoning, lines, over, divisor, tier, pricedAt: at };
  return isCount(stated) && isCount(cost) ? { ...bill, stated: { stated, cost } } : bill;
}

function linesOf(sides: Pick<Bill, 'input' | 'output'>, units: Amounts, rates: Amounts | null): readonly BillLine[] {
  const parts = Object.entries(units);
  const rest = (side: 'input' | 'output') =>
    parts.reduce((left, [unit, amount]) => (unitOf(unit)?.side === side ? left - amount : left), sides[side]);
  const request = rates?.request === undefined ? 0 : 1;
  const all = [['input', rest('input')], ['output', rest('output')], ...parts, ['request', request]] as const;
  return all
    .filter(([, amount]) => amount !== 0)
    .map(([unit, amount]) => ({ unit, amount, rate: rates === null ? null : (rates[unit] ?? null) }));
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isCountOrNull = (value: unknown): value is number | null => value === null || isCount(value);
const isAmounts = (value: unknown): value is Amounts => isObject(value) && Object.values(value).every(isCount);

/** Returns the amount of a unit on a bill. @param unit `UnitKey` */
export const billed = (bill: Bill | null, unit: string): number =>
  bill?.lines.find((line) => line.unit === unit)?.amount ?? 0;

/** Returns the usage that a bill was made from. */
export function usageOf({ input, output, reasoning, lines }: Bill): Usage {
  const parts = lines.filter(({ unit }) => unit !== 'input' && unit !== 'output' && unit !== 'request');
  return {
    ...{ inputTokens: input, outputTokens: output, reasoningTokens: reasoning },
    ...(parts.length > 0 && { units: Object.fromEntries(parts.map(({ unit, amount }) => [unit, amount])) }),
  };
}
