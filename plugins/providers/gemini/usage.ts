import { canonicalUsage, type Usage } from 'signalbox/plugin';
import { isObject, numberOf } from '../json.ts';

/** Reads `usageMetadata`; null where it counts no prompt. */
export function readUsage(metadata: unknown): Usage | null {
  if (!isObject(metadata)) return null;
  const prompt = numberOf(metadata.promptTokenCount);
  if (prompt === undefined) return null;
  // What tools at Google's brought in is beside the prompt, and billed as input.
  const input = prompt + (numberOf(metadata.toolUsePromptTokenCount) ?? 0);
  const output = numberOf(metadata.candidatesTokenCount) ?? 0;
  const reasoning = numberOf(metadata.thoughtsTokenCount) ?? 0;
  // Thoughts are beside the candidates, unless the total tells that they are among them.
  const among = metadata.totalTokenCount === input + output;
  return canonicalUsage(
    { input, cachedInput: numberOf(metadata.cachedContentTokenCount), output, reasoning },
    { cached: true, cacheWrite: true, reasoning: among },
  );
}
