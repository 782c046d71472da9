import type { Finding } from '../contract/estimator.ts';
import { declaredCopy, declaredFor, type TaskFacts } from '../core/declared.ts';
import { allMoved, type Estimate } from '../core/estimate.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { LearningPolicyInForce } from './answer.ts';
import { type BoundMemory, findingOf } from './memory.ts';

/** The estimate for a request under the learning mode of its policy. */
export function estimateFor(
  { snapshot }: LearningPolicyInForce,
  bound: BoundMemory,
  facts: TaskFacts,
  features: Uint8Array | null,
): Estimate {
  const { mode } = snapshot.learning;
  // The arrays are stored with the decision, so they are new; while learning is off, they are not used.
  const into = mode === 'off' ? bound.scratch : findingOf(snapshot.models.length);
  const found = callEstimator(bound, inquiryOf(snapshot, bound, facts, features), into, false);
  if (found && mode === 'on') return { ...found, shadow: null };
  const length = found?.length ?? 0;
  const declared = declaredFor(facts, snapshot, bound.byTask);
  const quality = length === 0 ? declared : allMoved(declared, length);
  if (!found || mode === 'off') return declaredEstimate(quality, length, bound.zeros);
  return { ...found, quality, shadow: found.quality };
}

/** Counts a request in the estimator's means; while learning is off, its length only. */
export function countRequest(
  { snapshot }: LearningPolicyInForce,
  bound: BoundMemory,
  facts: TaskFacts,
  features: Uint8Array | null,
): void {
  callEstimator(bound, inquiryOf(snapshot, bound, facts, features), bound.scratch, true);
}

const inquiryOf = (
  snapshot: PolicySnapshot,
  { byTask }: BoundMemory,
  facts: TaskFacts,
  features: Uint8Array | null,
) => ({
  features,
  task: snapshot.taskIndex.get(facts.task) ?? 0,
  // All requests share the declared qualities, so the plugin gets a copy.
  declared: declaredCopy(facts, snapshot, byTask),
  lengthAlone: snapshot.learning.mode === 'off',
});

/** Null if the plugin failed, in which case the declared qualities apply. */
function callEstimator(
  { memory, estimator, catalog }: BoundMemory,
  inquiry: ReturnType<typeof inquiryOf>,
  into: Finding,
  isCounted: boolean,
): Finding | null {
  if (!estimator) return null;
  const { quality, outcomes, text, counts } = into;
  const { lengthAlone } = inquiry;
  try {
    // A value that the plugin does not write must not pass for a result.
    if (!lengthAlone) quality.fill(Number.NaN);
    into.length = 0;
    into.trust = 0;
    estimator.estimate(inquiry, into, isCounted);
    // The plugin may have replaced the arrays of `into`.
    const found = { quality, outcomes, text, counts, length: into.length, trust: into.trust };
    const fault = faultOf(found, catalog.models.length, lengthAlone);
    if (fault === null) return found;
    memory.fault('estimate', new RangeError(fault));
  } catch (error) {
    memory.fault('estimate', error);
  }
  return null;
}

function faultOf(
  { quality, outcomes, text, counts, length, trust }: Finding,
  models: number,
  lengthAlone: boolean,
): string | null {
  if (quality.length !== models) return 'the lists must stay as long as they are';
  if (!Number.isFinite(length)) return '`length` must be a finite number';
  if (lengthAlone) return null;
  if (!(trust >= 0 && trust <= 1)) return '`trust` must be from 0 to 1';
  for (let i = 0; i < quality.length; i++) {
    // NaN fails every comparison.
    if (!(quality[i]! >= 0 && quality[i]! <= 1)) return '`quality` must be from 0 to 1';
    if (!Number.isFinite(outcomes[i]! + text[i]! + counts[i]!)) {
      return '`outcomes`, `text` and `counts` must be finite numbers';
    }
  }
  return null;
}

const declaredEstimate = (quality: Float64Array, length: number, none: Float32Array): Estimate => ({
  quality,
  shadow: null,
  length,
  outcomes: none,
  text: none,
  counts: none,
  trust: 0,
});
