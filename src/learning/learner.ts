import type { EstimatorPlugin, Known } from '../contract/estimator.ts';
import type { Draw, Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import type { Signal } from '../core/learning-policy.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Write } from '../store/store.ts';

/** What of a runtime a learner works with. */
export interface LearningPolicyInForce {
  readonly snapshot: PolicySnapshot;
  readonly estimator: EstimatorPlugin;
}

/** What is kept of a decision, so that its answer can be scored later. Never text. */
export interface Example {
  /** ID of the decision. */
  readonly decision: number;
  readonly keyId: string;
  /** ID of the model that answered, or was recommended. */
  readonly model: string;
  readonly facts: Facts;
  readonly features: Uint8Array | null;
  /** Null where the model was not drawn, or another than the drawn one answered. */
  readonly draw: Draw | null;
}

/** What the gateway looked for in an answer: whether it was there, by signal. What could not be there is left out. */
export type Witnessed = Partial<Readonly<Record<Signal, boolean>>>;

/** A caller's score of an answer. */
export interface Scored {
  /** ID of the decision. */
  readonly decision: number;
  /** 0..1 */
  readonly score: number;
  /** The caller's own word for it. */
  readonly label: string | null;
}

/** What became of a score. */
export interface Scoring {
  /** `learnt`: it counts. `kept`: written down, and counts for nothing, since the key has its share or the policy says so. `repeated`: the same score was there already. */
  readonly result: 'learnt' | 'kept' | 'repeated';
  /** As how many outcomes it counts, 0..1. */
  readonly weight: number;
  /** The caller's own word that is written down: of one that is repeated, the first. */
  readonly label: string | null;
}

/** Why a score is not taken. */
export type ScoreRefusal = 'unknown' | 'contradicts';

/** Figures of what was learnt, since the process began. */
export interface LearningActivity {
  /** Outcomes by what they came of: `caller`, `checks`, `retry`. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** Those that counted for nothing since their key had its share. */
  readonly withheld: number;
  /** Mean squared error of what was declared and of what was estimated, of the outcomes that callers scored last; NaN before the first. */
  readonly brier: { readonly declared: number; readonly estimated: number };
  /** Outcomes in memory. */
  readonly known: number;
  /** Times that an estimator plugin threw or gave what is no estimate; what is declared held then. */
  readonly faults: number;
}

/** The memory of outcomes of one installation. */
export interface Learner {
  /** What is to be known of a question's words; null where there is no text. */
  read(policy: LearningPolicyInForce, text: string | null): Uint8Array | null;
  /** Q of every model for a request. */
  estimate(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): Estimate;
  /** Counts a request among what is asked: somebody makes it, and its answer will count. */
  asked(policy: LearningPolicyInForce, facts: Facts, features: Uint8Array | null): void;
  /** What goes with the settlement, so that the answer can be scored; nothing while learning is off. */
  keep(policy: LearningPolicyInForce, example: Example): Write[];
  /** Learns from what the gateway saw of an answer. Returns what goes with the settlement. Never throws. */
  witness(policy: LearningPolicyInForce, example: Example, witnessed: Witnessed): Write[];
  /** Learns from a caller's score; resolves once that is durable. Rejects with StoreError. */
  score(policy: LearningPolicyInForce, scored: Scored): Promise<Scoring | ScoreRefusal>;
  known(policy: LearningPolicyInForce): readonly Known[];
  readonly activity: LearningActivity;
  /** Writes down what was learnt, so that the next start knows it. Rejects with StoreError. */
  close(): Promise<void>;
}
