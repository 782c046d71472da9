import type { LeftOutReason } from '../core/decision/decision.ts';
import type { Readings } from '../core/decision/readings.ts';
import type { DecisionRecord, RecordStatus, RecordSummary } from '../core/decision/record.ts';
import type { RefusalRecord } from '../core/decision/refusal.ts';
import type { GuardFinding } from '../core/decision/verdict.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Operation } from '../core/kinds/operations.ts';
import type { Revision } from '../core/text/revision.ts';
import type { Write } from './store.ts';

/** A stored record differs from what this program writes: someone edited the store, or the store is damaged. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
  constructor(options: ErrorOptions) {
    super('records: a stored record is not as it was written', options);
  }
}

/** Selects records. An absent filter matches all records. */
export interface RecordQuery {
  /** The time when the decision was made, ms since 1970: `from` inclusive, `to` exclusive. */
  readonly from?: number;
  readonly to?: number;
  readonly keyId?: string;
  /** IDs of keys. A matching record belongs to one of these keys. */
  readonly keyIds?: readonly string[];
  /** ID of the model that was tried last, or of the chosen model if no model was tried. For a refusal, the model that the request named. */
  readonly model?: string;
  readonly task?: string;
  readonly status?: RecordStatus;
  /** The error code of the answer. */
  readonly code?: ErrorCode;
  /** A matching record has one of these error codes. */
  readonly codes?: readonly ErrorCode[];
  /** The number of the request. */
  readonly request?: number;
  readonly operation?: Operation;
  /** IDs of the team and the user that the key belonged to at that time. */
  readonly team?: string;
  readonly user?: string;
  /** Selects only records of requests that named this session. */
  readonly session?: string;
  /** Selects only records with a finding of this guard. */
  readonly guard?: string;
  /** Selects only records with this finding of a guard; with `guard`, of that guard. */
  readonly finding?: GuardFinding;
  /** Selects only records of requests that name this model, and that a fallback served because the model was left out. */
  readonly insteadOf?: string;
  /** Selects only records of requests whose named model was left out for this reason. */
  readonly leftOut?: LeftOutReason | 'any';
  /** Labels of the key. A matching record has all these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The cursor of the page, which is `next` of the previous page. */
  readonly after?: number;
  /** Selects only records with a greater ID. */
  readonly newerThan?: number;
  /** The most records to return. */
  readonly limit: number;
  /** About how many records of the index may be examined for one page; by default `LOOKS_MAX`. */
  readonly looksMax?: number;
}

/** The number of records that are examined for a page. If records that match all filters are rare, the page ends before it is full. */
export const LOOKS_MAX = 100_000;

/** A record as an entry of a list, with a summary. */
export interface RecordEntry {
  /** The number of the decision; for a refusal, of the request. */
  readonly id: number;
  /** The number of the request; null for none. */
  readonly request: number | null;
  readonly keyId: string;
  readonly model: string;
  readonly task: string;
  readonly status: RecordStatus;
  /** '' for a refusal on a route that calls no model. */
  readonly operation: Operation | '';
  readonly team: string | null;
  readonly user: string | null;
  readonly session: string | null;
  /** The summary; null if the summary cannot be read. */
  readonly summary: RecordSummary | null;
}

/** A page of a list of records, ordered by ID, newest first. */
export interface RecordPage {
  readonly entries: readonly RecordEntry[];
  /** The cursor of the next page; null if no older record matches. */
  readonly next: number | null;
}

