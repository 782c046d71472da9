import { canonicalUsage, type Usage } from 'signalbox/plugin';
import { isObject, numberOf } from '../json.ts';

/** Reads a `usage` object; null without token counts. The host checks their plausibility. */
export function readUsage(usage: unknown): Usage | null {
  if (!isObject(usage)) return null;
  const input = numberOf(usage.prompt_tokens);
  const output = numberOf(usage.completion_tokens);
  if (input === undefined || output === undefined) return null;
  const prompt = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completion = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const cachedInput =
    numberOf(prompt.cached_tokens) ??
    // DeepSeek, Moonshot and Mistral use other names for cached tokens.
    numberOf(usage.prompt_cache_hit_tokens) ??
    numberOf(usage.cached_tokens) ??
    numberOf(usage.num_cached_tokens);
  const cacheWrite = numberOf(prompt.cache_write_tokens);
  const reasoning = numberOf(completion.reasoning_tokens) ?? 0;
  return canonicalUsage(
    { input, cachedInput, cacheWrite, output, reasoning },
    // OpenAI's counts include all of these. xAI's output excludes reasoning, as the total shows.
    { cached: true, cacheWrite: true, reasoning: reasoning === 0 || usage.total_tokens !== input + output + reasoning },
  );
}
