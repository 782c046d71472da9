import type { RankedModel } from '../core/decision/decision.ts';
import { cappingText } from '../core/money/budget-words.ts';
import type { Model, Task } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import { taskUseful } from './estimate.ts';

/** Bits for the output lengths that a model's maximum output must cover. */
export const OUTPUT_NEEDS = {
  /** The minimum that the request states as `constraints.min_output_tokens`. */
  least: 1,
  /** The caller's cap, unless the policy caps outputs at the model's maximum. */
  cap: 2,
  /** The length that the request states as `estimated_output_tokens`. */
  stated: 4,
  /** The expected length of the answer, if the caller states no length. */
  expected: 8,
  /** The minimum useful output. */
  useful: 16,
} as const;

/**
 * Returns the bits of `OUTPUT_NEEDS` that exceed the model's maximum. An estimated length never rejects a model that the request names:
 * Signalbox caps the answer instead, as it does without a cap from the caller.
 *
 * @param expected visible output tokens of one choice, at most the caller's cap
 */
export function outputsAbove(model: Model, facts: Facts, task: Task, expected: number): number {
  const { outputTokens, outputTokensMax, outputTokensMin = 0, capsOutput, named } = facts;
  const { maxOutput } = model;
  let bits = outputTokensMin > maxOutput ? OUTPUT_NEEDS.least : 0;
  if (outputTokensMax === null || !capsOutput) {
    if ((outputTokensMax ?? outputTokens ?? 0) > maxOutput)
      bits |= outputTokensMax === null ? OUTPUT_NEEDS.stated : OUTPUT_NEEDS.cap;
    return bits;
  }
  if (outputTokens !== null && expected > maxOutput) bits |= OUTPUT_NEEDS.stated;
  if (named !== null) return bits;
  if (outputTokens === null && expected > maxOutput) bits |= OUTPUT_NEEDS.expected;
  if (Math.min(taskUseful(model, task), outputTokensMax) > maxOutput) bits |= OUTPUT_NEEDS.useful;
  return bits;
}

/** The name used in answers and reports if the model's own maximum output lowered the caller's cap. */
const MODEL_CAP = 'model';

/** Returns the limit that lowered the output cap of one choice: the name of a fund, or `MODEL_CAP`; null if nothing lowered it. */
export function outputCappedBy(
  { outputCap, cappedBy }: Pick<RankedModel, 'outputCap' | 'cappedBy'>,
  { maxOutput }: Model,
  { capsOutput, outputTokensMax }: Facts,
): string | null {
  const isByModel = capsOutput && outputTokensMax! > maxOutput && outputCap === maxOutput;
  return cappedBy ?? (isByModel ? MODEL_CAP : null);
}

/** Explains why an output is capped. @param cappedBy as `outputCappedBy` returns it */
export const capReason = (cappedBy: string): string =>
  cappedBy === MODEL_CAP ? 'the model cannot return more' : `${cappingText(cappedBy)} cannot pay for more`;
