import type { Decision } from '../core/decision.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Usage } from '../core/usage.ts';
import { expectedInput, expectedReasoning, expectedWriting } from '../routing/estimate.ts';

/** Tokens that a request is expected to take on the choice: its input, and the output of all choices with hidden reasoning. */
export function expectedTokens({ facts, readings, ranked: [choice] }: Decision, snapshot: PolicySnapshot): number {
  const model = snapshot.models[choice.model]!;
  const writing = expectedWriting(facts, snapshot, readings);
  const output = Math.min(writing.outputTokens + expectedReasoning(model, writing), choice.outputCap);
  return Math.ceil(expectedInput(facts, model) + output * facts.choices);
}

/**
 * Tokens that were used, by the usage that is charged. An upstream's absurd figure is cut at what its model can
 * take, so that it does not shut the caller out for years.
 */
export function usedTokens(
  usage: Usage | null,
  answeredBy: string,
  { facts }: Decision,
  snapshot: PolicySnapshot,
): number {
  if (!usage) return 0;
  const { contextWindow } = snapshot.models[snapshot.modelIndex.get(answeredBy)!]!;
  return Math.min(usage.inputTokens + usage.outputTokens, contextWindow * facts.choices);
}
