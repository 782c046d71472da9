import { rootOf } from '../core/caller.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';
import type { Example } from '../learning/answer.ts';

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
  return { decision: id, keyId: rootOf(caller), model, facts, features, draw: isChoice ? draw : null };
}
