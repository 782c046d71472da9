import type { Finding, Inquiry } from '../contract/estimator.ts';
import { declaredFor } from '../core/declared.ts';
import { allMoved, type Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { LearningPolicyInForce } from './learner.ts';
import { type Bound, findingOf } from './memory.ts';

type Asked = Pick<Facts, 'task' | 'mix'>;

/** What a policy's mode makes of what the estimator finds. */
export function estimateBy(
  { snapshot }: LearningPolicyInForce,
  bound: Bound,
  facts: Asked,
  features: Uint8Array | null,
): Estimate {
  const { mode } = snapshot.learning;
  const lengthAlone = mode === 'off';
  const inquiry = inquiryOf(snapshot, bound, facts, features, lengthAlone);
  const { declared } = inquiry;
  // The arrays are kept with the decision, so they are fresh; while learning is off none is.
  const found = find(bound, inquiry, lengthAlone ? bound.scratch : findingOf(declared.length), false);
  if (!found) return declaredAlone(declared);
  if (lengthAlone) return { ...declaredAlone(allMoved(declared, found.length)), length: found.length };
  const isOn = mode === 'on';
  return {
    quality: isOn ? found.quality : allMoved(declared, found.length),
    shadow: isOn ? null : found.quality,
    length: found.length,
    outcomes: found.outcomes,
    text: found.text,
    counts: found.counts,
    trust: found.trust,
  };
}

/** Q by model with all that was learnt, whatever the mode. Good until the next. */
export function learntBy(
  { snapshot }: LearningPolicyInForce,
  bound: Bound,
  facts: Asked,
  features: Uint8Array | null,
): Float64Array {
  const inquiry = inquiryOf(snapshot, bound, facts, features, false);
  return find(bound, inquiry, bound.scratch, false)?.quality ?? inquiry.declared;
}

/** Has the means of what is asked take note of a question; while learning is off, of its length alone. */
export function takeNote(
  { snapshot }: LearningPolicyInForce,
  bound: Bound,
  facts: Asked,
  features: Uint8Array | null,
  lengthAlone: boolean,
): void {
  find(bound, inquiryOf(snapshot, bound, facts, features, lengthAlone), bound.scratch, true);
}

const inquiryOf = (
  snapshot: PolicySnapshot,
  { byTask }: Bound,
  facts: Asked,
  features: Uint8Array | null,
  lengthAlone: boolean,
): Inquiry => ({
  features,
  task: snapshot.taskIndex.get(facts.task) ?? 0,
  declared: declaredFor(facts, snapshot, byTask),
  lengthAlone,
});

/** Null where the plugin failed: what is declared holds then. */
function find({ memory, estimator }: Bound, inquiry: Inquiry, into: Finding, seen: boolean): Finding | null {
  if (!estimator) return null;
  const { quality, outcomes, text, counts } = into;
  const { declared, lengthAlone } = inquiry;
  try {
    // What the plugin forgets to write is not to be taken for a figure.
    if (!lengthAlone) quality.fill(Number.NaN);
    into.length = 0;
    into.trust = 0;
    // What is declared is every request's, and not to be written to.
    estimator.estimate({ ...inquiry, declared: declared.slice() }, into, seen);
    // The host's own arrays, whatever the plugin has put in their place.
    const found = { quality, outcomes, text, counts, length: into.length, trust: into.trust };
    const fault = faultOf(found, inquiry);
    if (fault === null) return found;
    memory.fault('estimate', new RangeError(fault));
  } catch (error) {
    memory.fault('estimate', error);
  }
  return null;
}

function faultOf(
  { quality, outcomes, text, counts, length, trust }: Finding,
  { declared, lengthAlone }: Inquiry,
): string | null {
  if (quality.length !== declared.length) return 'the lists must stay as long as they are';
  if (!Number.isFinite(length)) return '`length` must be a finite number';
  if (lengthAlone) return null;
  if (!(trust >= 0 && trust <= 1)) return '`trust` must be from 0 to 1';
  for (let i = 0; i < quality.length; i++) {
    // NaN is in no order.
    if (!(quality[i]! >= 0 && quality[i]! <= 1)) return '`quality` must be from 0 to 1';
    if (!Number.isFinite(outcomes[i]! + text[i]! + counts[i]!)) {
      return '`outcomes`, `text` and `counts` must be finite numbers';
    }
  }
  return null;
}

/** Made once for each number of models; nobody writes to it. */
const nothing = new Map<number, Float32Array>();

function declaredAlone(quality: Float64Array): Estimate {
  let none = nothing.get(quality.length);
  if (!none) {
    none = new Float32Array(quality.length);
    nothing.set(quality.length, none);
  }
  return { quality, shadow: null, length: 0, outcomes: none, text: none, counts: none, trust: 0 };
}
