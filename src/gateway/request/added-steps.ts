import { answerFromCache, storeAnswer } from './cache-steps.ts';
import { guardAnswer, guardRequest } from './guard-steps.ts';
import type { AddedSteps } from './steps.ts';

/** The guards and caches of every server. The order of a list is the order of its steps. */
export const ADDED_STEPS: AddedSteps = {
  onRequest: [guardRequest],
  onAnswer: [storeAnswer, guardAnswer],
  beforeDecision: [answerFromCache],
};