/** The log of requests: decision records and refusals. Records are added in any order of their IDs, and never change. */
export interface RecordLog {
  /** @returns the write of a record. The caller must not change the record or its arrays: the row is made when the record is written. */
  add(record: DecisionRecord): Write;
  /** @returns the write of a refusal, whose number no decision has */
  refuse(refusal: RefusalRecord): Write;
  /**
   * @returns a decision record; null for an unknown or deleted ID, and for a refusal
   * @throws UnreadableRecord
   */
  find(id: number): Promise<DecisionRecord | null>;
  /** Returns a page of records. */
  list(query: RecordQuery): Promise<RecordPage>;
  /**
   * Adds a batch of records to the index that `list` uses, the newest records first. The index never passes a position below which a record
   * may still appear.
   * @returns whether records are left to index
   */
  index(): Promise<boolean>;
  /**
   * Deletes all records below an ID, in batches or by whole partitions.
   * @param slack IDs below `beforeId` that a store with partitions may keep; 0 by default
   * @returns the number of deleted records, not counting whole partitions
   */
  prune(beforeId: number, slack?: number): Promise<number>;
}

/** The name of a field of readings that is stored. */
type ReadingsField = {
  [Name in keyof Readings]: Readings[Name] extends ArrayLike<number> ? Name : never;
}[keyof Readings];

/** The values of a field with their indexes, which are positions of models or endpoints. */
export type ReadingPairs = readonly (readonly [index: number, value: number])[];

/** For each field, the readings that differ from the values in the policy. */
export type ReadingsDifferences = Readonly<Record<ReadingsField, ReadingPairs>>;

/** Makes the differences field by field, in the order in which stores write them. New fields may only be added at the end. */
export const differencesBy = (pairsOf: (field: ReadingsField) => ReadingPairs): ReadingsDifferences => ({
  ttftMs: pairsOf('ttftMs'),
  warmTtftMs: pairsOf('warmTtftMs'),
  tokensPerSecond: pairsOf('tokensPerSecond'),
  health: pairsOf('health'),
  retryAt: pairsOf('retryAt'),
  outputTokens: pairsOf('outputTokens'),
});

/** The readings (health and speed of endpoints) that decisions were based on, by number. */
export interface ReadingsTable {
  add(number: number, differences: ReadingsDifferences): Write;
  /**
   * @returns the readings; null if they are not stored
   * @throws RangeError if the stored bytes are invalid
   */
  find(number: number): Promise<ReadingsDifferences | null>;
  /** Deletes all readings below a number, in batches. */
  prune(beforeNumber: number): Promise<number>;
}

/** The policies that have been active. */
export interface RevisionTable {
  /** Stores a policy that is active from `saved` on. If the revision is already stored, its text and models stay unchanged. */
  save(revision: Revision): Write;
  /** @returns the revision; null if the revision is unknown or was edited */
  find(revision: string): Promise<Revision | null>;
  /** @returns the revisions with a prefix, the most recently saved first, at most 100 */
  findByPrefix(prefix: string): Promise<readonly string[]>;
  /** Deletes the policies that were active neither at this time (ms since 1970) nor later. */
  pruneBefore(time: number): Write;
}

/** The stored content of one request. */
export interface StoredContent {
  /** When the content expires, ms since 1970. */
  readonly until: number;
  /** The messages without media; null if prompts are not stored. */
  readonly prompt: readonly unknown[] | null;
  /** The answer, by choice; null if answers are not stored. */
  readonly answer: readonly unknown[] | null;
  /** Whether a part was cut because it exceeded the size limit. */
  readonly isCut: boolean;
}

/** The content of requests and answers, by decision ID. */
export interface ContentTable {
  add(decision: number, content: StoredContent): Write;
  /** @returns the content; null if there is no content, or the content has expired at `now` */
  find(decision: number, now: number): Promise<StoredContent | null>;
  /** Deletes content that has expired at `now`, so that no byte of this content is left in the store. */
  prune(now: number): Promise<number>;
}

/** The tables of records. State: records. */
export interface RecordTables {
  readonly log: RecordLog;
  readonly readings: ReadingsTable;
  readonly revisions: RevisionTable;
  readonly contents: ContentTable;
  /**
   * Makes partitions for future records. If this method is absent, the store has no partitions.
   * @param now an ID made from the current time
   * @param width the width of each partition, in IDs
   */
  readonly partition?: (now: number, width: number) => Promise<void>;
  /** Resolves with whether the store's tables have this program's version. */
  isCurrent(): Promise<boolean>;
}
