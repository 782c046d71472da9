import { canonicalUsage, type Usage } from 'signalbox/plugin';
import { isObject, type Json, numberOf } from '../json.ts';

/** Reads a `usage` object; null without token counts. The host checks their plausibility. */
export function readUsage(usage: Json): Usage | null {
  const input = numberOf(usage.input_tokens);
  const output = numberOf(usage.output_tokens);
  if (input === undefined || output === undefined) return null;
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  return canonicalUsage(
    {
      input,
      cachedInput: numberOf(usage.cache_read_input_tokens),
      cacheWrite: numberOf(usage.cache_creation_input_tokens),
      output,
      reasoning: numberOf(details.thinking_tokens),
    },
    { cached: false, cacheWrite: false, reasoning: true },
  );
}
