import { canonicalUsage, type Usage } from 'signalbox/plugin';
import { isObject, numberOf } from '../json.ts';

/** Reads a `usage` object; null where it holds no token counts. Whether they can be true is the host's to judge. */
export function readUsage(usage: unknown): Usage | null {
  if (!isObject(usage)) return null;
  const input = numberOf(usage.prompt_tokens);
  const output = numberOf(usage.completion_tokens);
  if (input === undefined || output === undefined) return null;
  const prompt = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completion = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const cachedInput =
    numberOf(prompt.cached_tokens) ??
    // DeepSeek, Moonshot and Mistral have names of their own for what their caches gave.
    numberOf(usage.prompt_cache_hit_tokens) ??
    numberOf(usage.cached_tokens) ??
    numberOf(usage.num_cached_tokens);
  const cacheWrite = numberOf(prompt.cache_write_tokens);
  const reasoning = numberOf(completion.reasoning_tokens) ?? 0;
  return canonicalUsage(
    { input, cachedInput, cacheWrite, output, reasoning },
    // OpenAI counts all of these within. xAI counts reasoning beside: the total shows it.
    { cached: true, cacheWrite: true, reasoning: reasoning === 0 || usage.total_tokens !== input + output + reasoning },
  );
}
