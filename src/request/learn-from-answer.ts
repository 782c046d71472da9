import { isIntentRead } from '../core/facts.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';
import type { Example } from '../learning/answer.ts';
import { isOfWildcard } from '../routing/wildcard-snapshot.ts';
import type { Gateway } from './gateway.ts';

/** Whether a request can teach anything: vectors tell nothing of their quality, and a model outside the policy has none. */
export const canTeach = ({ runtime, request }: Pick<RunnableRequest, 'runtime' | 'request'>): boolean =>
  request.operation === 'chat' && !isOfWildcard(runtime.snapshot);

/** Counts a request for the estimator, once it is paid for: a refused one costs nothing, and must not move estimates. */
export function noteRequest(
  { learner }: Pick<Gateway, 'learner'>,
  { runtime, decision, features }: Pick<RunnableRequest, 'runtime' | 'decision' | 'features'>,
): void {
  if (isIntentRead(decision.facts)) learner.memories.noteRequest(runtime, decision.facts, features);
}

/**
 * Makes the example that the learner keeps of a decision.
 * @param model ID of the model that answered, or is recommended
 */
export function exampleOf(
  { runtime, caller, decision, features }: Pick<RunnableRequest, 'runtime' | 'caller' | 'decision' | 'features'>,
  model = runtime.snapshot.models[decision.ranked[0].model]!.id,
): Example {
  const { id, ranked, draw, facts } = decision;
  const isChoice = runtime.snapshot.models[ranked[0].model]!.id === model;
  return { decision: id, keyId: caller.keyId, model, facts, features, draw: isChoice ? draw : null };
}
