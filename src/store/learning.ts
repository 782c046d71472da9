import type { Cursor } from './cursor.ts';
import type { Write } from './store.ts';

/** Where outcomes come from: a caller's score. Versions before 0.2 also learned from checks of answers and from retries. */
export const OUTCOME_SOURCES = ['caller', 'checks', 'retry'] as const;
export type OutcomeSource = (typeof OUTCOME_SOURCES)[number];

/** The stored part of a decision that a score needs. */
export interface ExampleRow {
  readonly decision: number;
  /** When the feedback window ends, ms since 1970. */
  readonly until: number;
  readonly keyId: string;
  /** Name of the estimator plugin that made the features, or learned the outcome. */
  readonly estimator: string;
  readonly model: string;
  readonly task: string;
  /** Q as declared. */
  readonly declared: number;
  readonly probability: number;
  readonly among: number;
  readonly features: Uint8Array | null;
}

/** An outcome in the log, with the part of its example that it was learned from. */
export interface OutcomeRow extends Omit<ExampleRow, 'until' | 'features'> {
  /** Contains its time; see `core/id.ts`. */
  readonly id: number;
  readonly source: OutcomeSource;
  /** 0..1 */
  readonly score: number;
  /** The weight under the policy, and the weight that counted, in outcomes; 0: it was not learned. */
  readonly offered: number;
  readonly weight: number;
  /** Q as estimated before the outcome, by the estimator that learned it. */
  readonly estimated: number;
  /** The faults that a check of the answer looked for, as bits; 0 for callers' scores. */
  readonly looked: number;
  /** The caller's label; of another source, the fault that the answer showed. */
  readonly label: string | null;
}

/** An outcome with the remaining features of its question. */
export type OutcomeWithFeatures = OutcomeRow & Pick<ExampleRow, 'features'>;

/** A reset of what was learned. */
export interface ResetRow {
  readonly id: number;
  /** Null for everything. */
  readonly model: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** ID of the last outcome when a server applied it; null before. */
  readonly applied: number | null;
}

/** The outcomes of one source. */
export interface SourceSums {
  readonly source: OutcomeSource;
  readonly outcomes: number;
  /** Their weight in outcomes. */
  readonly learnt: number;
  /** Those that did not count because their key had reached its share. */
  readonly withheld: number;
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

/** The questions whose answers can be scored, by decision. */
export interface ExampleTable {
  /** Has no effect if the decision has one. */
  add(row: ExampleRow): Write;
  find(decision: number): Promise<ExampleRow | null>;
  /** @returns the number of examples whose window ends at `now`, ms since 1970, or later */
  countOpen(now: number): Promise<number>;
  /** Deletes those whose window ended before a time, ms since 1970, in batches. */
  prune(before: number): Promise<number>;
}

/** The log of outcomes, in the order of their IDs. */
export interface OutcomeLog {
  /**
   * Has no effect if the decision has an outcome of that source: a settlement must not fail because of it. A row that comes behind
   * one with a greater ID gets the next ID above that.
   */
  add(row: OutcomeRow): Write;
  /** @returns the caller's score of a decision */
  findScore(decision: number): Promise<OutcomeRow | null>;
  /** @returns the ID up to which no outcome will appear later; 0 for none. Outcomes above it may be visible. */
  horizon(): Promise<Cursor>;
  /** @returns the outcomes above an ID in their order, at most `most` */
  after(id: number, most: number): Promise<OutcomeWithFeatures[]>;
  /** @returns the latest outcomes above an ID that an estimator has learned, in their order, at most `most` */
  tail(estimator: string, id: number, most: number): Promise<OutcomeWithFeatures[]>;
  /** @returns the outcomes that match, at most `most`, in their order; with `latest` those with the greatest IDs, latest first */
  list(filter: OutcomeFilter, most: number, latest?: boolean): Promise<OutcomeRow[]>;
  /** @returns the sums by source, in the order of their names */
  sums(): Promise<SourceSums[]>;
  /** @returns the IDs of the models with outcomes, ascending */
  models(): Promise<string[]>;
  /** @returns the number of learned outcomes of an estimator above an ID */
  countAfter(estimator: string, id: number): Promise<number>;
  /** Deletes the outcomes below an ID, in batches. */
  prune(beforeId: number): Promise<number>;
}

/** The place in the log up to which a stored memory has all outcomes and none beyond, and its last reset. */
export interface StoredPosition {
  readonly outcome: Cursor;
  readonly reset: number;
}

/** The memories of estimator plugins, in parts that each plugin names, and the state that all share. */
export interface EstimatorMemories {
  parts(): Promise<{ readonly estimator: string; readonly part: string; readonly bytes: Uint8Array }[]>;
  /** Deletes the part for null. */
  putPart(estimator: string, part: string, bytes: Uint8Array | null): Write;
  deleteParts(estimator: string): Write;
  positions(): Promise<(StoredPosition & { readonly estimator: string })[]>;
  /** For a memory that was learned anew. */
  putPosition(estimator: string, position: StoredPosition): Write;
  /**
   * For a memory that was learned on. Fails its commit with the reason `unmet` where another instance has stored one that has come
   * further, in outcomes or in resets.
   */
  advance(estimator: string, position: StoredPosition): Write;
  /** Has no effect if the estimator has a position. */
  beginPosition(estimator: string, position: StoredPosition): Write;
  /** @returns the shared state as a text, with its place in the log of outcomes */
  state(): Promise<{ readonly outcome: Cursor; readonly body: string } | null>;
  putState(outcome: Cursor, body: string): Write;
}

export interface ResetTable {
  /** Raises the news `learning`. */
  add(model: string | null, at: number): Write;
  /** Has no effect once it is applied. */
  apply(id: number, outcome: number): Write;
  /** @returns the resets above an ID, in their order */
  after(id: number): Promise<ResetRow[]>;
}

/** The random secret of an installation, 8 bytes. */
export interface LearningSecretTable {
  /** @returns null before the first start of a server that learns, and in a store without these tables */
  find(): Promise<Uint8Array | null>;
  /** Has no effect if there is one. */
  add(secret: Uint8Array): Write;
}

/** The tables of learning. State: outcomes. */
export interface LearningTables {
  readonly secret: LearningSecretTable;
  readonly examples: ExampleTable;
  readonly outcomes: OutcomeLog;
  readonly memories: EstimatorMemories;
  readonly resets: ResetTable;
}
