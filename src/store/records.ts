import type { DecisionRecord, RecordStatus, RecordSummary } from '../core/decision-record.ts';
import type { Operation } from '../core/operation.ts';
import type { Readings } from '../core/readings.ts';
import type { Revision } from '../core/revision.ts';
import type { Write } from './store.ts';

/** A stored record is not as this program wrote it: the store was edited, or is damaged. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
  constructor(options: ErrorOptions) {
    super('records: a stored record is not as it was written', options);
  }
}

/** Selects records; an absent filter admits all. */
export interface RecordQuery {
  /** When the decision was made, milliseconds since 1970: from inclusive, to exclusive. */
  readonly from?: number;
  readonly to?: number;
  readonly keyId?: string;
  /** IDs of keys; a record must be of one of them. */
  readonly keyIds?: readonly string[];
  /** ID of the model that was tried last, or of the choice where none was tried. */
  readonly model?: string;
  readonly task?: string;
  readonly status?: RecordStatus;
  readonly operation?: Operation;
  /** IDs of the team and the user that the key belonged to. */
  readonly team?: string;
  readonly user?: string;
  /** The session that the request names. */
  readonly session?: string;
  /** Labels of the key; a record must have all of them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The cursor: `next` of the page before. */
  readonly after?: number;
  /** Only records of a greater ID. */
  readonly newerThan?: number;
  /** The maximum number of records. */
  readonly limit: number;
  /** How many records of the index a page looks at, at most about; `LOOKS_MAX` unless given. */
  readonly looksMax?: number;
}

/** Records that a page looks at: where its filters seldom hold together, it ends before it is full. */
export const LOOKS_MAX = 100_000;

/** A record in a list. */
export interface RecordEntry {
  readonly id: number;
  readonly keyId: string;
  readonly model: string;
  readonly task: string;
  readonly status: RecordStatus;
  readonly operation: Operation;
  readonly team: string | null;
  readonly user: string | null;
  readonly session: string | null;
  /** Null if it is unreadable. */
  readonly summary: RecordSummary | null;
}

/** A page of a list, the newest records first, by ID. */
export interface RecordPage {
  readonly entries: readonly RecordEntry[];
  /** The cursor of the next page; null where no older record matches. */
  readonly next: number | null;
}

/** The log of decision records. Records are added in any order of their IDs, and are never changed. */
export interface RecordLog {
  /** @returns the write of a record. The record and its arrays must stay as they are: the row is made when it is written. */
  add(record: DecisionRecord): Write;
  /**
   * @returns null for an unknown or deleted ID
   * @throws UnreadableRecord
   */
  find(id: number): Promise<DecisionRecord | null>;
  /** Records of version 0.1 that `index` has yet to reach are missing. */
  list(query: RecordQuery): Promise<RecordPage>;
  /**
   * Brings the index behind `list` up to date by one batch, the newest records first. It passes no place below which a record may
   * appear later.
   * @returns whether records are left
   */
  index(): Promise<boolean>;
  /**
   * Deletes all records below an ID, in batches or by whole partitions.
   * @param slack IDs below it that a store with partitions may keep; 0 unless stated
   * @returns the number deleted, but for those of whole partitions
   */
  prune(beforeId: number, slack?: number): Promise<number>;
}

/** A field of readings that is stored. */
type ReadingsField = {
  [Name in keyof Readings]: Readings[Name] extends ArrayLike<number> ? Name : never;
}[keyof Readings];

/** Pairs of index and value. */
export type ReadingPairs = readonly (readonly [index: number, value: number])[];

/** The readings that differ from those of the policy, by field. */
export type ReadingsDifferences = Readonly<Record<ReadingsField, ReadingPairs>>;

/** Makes the differences field by field, in the order in which stores write them, which only grows at its end. */
export const differencesBy = (pairsOf: (field: ReadingsField) => ReadingPairs): ReadingsDifferences => ({
  ttftMs: pairsOf('ttftMs'),
  warmTtftMs: pairsOf('warmTtftMs'),
  tokensPerSecond: pairsOf('tokensPerSecond'),
  health: pairsOf('health'),
  retryAt: pairsOf('retryAt'),
  outputTokens: pairsOf('outputTokens'),
  // Readings of earlier versions have none: their reference costs used the policy's figures.
  referenceTokens: pairsOf('referenceTokens'),
});

/** The readings behind decisions, by their number. */
export interface ReadingsTable {
  add(number: number, differences: ReadingsDifferences): Write;
  /**
   * @returns null if it is not stored
   * @throws RangeError if it is not as it was written
   */
  find(number: number): Promise<ReadingsDifferences | null>;
  /** Deletes all readings below a number, in batches. */
  prune(beforeNumber: number): Promise<number>;
}

/** The policies that were in force. */
export interface RevisionTable {
  /** Stores a policy as in force from `saved` on. The text and models of a stored revision stay unchanged. */
  save(revision: Revision): Write;
  /** @returns null if it is unknown, or was edited */
  find(revision: string): Promise<Revision | null>;
  /** @returns the revisions with a prefix, the last saved first, at most 100 */
  findByPrefix(prefix: string): Promise<readonly string[]>;
  /** Deletes the policies that were not in force at this time, ms since 1970, or later. */
  pruneBefore(time: number): Write;
}

/** The stored content of one request. */
export interface StoredContent {
  /** Milliseconds since 1970. */
  readonly until: number;
  /** The messages without media; null if prompts are not stored. */
  readonly prompt: readonly unknown[] | null;
  /** The answer by choice; null if answers are not stored. */
  readonly answer: readonly unknown[] | null;
  /** Whether something exceeded the limit. */
  readonly isCut: boolean;
}

/** The content of requests and answers, by the ID of their decision. */
export interface ContentTable {
  add(decision: number, content: StoredContent): Write;
  /** @returns null if there is none, or it has expired at `now` */
  find(decision: number, now: number): Promise<StoredContent | null>;
  /** Deletes what has expired at `now`, so that no byte of it is left in the store. */
  prune(now: number): Promise<number>;
}

/** The tables of records. State: records. */
export interface RecordTables {
  readonly log: RecordLog;
  readonly readings: ReadingsTable;
  readonly revisions: RevisionTable;
  readonly contents: ContentTable;
  /**
   * Makes partitions for records to come. Absent: the store has none.
   * @param now an ID of now
   * @param width of each in IDs
   */
  readonly partition?: (now: number, width: number) => Promise<void>;
  /** Whether the store has the tables of this version. */
  isCurrent(): Promise<boolean>;
}
