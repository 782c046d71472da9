import type { Write } from './store.ts';

/** Where outcomes come from: a caller's score. Versions before 0.2 also judged answers by checks and retries. */
export const OUTCOME_SOURCES = ['caller', 'checks', 'retry'] as const;
export type OutcomeSource = (typeof OUTCOME_SOURCES)[number];

/**
 * An outcome in the log. Versions that learned from outcomes filled all of it; a score of this version counts as one outcome, and its
 * `estimated`, `probability` and `among` say that nothing was learned or drawn.
 */
export interface OutcomeRow {
  /** Contains its time; see `core/id.ts`. */
  readonly id: number;
  readonly decision: number;
  readonly source: OutcomeSource;
  /** Name of the estimator that learned it. */
  readonly estimator: string;
  readonly keyId: string;
  readonly model: string;
  readonly task: string;
  /** 0..1 */
  readonly score: number;
  /** The weight under the policy, and the weight that counts, in outcomes; 0: it does not count. */
  readonly offered: number;
  readonly weight: number;
  /** Q as declared. */
  readonly declared: number;
  /** Q as estimated before the outcome. */
  readonly estimated: number;
  /** How the model was drawn: its probability, and the number of models. */
  readonly probability: number;
  readonly among: number;
  /** The faults that a check of the answer looked for, as bits; 0 for callers' scores. */
  readonly looked: number;
  /** The caller's label; of another source, the fault that the answer showed. */
  readonly label: string | null;
}

/** The outcomes of one source. */
export interface SourceSums {
  readonly source: OutcomeSource;
  readonly outcomes: number;
  /** Their weight in outcomes. */
  readonly learnt: number;
  /** Those that did not count because their key had reached its share, in earlier versions. */
  readonly withheld: number;
}

/** The callers' scores of a model at a task since the last reset of the model. */
export interface ScoreMean {
  readonly model: string;
  readonly task: string;
  /** The sum of their weights. */
  readonly outcomes: number;
  /** The means of the scores and of the qualities that were declared for these requests, 0..1. */
  readonly mean: number;
  readonly declared: number;
}

/** Selects outcomes; null for all. */
export interface OutcomeFilter {
  /** IDs, exclusive. */
  readonly after: number;
  readonly before: number;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly source: OutcomeSource | null;
}

/** The log of outcomes, in the order of their IDs. */
export interface OutcomeLog {
  /**
   * Fails its commit with the reason `unmet` where the decision has an outcome of that source. A row that comes after one with a
   * greater ID gets the next ID above that.
   */
  add(row: OutcomeRow): Write;
  /** @returns the caller's score of a decision */
  findScore(decision: number): Promise<OutcomeRow | null>;
  /** @returns the outcomes that match, at most `most`, in their order; with `latest` those with the greatest IDs, latest first */
  list(filter: OutcomeFilter, most: number, latest?: boolean): Promise<OutcomeRow[]>;
  /** @returns the sums by source, in the order of their names */
  sums(): Promise<SourceSums[]>;
  /** @returns the means by model and task, in the order of their names */
  means(): Promise<ScoreMean[]>;
  /** @returns the IDs of the models with outcomes, ascending */
  models(): Promise<string[]>;
  /** Deletes the outcomes below an ID, in batches. */
  prune(beforeId: number): Promise<number>;
}

export interface ResetTable {
  /** Leaves the scores of a model, or all for null, out of the means up to a time, ms since 1970. Raises the news `learning`. */
  add(model: string | null, at: number): Write;
}

/** The lengths of questions, as bytes; see `gateway/prompt/question-lengths-part.ts`. */
export interface LengthsTable {
  /** @returns null before the first `put` */
  find(): Promise<Uint8Array | null>;
  put(bytes: Uint8Array): Write;
}

/** Hashed words of questions that versions learned from while the answer could be scored. */
export interface ExampleTable {
  /** Deletes those whose time for a score ended before a time, ms since 1970, in batches. */
  prune(before: number): Promise<number>;
}

/** The tables of scores and of questions' lengths. State: outcomes. */
export interface LearningTables {
  readonly outcomes: OutcomeLog;
  readonly resets: ResetTable;
  readonly lengths: LengthsTable;
  readonly examples: ExampleTable;
}
