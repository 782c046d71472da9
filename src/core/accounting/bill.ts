import { addOnPairs, lineFor, type Price } from '../money/price.ts';
import type { Usage } from '../money/usage.ts';

/** The kinds of items on a bill. `tool` is a use of a tool that the provider runs. */
export const BILL_ITEMS = ['input', 'cached_input', 'cache_write', 'hour_cache', 'output', 'tool', 'request'] as const;

/** One line of a bill: a number of units at a rate. */
export interface BillLine {
  readonly item: (typeof BILL_ITEMS)[number];
  /** The name of the used tool; '' for other items. */
  readonly name: string;
  readonly units: number;
  /** The rate of one unit. Divide the rate by the price's divisor to get microcredits. */
  readonly rate: number;
}

/**
 * Returns the lines of a bill. The sum of the lines, rounded up once to a microcredit, equals `costOf` of the same usage. The bill leaves
 * out items without units. The line for a one-hour cache write has only the surcharge over an ordinary cache write.
 */
export function billOf(price: Price, usage: Usage): readonly BillLine[] {
  const { inputTokens, cachedInputTokens: cached, cacheWriteTokens: written, outputTokens, addOns } = usage;
  const line = lineFor(price, inputTokens);
  const [hourTokens = 0, hourRate = 0] = addOns ? addOnPairs(price, line, { ...addOns, toolUses: {} }) : [];
  const tools = Object.entries(addOns?.toolUses ?? {});
  const lines: readonly BillLine[] = [
    { item: 'input', name: '', units: inputTokens - cached - written, rate: line.input },
    { item: 'cached_input', name: '', units: cached, rate: line.cachedInput },
    { item: 'cache_write', name: '', units: written, rate: line.cacheWrite },
    { item: 'hour_cache', name: '', units: hourTokens, rate: hourRate },
    { item: 'output', name: '', units: outputTokens, rate: line.output },
    ...tools.map(([name, uses]) => ({ item: 'tool' as const, name, units: uses, rate: price.toolUses?.[name] ?? 0 })),
    { item: 'request', name: '', units: price.perRequest > 0 ? 1 : 0, rate: price.perRequest },
  ];
  return lines.filter(({ units }) => units > 0);
}
