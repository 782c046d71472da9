import { type AddOns, canonicalUsage, type Usage } from 'signalbox/plugin';
import { type Json, numberOf, objectOf } from '../json.ts';

/** The usage members that the adapter keeps. Copying all members of the usage for every event would be too slow. */
export const FIGURES = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
  'output_tokens_details',
  'cache_creation',
  'server_tool_use',
] as const;

/** Reads a `usage` object; returns null if it has no token counts. The host checks whether the token counts are plausible. */
export const readUsage = (usage: Json): Usage | null =>
  numberOf(usage.input_tokens) === undefined || numberOf(usage.output_tokens) === undefined ? null : usageOf(usage);

/** Reads a `usage` object, with 0 for missing counts. */
export const usageOf = (usage: Json): Usage =>
  canonicalUsage(
    {
      input: numberOf(usage.input_tokens) ?? 0,
      cachedInput: numberOf(usage.cache_read_input_tokens),
      cacheWrite: numberOf(usage.cache_creation_input_tokens),
      output: numberOf(usage.output_tokens) ?? 0,
      reasoning: numberOf(objectOf(usage.output_tokens_details).thinking_tokens),
      addOns: addOnsOf(usage),
    },
    { cached: false, cacheWrite: false, reasoning: true },
  );

/**
 * Returns the charges in addition to tokens; undefined if there are none. Tool uses are named without their unit: `web_search_requests`.
 */
function addOnsOf({ cache_creation: written, server_tool_use: tools }: Json): AddOns | undefined {
  const hourCacheTokens = numberOf(objectOf(written).ephemeral_1h_input_tokens) ?? 0;
  const toolUses: Record<string, number> = {};
  for (const [name, uses] of Object.entries(objectOf(tools))) {
    if (numberOf(uses)) toolUses[name.replace(/_requests$/, '')] = numberOf(uses)!;
  }
  const hasUses = Object.keys(toolUses).length > 0;
  if (hourCacheTokens === 0 && !hasUses) return undefined;
  return { ...(hourCacheTokens !== 0 && { hourCacheTokens }), ...(hasUses && { toolUses }) };
}
