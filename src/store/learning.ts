import type { Write } from './store.ts';

/** A caller's score of an answer, in the log of outcomes. */
export interface OutcomeRow {
  /** The ID, which contains the time of the outcome; see `core/id.ts`. */
  readonly id: number;
  readonly decision: number;
  readonly keyId: string;
  readonly model: string;
  readonly task: string;
  /** The score of the answer, 0..1. */
  readonly score: number;
  /** The quality that the policy declares. */
  readonly declared: number;
  /** The caller's label. */
  readonly label: string | null;
}

/** The scores of a model at a task since the scores of the model were last reset. */
export interface ScoreMean {
  readonly model: string;
  readonly task: string;
  /** The number of the scores. */
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
}

/** The log of outcomes, ordered by ID. */
export interface OutcomeLog {
  /**
   * Adds an outcome. The commit fails with the reason `unmet` if the decision already has an outcome. If a stored row has a greater ID, the
   * new row gets the next ID after the stored row.
   */
  add(row: OutcomeRow): Write;
  /** @returns the score of a decision; null if the decision has no score */
  findScore(decision: number): Promise<OutcomeRow | null>;
  /** @returns at most `most` matching outcomes, ordered by ID */
  list(filter: OutcomeFilter, most: number): Promise<OutcomeRow[]>;
  /** @returns the number of outcomes */
  count(): Promise<number>;
  /** @returns the means by model and task, ordered by name */
  means(): Promise<ScoreMean[]>;
  /** @returns the IDs of the models that have outcomes, ascending */
  models(): Promise<string[]>;
  /** Deletes the outcomes with IDs below `beforeId`, in batches. */
  prune(beforeId: number): Promise<number>;
}

export interface ResetTable {
  /** Excludes scores up to a time (ms since 1970) from the means of a model; null: of all models. */
  add(model: string | null, at: number): Write;
}

/** The tables of scores. State: outcomes. */
export interface LearningTables {
  readonly outcomes: OutcomeLog;
  readonly resets: ResetTable;
}
