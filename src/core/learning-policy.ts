import type { Operation } from './operation.ts';

/** `off`: declared quality and length alone. `shadow`: what was learnt is computed and shown, not used. */
export const LEARNING_MODES = ['off', 'shadow', 'on'] as const;
export type LearningMode = (typeof LEARNING_MODES)[number];

/** The section `learning` of the policy: how estimates of quality learn from outcomes. */
export interface LearningPolicy {
  readonly mode: LearningMode;
  /** Name of the estimator plugin. */
  readonly estimator: string;
  /** The estimator's own, checked by its schema. */
  readonly options: Readonly<Record<string, unknown>>;
  /** How long after a decision it can be scored, ms; what that needs is kept as long. */
  readonly feedbackWindowMs: number;
  /** How many outcomes a caller's score counts as, 0 to 1; 0: none is taken. */
  readonly feedbackWeight: number;
  /** The share of all that is learnt which one key may make up, 0 to 1, beyond an allowance; a key with more of the traffic may make up as much. */
  readonly influenceMax: number;
  /** How other models than the best are tried now and then; null for never. */
  readonly explore: ExplorePolicy | null;
}

/** A chance for each eligible model whose quality is near the best: `(1 − share)·softmax(U/temperature) + share/n`. */
export interface ExplorePolicy {
  /** Of requests whose model is drawn alike among all that take part, 0 to 1. */
  readonly share: number;
  /** The difference of utility that makes a model e times likelier. */
  readonly temperature: number;
  /** How far below the best quality a model may be and take part, 0 to 1. */
  readonly qualityMargin: number;
}

/** How other models than the best are tried; null where none are. A named model is never replaced; of embeddings nothing is learnt. */
export const explorationOf = (
  { mode, explore }: LearningPolicy,
  { pinned, operation }: { readonly pinned: boolean; readonly operation: Operation },
): ExplorePolicy | null => (mode === 'off' || pinned || operation !== 'chat' ? null : explore);
