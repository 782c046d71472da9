import type { LadderStrategy } from '../../contract/strategy.ts';

const isShare = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1;

/** Returns what is wrong with the figures of a strategy that orders models once, whose types nothing has checked; null for nothing. */
export function ladderFault({ margin, strongMargin, stepCost, atMostAuto }: Partial<LadderStrategy>): string | null {
  if (!isShare(margin)) return `\`margin\` is ${String(margin)}; it must be a number from 0 to 1`;
  if (!isShare(strongMargin) || strongMargin > margin)
    return `\`strongMargin\` is ${String(strongMargin)}; it must be a number from 0 to \`margin\``;
  if (stepCost !== undefined && !(typeof stepCost === 'number' && stepCost >= 1))
    return `\`stepCost\` is ${String(stepCost)}; it must be a number of at least 1, or absent`;
  if (atMostAuto !== undefined && atMostAuto !== 'cost' && atMostAuto !== 'latency')
    return `\`atMostAuto\` is ${String(atMostAuto)}; it must be \`cost\`, \`latency\` or absent`;
  return null;
}
