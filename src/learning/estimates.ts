import type { Finding, Inquiry } from '../contract/estimator.ts';
import { declaredFor } from '../core/declared.ts';
import { type Estimate, moved } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import type { LearningPolicyInForce } from './learner.ts';
import { type Bound, findingOf } from './memory.ts';

type Asked = Pick<Facts, 'task' | 'mix'>;

/** What a policy's mode makes of what the estimator finds. */
export function estimateBy(
  { snapshot }: LearningPolicyInForce,
  bound: Bound,
  facts: Asked,
  features: Uint8Array | null,
  seen: boolean,
): Estimate {
  const declared = declaredFor(facts, snapshot, bound.byTask);
  const { mode } = snapshot.learning;
  const inquiry = { features, task: snapshot.taskIndex.get(facts.task) ?? 0, declared };
  // The arrays are kept with the decision, so they are fresh; while learning is off none is.
  const into = mode === 'off' ? bound.scratch : findingOf(declared.length);
  const found = find(bound, inquiry, into, seen);
  if (!found) return declaredAlone(declared);
  if (mode === 'off') return { ...declaredAlone(movedAll(declared, found.length)), length: found.length };
  const isOn = mode === 'on';
  return {
    quality: isOn ? found.quality : movedAll(declared, found.length),
    shadow: isOn ? null : found.quality,
    length: found.length,
    outcomes: found.outcomes,
    text: found.text,
    counts: found.counts,
    trust: found.trust,
  };
}

/** Q of one model with all that was learnt, whatever the mode. */
export function learntOf(
  { snapshot }: LearningPolicyInForce,
  bound: Bound,
  facts: Asked,
  features: Uint8Array | null,
  model: number,
): number {
  const declared = declaredFor(facts, snapshot, bound.byTask);
  const inquiry = { features, task: snapshot.taskIndex.get(facts.task) ?? 0, declared };
  return (find(bound, inquiry, bound.scratch, false)?.quality ?? declared)[model]!;
}

/** Null where the plugin failed: what is declared holds then. */
function find({ memory, estimator }: Bound, inquiry: Inquiry, into: Finding, seen: boolean): Finding | null {
  if (!estimator) return null;
  const { quality, outcomes, text, counts } = into;
  try {
    // What the plugin forgets to write is not to be taken for a figure.
    quality.fill(Number.NaN);
    into.length = 0;
    into.trust = 0;
    // What is declared is every request's, and not to be written to.
    estimator.estimate({ ...inquiry, declared: inquiry.declared.slice() }, into, seen);
    // The host's own arrays, whatever the plugin has put in their place.
    const found = { quality, outcomes, text, counts, length: into.length, trust: into.trust };
    const fault = faultOf(found, inquiry.declared.length);
    if (fault === null) return found;
    memory.fault('estimate', new RangeError(fault));
  } catch (error) {
    memory.fault('estimate', error);
  }
  return null;
}

function faultOf({ quality, outcomes, text, counts, length, trust }: Finding, models: number): string | null {
  if (quality.length !== models) return 'the lists must stay as long as they are';
  if (!Number.isFinite(length)) return '`length` must be a finite number';
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

const movedAll = (declared: Float64Array, by: number): Float64Array =>
  by === 0 ? declared : declared.map((share) => moved(share, by));

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
