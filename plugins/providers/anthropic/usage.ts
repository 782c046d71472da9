import { canonicalUsage, toolUse, type Usage } from 'signalbox/plugin';
import { type Json, numberOf, objectOf, statedText } from '../json.ts';

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
      output: numberOf(usage.output_tokens) ?? 0,
      reasoning: numberOf(objectOf(usage.output_tokens_details).thinking_tokens),
      units: unitsOf(usage),
    },
    { input: false, output: true, reasoning: true },
  );

/** Capacity that the account has bought in advance has no list price, so the price of the policy applies. */
const BASE_PRICED: ReadonlySet<string> = new Set(['standard', 'priority']);

/**
 * Returns the service tier that a `usage` object states: the speed `fast`, `default`, or another tier; undefined for none. Without a speed, the
 * usual tier does not tell whether the answer was fast.
 */
export function tierIn({ speed: statedSpeed, service_tier: stated }: Json): string | undefined {
  const speed = statedText(statedSpeed);
  if (speed !== undefined && speed !== 'standard') return speed;
  const tier = statedText(stated);
  if (tier !== undefined && !BASE_PRICED.has(tier)) return tier;
  return speed === undefined ? undefined : 'default';
}

/** Returns what is billed in addition to plain tokens. The uses of tools are named without their unit: `web_search_requests`. */
function unitsOf(usage: Json): Record<string, number | undefined> {
  const written = numberOf(usage.cache_creation_input_tokens);
  const forAnHour = numberOf(objectOf(usage.cache_creation).ephemeral_1h_input_tokens);
  const units: Record<string, number | undefined> = {
    cached_input: numberOf(usage.cache_read_input_tokens),
    cache_write: written === undefined ? undefined : written - (forAnHour ?? 0),
    cache_write_1h: written ? forAnHour : undefined,
  };
  const tools = objectOf(usage.server_tool_use);
  for (const name in tools) units[toolUse(name.replace(/_requests$/, ''))] = numberOf(tools[name]);
  return units;
}
