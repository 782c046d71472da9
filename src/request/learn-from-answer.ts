import type { DecisionOutcome } from '../core/decision-record.ts';
import { isIntentRead } from '../core/facts.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';
import type { Example } from '../learning/answer.ts';
import type { Platform } from '../money/receipt.ts';
import { isOfWildcard } from '../routing/wildcard-snapshot.ts';
import type { Write } from '../store/store.ts';
import type { Gateway } from './gateway.ts';
import { retryName } from './signals/retry.ts';
import { type AnswerWatch, watchAnswer } from './signals/watch.ts';

/** Learns from one answer. */
interface AnswerLearning {
  /** Hears the parts of the answer; null where no check needs them. */
  readonly watch: AnswerWatch | null;
  /** Makes the writes for the settlement. */
  settlementWrites(outcome: DecisionOutcome, platform: Platform): Write[];
}

/**
 * Counts a request that is paid for, and begins to learn from its answer; null while learning is off, and for vectors, which
 * tell nothing of their quality.
 */
export function beginLearning(gateway: Gateway, runnable: RunnableRequest): AnswerLearning | null {
  const { runtime, request, history } = runnable;
  const { learning } = runtime.snapshot;
  if (request.operation !== 'chat' || isOfWildcard(runtime.snapshot)) return null;
  noteRequest(gateway, runnable);
  if (learning.mode === 'off') return null;
  const { learner, retries } = gateway;
  const name = learning.signals.retry > 0 ? retryName(request, history) : null;
  if (name !== null) observeRetry(gateway, runnable, name);
  const watch = watchAnswer(learning, request);
  return {
    watch,
    settlementWrites({ status }, { routed_model: model }) {
      // A failed or cut answer says nothing about the model's ability.
      if (status !== 'completed') return [];
      const example = exampleOf(runnable, model);
      if (name !== null) retries.ended(name, example);
      // An answer without checks counts, too: as one of its key's that was not asked for again.
      return [
        ...learner.exampleWrites(runtime, example),
        ...learner.observeAnswer(runtime, example, watch?.verdict() ?? {}),
      ];
    },
  };
}

/** Counts a request for the estimator, once it is paid for: a refused one costs nothing, and must not move estimates. */
export function noteRequest(
  { learner }: Pick<Gateway, 'learner'>,
  { runtime, decision, features }: Pick<RunnableRequest, 'runtime' | 'decision' | 'features'>,
): void {
  if (isIntentRead(decision.facts)) learner.memories.noteRequest(runtime, decision.facts, features);
}

/** Notes a retry against the earlier answer: its caller was not content. */
function observeRetry({ learner, retries, records }: Gateway, { runtime }: RunnableRequest, name: string): void {
  const earlier = retries.begun(name);
  if (earlier) records.append(learner.observeAnswer(runtime, earlier, { retry: true }));
}

/**
 * Makes the example that the learner keeps of a decision.
 * @param model ID of the model that answered, or is recommended
 */
export function exampleOf(
  { runtime, caller, decision, features }: Pick<RunnableRequest, 'runtime' | 'caller' | 'decision' | 'features'>,
  model = runtime.snapshot.models[decision.ranked[0].model]!.id,
): Example {
  const { id, ranked, draw } = decision;
  // Thousands are remembered, to recognize retries: all facts of each would be ten times as much.
  const facts = { task: decision.facts.task, mix: decision.facts.mix };
  const isChoice = runtime.snapshot.models[ranked[0].model]!.id === model;
  return { decision: id, keyId: caller.keyId, model, facts, features, draw: isChoice ? draw : null };
}
