import { statedUsd } from 'signalbox/plugin';
import { isObject, type Json, objectOf } from './json.ts';

/**
 * Reads the cost that a service states in the `usage` of an answer, in USD.
 * - OpenRouter: `cost`, in credits of 1 USD. With a key of one's own (`is_byok`), `cost` is only OpenRouter's fee, and the model's provider
 *   bills `cost_details.upstream_inference_cost`: openrouter.ai/docs/cookbook/administration/usage-accounting, types of @openrouter/sdk 1.3.19.
 * - xAI: `cost_in_usd_ticks`, of which 1 USD has 10^10: docs.x.ai/developers/cost-tracking.
 * - Perplexity: `cost.total_cost`, with its `currency`: the schemas ResponsesUsage and ResponsesCost of its API.
 * @returns undefined if the answer states none, or an amount that cannot be true
 */
export const statedCost = (usage: Json): string | undefined =>
  usage.cost === undefined && usage.cost_in_usd_ticks === undefined ? undefined : readCost(usage);

function readCost(usage: Json): string | undefined {
  const { cost, cost_in_usd_ticks: ticks } = usage;
  if (typeof ticks === 'number') return statedUsd([{ ticks }]);
  if (typeof cost === 'number') {
    const upstream = usage.is_byok === true ? objectOf(usage.cost_details).upstream_inference_cost : undefined;
    return statedUsd(typeof upstream === 'number' ? [cost, upstream] : [cost]);
  }
  if (!isObject(cost) || typeof cost.total_cost !== 'number') return undefined;
  return cost.currency === undefined || cost.currency === 'USD' ? statedUsd([cost.total_cost]) : undefined;
}
