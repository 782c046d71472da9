import type { Usage } from 'signalbox/plugin';
import { isObject } from '../json.ts';

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Reads a `usage` object; null where it holds no token counts. Whether they can be true is the host's to judge. */
export function readUsage(usage: unknown): Usage | null {
  if (!isObject(usage)) return null;
  const { prompt_tokens: input, completion_tokens: completion } = usage;
  if (typeof input !== 'number' || typeof completion !== 'number') return null;
  const prompt = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const output = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const reasoning = count(output.reasoning_tokens);
  // OpenAI counts reasoning within completion_tokens; where the total shows it beside them, it is added.
  const beside = reasoning > 0 && usage.total_tokens === input + completion + reasoning;
  return {
    inputTokens: input,
    // DeepSeek has its own name for what its cache gave.
    cachedInputTokens: count(prompt.cached_tokens ?? usage.prompt_cache_hit_tokens),
    cacheWriteTokens: count(prompt.cache_write_tokens),
    outputTokens: beside ? completion + reasoning : completion,
    reasoningTokens: reasoning,
  };
}
