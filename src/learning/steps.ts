import type { OutcomeRow, OutcomeWithFeatures, ResetRow } from '../store/learning.ts';

/** An event that changes a memory. */
export type MemoryStep =
  /** The request of an outcome. */
  | { readonly kind: 'question'; readonly row: OutcomeWithFeatures }
  | { readonly kind: 'outcome'; readonly row: OutcomeWithFeatures }
  | { readonly kind: 'reset'; readonly reset: Pick<ResetRow, 'id' | 'model'> };

/** Whether an outcome of the log is learned again: those that earlier versions drew from answers and retries are not. */
export const isScore = ({ source }: Pick<OutcomeRow, 'source'>): boolean => source === 'caller';

/**
 * Orders the outcomes since a checkpoint, each reset after the last outcome that it covers; resets that no server has
 * applied come last. The requests since the checkpoint precede the outcomes with greater IDs, as IDs grow with time.
 */
export function orderSteps(
  outcomes: readonly OutcomeWithFeatures[],
  resets: readonly ResetRow[],
  checkpoint: number,
): MemoryStep[] {
  const questions = outcomes
    .filter(({ decision }) => decision > checkpoint)
    .sort((one, other) => one.decision - other.decision);
  const steps: MemoryStep[] = [];
  let at = 0;
  let next = 0;
  for (const row of outcomes) {
    for (; at < resets.length; at++) {
      const { applied } = resets[at]!;
      if (applied === null || applied >= row.id) break;
      steps.push({ kind: 'reset', reset: resets[at]! });
    }
    for (; next < questions.length && questions[next]!.decision < row.id; next++) {
      steps.push({ kind: 'question', row: questions[next]! });
    }
    steps.push({ kind: 'outcome', row });
  }
  for (const reset of resets.slice(at)) steps.push({ kind: 'reset', reset });
  return steps;
}
