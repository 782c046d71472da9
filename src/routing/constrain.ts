import { REJECTIONS } from '../core/decision/decision.ts';
import { OPERATIONS } from '../core/kinds/operations.ts';
import { isAbove } from '../core/money/ceiling.ts';
import { coversAll } from '../core/money/price.ts';
import { hasBit } from '../core/policy/rules.ts';
import type { Model, Task } from '../core/policy/snapshot.ts';
import { hasDimensions, type TextFacts } from '../core/request/embedding.ts';
import type { Facts } from '../core/request/facts.ts';
import { type ExpectedWriting, usefulOutput } from './estimate.ts';
import { inputBound } from './input-tokens.ts';
import { outputsAbove } from './output-maximum.ts';
import { canServe, type RuleLimits } from './rules.ts';

/** The requirements of one request, which every model is checked against. */
export interface Requirements {
  readonly facts: Facts;
  readonly task: Task;
  /** IDs of the models that the key may use; null if the key may use all models. */
  readonly allowed: ReadonlySet<string> | null;
  /** IDs of the models that the key may not use; null for none. */
  readonly denied: ReadonlySet<string> | null;
  readonly writing: ExpectedWriting;
  readonly limits: RuleLimits;
  /** Whether the request or a constraint limits the cost or the latency. */
  readonly hasCeilings: boolean;
  /**
   * The vector space that the selector names, or null if the selector names none. `vectorSpace` is undefined if the request does not need a
   * vector space.
   */
  readonly vectorSpace: string | null | undefined;
  /** The minimum context window in tokens, which the request's model name demands with `[1m]`; 0 for no minimum. */
  readonly windowMin: number;
  /** Models that may serve the required programming languages, as bits by index; null if all models may serve them. */
  readonly qualified: Uint32Array | null;
}

/**
 * Returns the bits of `REJECTIONS` for every reason except ceilings on cost and latency.
 * @param index of the model
 * @param input expected tokens
 * @param affordable output tokens that the budget covers; below 0 if the budget does not even cover the input
 * @param endpoint one of the endpoints that the request may have: all of them have a price (`pricedEndpoints`), or none has
 */
export function rejectionsOf(
  model: Model,
  index: number,
  { facts, task, allowed, denied, writing, vectorSpace, windowMin, limits, qualified }: Requirements,
  input: number,
  affordable: number,
  endpoint = 0,
): number {
  const { needs, budget, texts, thread, readers } = facts;
  let bits = 0;
  if ((model.operations & OPERATIONS[facts.operation].bit) === 0) bits |= REJECTIONS.operation.bit;
  if (allowed !== null && !allowed.has(model.id)) bits |= REJECTIONS.key_models.bit;
  if (denied?.has(model.id)) bits |= REJECTIONS.key_models.bit;
  if (limits.models !== null && !hasBit(limits.models, index)) bits |= REJECTIONS.selector.bit;
  if (qualified !== null && !hasBit(qualified, index)) bits |= REJECTIONS.language.bit;
  if (thread !== undefined && thread.model !== model.id) bits |= REJECTIONS.thread.bit;
  if (readers !== undefined && !readers.includes(model.id)) bits |= REJECTIONS.thoughts.bit;
  if (needs !== 0 && !canServe(model, needs)) bits |= REJECTIONS.capability.bit;
  if (outputsAbove(model, facts, task, writing.outputTokens) !== 0) bits |= REJECTIONS.max_output.bit;
  const useful = usefulOutput(model, facts, task);
  if (texts !== undefined) bits |= textRejections(model, texts, vectorSpace);
  else if (Math.max(input + useful, windowMin) > model.contextWindow) bits |= REJECTIONS.context.bit;
  if (budget !== null || facts.funds !== null) {
    if (facts.addOns !== undefined && !coversAll(model.endpoints[endpoint]!, facts.addOns))
      bits |= REJECTIONS.unpriced.bit;
    if (inputBound(model, facts) === null) bits |= REJECTIONS.unbounded_media.bit;
    else if (budget !== null && affordable < useful) bits |= REJECTIONS.budget_limit.bit;
  }
  return bits;
}

/** Returns the bits of `REJECTIONS` for the ceilings on cost and latency that the request or constraints set. */
export function ceilingRejections(
  { facts: { ceilings }, limits, hasCeilings }: Requirements,
  costCredits: number,
  latencyMs: number,
): number {
  if (!hasCeilings) return 0;
  let bits = 0;
  if (isAbove(costCredits, ceilings.costCredits)) bits |= REJECTIONS.max_cost.bit;
  if (isAbove(latencyMs, ceilings.latencyMs)) bits |= REJECTIONS.max_latency.bit;
  if (isAbove(latencyMs, limits.latencyMsMax) || isAbove(costCredits, limits.costCreditsMax))
    bits |= REJECTIONS.constraint.bit;
  return bits;
}

/**
 * Each text may fill the whole window. Vectors of different vector spaces cannot be compared, so every model
 * must have the selector's vector space.
 */
function textRejections(
  { embedding, contextWindow }: Model,
  { longest, dimensions }: TextFacts,
  vectorSpace: string | null | undefined,
): number {
  let bits = longest > contextWindow ? REJECTIONS.context.bit : 0;
  if (embedding === null) return bits;
  if (!hasDimensions(embedding, dimensions)) bits |= REJECTIONS.dimensions.bit;
  if (vectorSpace !== undefined && vectorSpace !== embedding.vectorSpace) bits |= REJECTIONS.vector_space.bit;
  return bits;
}
