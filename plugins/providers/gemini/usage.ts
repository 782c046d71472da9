import { canonicalUsage, type Usage } from 'signalbox/plugin';
import { isObject, numberOf } from '../json.ts';

/** Reads `usageMetadata`; null without a prompt count. */
export function readUsage(metadata: unknown): Usage | null {
  if (!isObject(metadata)) return null;
  const prompt = numberOf(metadata.promptTokenCount);
  if (prompt === undefined) return null;
  // Input from Google's own tools is not in the prompt count, but billed as input.
  const input = prompt + (numberOf(metadata.toolUsePromptTokenCount) ?? 0);
  const output = numberOf(metadata.candidatesTokenCount) ?? 0;
  const reasoning = numberOf(metadata.thoughtsTokenCount) ?? 0;
  // The candidates' count excludes thoughts, unless the total shows otherwise.
  const among = metadata.totalTokenCount === input + output;
  return canonicalUsage(
    { input, cachedInput: numberOf(metadata.cachedContentTokenCount), output, reasoning },
    { cached: true, cacheWrite: true, reasoning: among },
  );
}
