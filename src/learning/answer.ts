import type { EstimatorPlugin } from '../contract/estimator.ts';
import type { TaskFacts } from '../core/declared.ts';
import type { ExplorationDraw } from '../core/estimate.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';

/** The parts of a runtime that learning needs. */
export interface LearningPolicyInForce {
  readonly snapshot: PolicySnapshot;
  readonly estimator: EstimatorPlugin;
}

/** The stored part of a decision that its answer can later be scored by. Never text. */
export interface Example {
  readonly decision: number;
  readonly keyId: string;
  /** ID of the model that answered or was recommended. */
  readonly model: string;
  readonly facts: TaskFacts;
  readonly features: Uint8Array | null;
  /** Null if the model was not drawn, or another one answered. */
  readonly draw: ExplorationDraw | null;
}

/** A caller's score of an answer. */
export interface AnswerScore {
  readonly decision: number;
  /** 0..1 */
  readonly score: number;
  /** The caller's own label. */
  readonly label: string | null;
}

/** The result of a score. */
export interface ScoreReceipt {
  /**
   * `learnt`: it counts. `kept`: stored without counting, because its key has reached its share or the policy gives it
   * no weight. `repeated`: the same score is already stored.
   */
  readonly result: 'learnt' | 'kept' | 'repeated';
  /** In outcomes, 0..1. */
  readonly weight: number;
  /** The stored label; of a repeated score, the first one's. */
  readonly label: string | null;
}

/** The reason why a score is rejected. */
export type ScoreRefusal = 'unknown' | 'contradicts';
