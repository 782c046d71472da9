import type { AskedAddOns } from '../core/add-ons.ts';
import { isAbove } from '../core/ceiling.ts';
import { REJECTIONS } from '../core/decision.ts';
import { type EmbeddingFacts, hasDimensions } from '../core/embedding.ts';
import type { Facts } from '../core/facts.ts';
import { OPERATIONS } from '../core/operation.ts';
import { coversAll } from '../core/price.ts';
import { hasBit } from '../core/rules.ts';
import type { Model, Task } from '../core/snapshot.ts';
import { type ExpectedWriting, usefulOutput } from './estimate.ts';
import { inputBound } from './input-tokens.ts';
import { outputsAbove } from './output-maximum.ts';
import { canServe, type RuleLimits } from './rules.ts';

/** The requirements of one request that every model is checked against. */
export interface Requirements {
  readonly facts: Facts;
  readonly task: Task;
  /** IDs of the models that the key may use; null for all. */
  readonly allowed: ReadonlySet<string> | null;
  readonly writing: ExpectedWriting;
  readonly limits: RuleLimits;
  /** Whether the request or a constraint has a ceiling. */
  readonly hasCeilings: boolean;
  /** The vector space of the selector, null where it names none; undefined where none is asked for. */
  readonly vectorSpace: string | null | undefined;
  /** Tokens that the model's window must have by the request's name of a model; 0 for any. */
  readonly windowMin: number;
  /** Bits by index: models that may serve the languages that are required; null for all. */
  readonly qualified: Uint32Array | null;
}

/**
 * Bits of `REJECTIONS` for all but ceilings.
 * @param index of the model
 * @param input expected tokens
 * @param affordable output tokens within the budget; below 0 when not even the input fits
 */
export function rejectionsOf(
  model: Model,
  index: number,
  { facts, task, allowed, writing, vectorSpace, windowMin, limits, qualified }: Requirements,
  input: number,
  affordable: number,
): number {
  const { needs, budget, embedding, thread, readers } = facts;
  let bits = 0;
  if ((model.operations & OPERATIONS[facts.operation].bit) === 0) bits |= REJECTIONS.operation.bit;
  if (allowed !== null && !allowed.has(model.id)) bits |= REJECTIONS.key_models.bit;
  if (limits.models !== null && !hasBit(limits.models, index)) bits |= REJECTIONS.selector.bit;
  if (qualified !== null && !hasBit(qualified, index)) bits |= REJECTIONS.language.bit;
  if (thread !== undefined && thread.model !== model.id) bits |= REJECTIONS.thread.bit;
  if (readers !== undefined && !readers.includes(model.id)) bits |= REJECTIONS.thoughts.bit;
  if (needs !== 0 && !canServe(model, needs)) bits |= REJECTIONS.capability.bit;
  if (outputsAbove(model, facts, task, writing.outputTokens) !== 0) bits |= REJECTIONS.max_output.bit;
  const useful = usefulOutput(model, facts, task);
  if (embedding !== undefined) bits |= embeddingRejections(model, embedding, vectorSpace);
  else if (Math.max(input + useful, windowMin) > model.contextWindow) bits |= REJECTIONS.context.bit;
  if (budget !== null || facts.funds !== null) {
    if (!isPriced(model, facts)) bits |= REJECTIONS.unpriced.bit;
    if (inputBound(model, facts) === null) bits |= REJECTIONS.unbounded_media.bit;
    else if (budget !== null && affordable < useful) bits |= REJECTIONS.budget_limit.bit;
  }
  return bits;
}

/** Bits of `REJECTIONS` for the ceilings of the request and of constraints. */
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

/** Each text has the window for itself. Without the one space of its selector no model may stand in for another. */
function embeddingRejections(
  { embedding, contextWindow }: Model,
  { longest, dimensions }: EmbeddingFacts,
  vectorSpace: string | null | undefined,
): number {
  if (embedding === null) return 0;
  let bits = longest > contextWindow ? REJECTIONS.context.bit : 0;
  if (!hasDimensions(embedding, dimensions)) bits |= REJECTIONS.dimensions.bit;
  if (vectorSpace !== undefined && vectorSpace !== embedding.vectorSpace) bits |= REJECTIONS.vector_space.bit;
  return bits;
}

/** Whether the prices of a model cover all that a request may be billed for. */
const isPriced = ({ endpoints }: Model, { addOns }: Facts): boolean =>
  addOns === undefined || allCover(endpoints, addOns);

const allCover = (endpoints: Model['endpoints'], addOns: AskedAddOns): boolean =>
  endpoints.every(({ price }) => coversAll(price, addOns));
