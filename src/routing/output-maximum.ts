import type { RankedModel } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Model, Task } from '../core/snapshot.ts';
import { taskUseful } from './estimate.ts';

/** Bits of the figures that the maximum output of a model must cover. */
export const OUTPUT_NEEDS = {
  /** `constraints.min_output_tokens`. */
  least: 1,
  /** The caller's cap, where the policy does not cap outputs at maxima. */
  cap: 2,
  /** `estimated_output_tokens`. */
  stated: 4,
  /** The expected length of the answer, where the caller states none. */
  expected: 8,
  /** The least useful output. */
  useful: 16,
} as const;

/**
 * Bits of `OUTPUT_NEEDS` that a model's maximum does not cover. A guess never refuses a model that the request names: its answer
 * is capped, as it is without a cap of the caller's.
 *
 * @param expected visible output tokens of one choice, at most the caller's cap
 */
export function outputsAbove(model: Model, facts: Facts, task: Task, expected: number): number {
  const { outputTokens, outputTokensMax, outputTokensMin = 0, capsOutput, pinned } = facts;
  const { maxOutput } = model;
  let bits = outputTokensMin > maxOutput ? OUTPUT_NEEDS.least : 0;
  if (outputTokensMax === null || !capsOutput) {
    if ((outputTokensMax ?? outputTokens ?? 0) > maxOutput)
      bits |= outputTokensMax === null ? OUTPUT_NEEDS.stated : OUTPUT_NEEDS.cap;
    return bits;
  }
  if (outputTokens !== null && expected > maxOutput) bits |= OUTPUT_NEEDS.stated;
  if (pinned) return bits;
  if (outputTokens === null && expected > maxOutput) bits |= OUTPUT_NEEDS.expected;
  if (Math.min(taskUseful(model, task), outputTokensMax) > maxOutput) bits |= OUTPUT_NEEDS.useful;
  return bits;
}

/** The name that answers and reports give to the maximum output of a model, where it lowered the caller's cap. */
const MODEL_CAP = 'model';

/** What lowered the cap on the output of one choice: the fund whose money did, else `MODEL_CAP`; null for neither. */
export function outputCappedBy(
  { outputCap, cappedBy }: Pick<RankedModel, 'outputCap' | 'cappedBy'>,
  { maxOutput }: Model,
  { capsOutput, outputTokensMax }: Facts,
): string | null {
  const isByModel = capsOutput && outputTokensMax! > maxOutput && outputCap === maxOutput;
  return cappedBy ?? (isByModel ? MODEL_CAP : null);
}

/** Why an output is capped, in words. @param cappedBy as `outputCappedBy` returns it */
export const capReason = (cappedBy: string): string =>
  cappedBy === MODEL_CAP ? 'the model can return no more' : `${cappedBy} can pay for no more`;
