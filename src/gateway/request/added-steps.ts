import { answerFromCache, storeAnswer } from './cache-steps.ts';
import { guardAnswer, guardRequest } from './guard-steps.ts';
import type { StepChoice } from './steps.ts';

/** The guards and caches of every server. The order of a list is the order of its steps. */
export const addedSteps: StepChoice = ({ guards, snapshot: { cache } }) => ({
  onRequest: guards.length > 0 ? [guardRequest] : [],
  onAnswer: [...(cache ? [storeAnswer] : []), ...(guards.length > 0 ? [guardAnswer] : [])],
  beforeDecision: cache ? [answerFromCache] : [],
});
