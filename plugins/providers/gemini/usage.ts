import { canonicalUsage, type Usage } from 'signalbox/plugin';
import { isObject } from '../json.ts';

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Reads `usageMetadata`; null where it counts no prompt. */
export function readUsage(metadata: unknown): Usage | null {
  if (!isObject(metadata) || typeof metadata.promptTokenCount !== 'number') return null;
  // What tools at Google's brought in is beside the prompt, and billed as input.
  const input = metadata.promptTokenCount + count(metadata.toolUsePromptTokenCount);
  const output = count(metadata.candidatesTokenCount);
  const reasoning = count(metadata.thoughtsTokenCount);
  // Thoughts are beside the candidates, unless the total tells that they are among them.
  const among = metadata.totalTokenCount === input + output;
  return canonicalUsage(
    { input, cachedInput: count(metadata.cachedContentTokenCount), output, reasoning },
    { cached: true, cacheWrite: true, reasoning: among },
  );
}
