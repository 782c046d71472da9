import type { Write } from './store.ts';

/** Sources of outcomes. This version stores only callers' scores; 0.1 also judged answers by checks and retries. */
export const OUTCOME_SOURCES = ['caller', 'checks', 'retry'] as const;
export type OutcomeSource = (typeof OUTCOME_SOURCES)[number];

/**
 * An outcome in the log. Only 0.1, which learned from outcomes, used all fields. In this version of Signalbox, a score counts as one
 * outcome, and `estimated`, `probability` and `among` have the values for "nothing learned, nothing drawn".
 */
export interface OutcomeRow {
  /** The ID, which contains the time of the outcome; see `core/id.ts`. */
  readonly id: number;
  readonly decision: number;
  readonly source: OutcomeSource;
  /** Name of the estimator that learned the outcome. */
  readonly estimator: string;
  readonly keyId: string;
  readonly model: string;
  readonly task: string;
  /** The score of the answer, 0..1. */
  readonly score: number;
  /**
   * `offered`: the weight of the outcome according to the policy. `weight`: the weight that counts; 0: the outcome does not count. Both
   * weights are numbers of outcomes: a weight of 0.5 counts as half an outcome.
   */
  readonly offered: number;
  readonly weight: number;
  /** The quality that the policy declares. */
  readonly declared: number;
  /** The quality that was estimated before the outcome. */
  readonly estimated: number;
  /** How the model was drawn: its probability, and the number of models in the draw. */
  readonly probability: number;
  readonly among: number;
  /** The faults that a check of the answer looked for, as bits; 0 for a caller's score. */
  readonly looked: number;
  /** The caller's label. For sources other than callers: the fault that the answer showed. */
  readonly label: string | null;
}

/** The sums over the outcomes of a source. */
export interface SourceSums {
  readonly source: OutcomeSource;
  readonly outcomes: number;
  /** The sum of the outcomes' weights. */
  readonly learnt: number;
  /** Outcomes that 0.1 did not count, because the key had reached its share of outcomes. */
  readonly withheld: number;
}

/** Callers' scores of a model at a task since the scores of the model were last reset. */
export interface ScoreMean {
  readonly model: string;
  readonly task: string;
  /** The sum of the scores' weights. */
  readonly outcomes: number;
  /** `mean`: the mean score. `declared`: the mean of the qualities that the policy declared for these requests. Both are from 0 to 1. */
  readonly mean: number;
  readonly declared: number;
}

/** Selects outcomes. A null value matches all outcomes. */
export interface OutcomeFilter {
  /** Selects only outcomes with IDs between these two IDs, exclusive. */
  readonly after: number;
  readonly before: number;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly source: OutcomeSource | null;
}

/** The log of outcomes, ordered by ID. */
export interface OutcomeLog {
  /**
   * Adds an outcome. The commit fails with the reason `unmet` if the decision already has an outcome of that source. If a stored row has a
   * greater ID, the new row gets the next ID after the stored row.
   */
  add(row: OutcomeRow): Write;
  /** @returns the caller's score of a decision; null if the decision has no score */
  findScore(decision: number): Promise<OutcomeRow | null>;
  /** @returns at most `most` matching outcomes, ordered by ID; with `latest`, the outcomes with the greatest IDs, latest first */
  list(filter: OutcomeFilter, most: number, latest?: boolean): Promise<OutcomeRow[]>;
  /** @returns the sums by source, ordered by name */
  sums(): Promise<SourceSums[]>;
  /** @returns the means by model and task, ordered by name */
  means(): Promise<ScoreMean[]>;
  /** @returns the IDs of the models that have outcomes, ascending */
  models(): Promise<string[]>;
  /** Deletes the outcomes with IDs below `beforeId`, in batches. */
  prune(beforeId: number): Promise<number>;
}

export interface ResetTable {
  /** Excludes scores up to a time (ms since 1970) from the means of a model; null: of all models. Raises the news `learning`. */
  add(model: string | null, at: number): Write;
}

/** The usual lengths of questions, as bytes; see `gateway/prompt/question-lengths-part.ts`. */
export interface LengthsTable {
  /** @returns the bytes; null before the first `put` */
  find(): Promise<Uint8Array | null>;
  put(bytes: Uint8Array): Write;
}

/** The tables of scores and of question lengths. State: outcomes. */
export interface LearningTables {
  readonly outcomes: OutcomeLog;
  readonly resets: ResetTable;
  readonly lengths: LengthsTable;
}
