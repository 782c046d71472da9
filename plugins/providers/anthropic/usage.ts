import { canonicalUsage, type Usage } from 'signalbox/plugin';
import { isObject, type Json } from '../json.ts';

/** Reads a `usage` object; null where it holds no token counts. Whether they can be true is the host's to judge. */
export function readUsage(usage: Json): Usage | null {
  const { input_tokens: input, output_tokens: output } = usage;
  if (typeof input !== 'number' || typeof output !== 'number') return null;
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  return canonicalUsage(
    {
      input,
      cachedInput: count(usage.cache_read_input_tokens),
      cacheWrite: count(usage.cache_creation_input_tokens),
      output,
      reasoning: count(details.thinking_tokens),
    },
    { cached: false, cacheWrite: false, reasoning: true },
  );
}

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
