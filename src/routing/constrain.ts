import { REJECTIONS } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Model, Task } from '../core/snapshot.ts';
import { expectedInput, inputBound, usefulOutput } from './estimate.ts';
import type { Limits } from './rules.ts';

/** What a rejection is judged by, once per model and request. */
export interface Judged {
  readonly model: Model;
  readonly facts: Facts;
  readonly task: Task;
  readonly allowed: ReadonlySet<string> | null;
  readonly costCredits: number;
  readonly latencyMs: number;
  /** Output tokens that the budget affords; below 0 when not even the input fits. */
  readonly affordable: number;
  /** How many endpoints the constraints leave. */
  readonly endpoints: number;
  /** False when the selector does not choose from this model. */
  readonly inSelector: boolean;
  readonly limits: Limits;
}

/** The bits of every reason against a model; 0 when it is eligible. */
export function rejectionsOf(judged: Judged): number {
  const { model, facts, task, allowed, costCredits, latencyMs, affordable, limits } = judged;
  let bits = 0;
  if (!judged.inSelector) bits |= REJECTIONS.selector.bit;
  if (judged.endpoints === 0 || latencyMs > limits.latencyMsMax || costCredits > limits.costCreditsMax) {
    bits |= REJECTIONS.constraint.bit;
  }
  if (allowed !== null && !allowed.has(model.id)) bits |= REJECTIONS.key_models.bit;
  if ((facts.needs & ~model.capabilities) !== 0) bits |= REJECTIONS.capability.bit;
  for (const language of facts.languages) if (!model.languages.has(language)) bits |= REJECTIONS.language.bit;
  if ((facts.outputTokensMax ?? facts.outputTokens ?? 0) > model.maxOutput) bits |= REJECTIONS.max_output.bit;
  const useful = usefulOutput(model, facts, task);
  if (expectedInput(facts, model) + useful > model.contextWindow) bits |= REJECTIONS.context.bit;
  if (facts.budget !== null && inputBound(model, facts) === null) bits |= REJECTIONS.unbounded_media.bit;
  else if (facts.budget !== null && affordable < useful) bits |= REJECTIONS.budget_limit.bit;
  const { costCredits: costMax, latencyMs: latencyMax } = facts.ceilings;
  if (costMax !== null && costCredits > costMax) bits |= REJECTIONS.max_cost.bit;
  if (latencyMax !== null && latencyMs > latencyMax) bits |= REJECTIONS.max_latency.bit;
  return bits;
}
