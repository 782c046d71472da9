import type { StreamPart } from '../contract/parts.ts';
import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import type { DecisionOutcome } from '../core/decision-record.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Example } from '../learning/learner.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Write } from '../store/store.ts';
import type { Gateway } from './gateway.ts';
import type { Platform } from './receipt.ts';
import { watchAnswer } from './signals/watch.ts';

/** What it takes to learn from an answer. */
interface Lesson {
  /** Absent where nothing is looked for in it. */
  readonly hear?: (parts: readonly StreamPart[]) => void;
  /** What goes with the settlement. */
  settled(outcome: DecisionOutcome, platform: Platform): Write[];
}

interface Taught {
  readonly runtime: Runtime;
  readonly request: ModelRequest;
  readonly caller: Caller;
  readonly decision: Decision;
  readonly features: Uint8Array | null;
}

/** Follows an answer to learn from it; null while learning is off. */
export function lessonOf({ learner, retries }: Gateway, taught: Taught): Lesson | null {
  const { runtime, request, caller } = taught;
  const { learning } = runtime.snapshot;
  if (learning.mode === 'off') return null;
  const watch = watchAnswer(learning, request);
  return {
    ...(watch && { hear: (parts) => watch.hear(parts) }),
    settled({ status }, { routed_model: model }) {
      // What failed or was cut off says nothing of what the model can do.
      if (status !== 'completed') return [];
      const example = exampleOf(taught, model);
      if (learning.signals.retry > 0) retries.ended(caller.keyId, request, example);
      // Of an answer in which nothing is looked for, too: it was one of its key's, and nobody has asked for it again yet.
      return [
        ...learner.exampleWrites(runtime, example),
        ...learner.observeAnswer(runtime, example, watch?.verdict() ?? {}),
      ];
    },
  };
}

/** Counts a request among what is asked here, once it is paid for: what is refused costs nothing, and must move nobody's estimates. */
export function noteAsked(
  { learner }: Pick<Gateway, 'learner'>,
  { runtime, decision, features }: Pick<Taught, 'runtime' | 'decision' | 'features'>,
): void {
  learner.noteRequest(runtime, decision.facts, features);
}

/** Who asks the same again at once was not content with the answer. */
export function blameForRetry({ learner, retries, records }: Gateway, { runtime, request, caller }: Taught): void {
  const { mode, signals } = runtime.snapshot.learning;
  if (mode === 'off' || signals.retry === 0) return;
  const earlier = retries.begun(caller.keyId, request);
  if (earlier) records.add(learner.observeAnswer(runtime, earlier, { retry: true }));
}

/** What is kept of a decision, by the ID of the model that answered, or is recommended. */
export function exampleOf(
  { runtime, caller, decision, features }: Omit<Taught, 'request'>,
  model = runtime.snapshot.models[decision.ranked[0].model]!.id,
): Example {
  const { id, facts, ranked, draw } = decision;
  const isChoice = runtime.snapshot.models[ranked[0].model]!.id === model;
  return { decision: id, keyId: caller.keyId, model, facts, features, draw: isChoice ? draw : null };
}
