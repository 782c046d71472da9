import type { Write } from './store.ts';

/** An answer in the cache. */
export interface CachedRow {
  /** 32 bytes, unique: a keyed hash of the request and of everything else that an equal request must have in common with it. */
  readonly name: Uint8Array;
  /** ID of the key whose request was answered, and of its user; null for a key without a user. Erasing either erases the row. */
  readonly keyId: string;
  readonly userId: string | null;
  /** When the answer was stored, ms since 1970. */
  readonly stored: number;
  /** From when on the answer is no longer used, ms since 1970. */
  readonly expires: number;
  /** When the answer was last stored or used, ms since 1970. */
  readonly used: number;
  /** The answer, encrypted. */
  readonly answer: Uint8Array;
}

/**
 * How many bytes a row takes on disk in addition to its answer, for its other columns, its indexes and the unused part of its pages: a
 * number of bytes, and a share of the answer. Measured in both databases, an answer of 700 bytes needs 320 to 410 bytes more, of 3 KB 1,300
 * to 1,500, and of 1 MiB up to 43 KB.
 */
export const ROW_BYTES = 640;
export const ROW_SHARE = 8;

/** About how many bytes a row takes on disk. @param answerBytes the length of its answer */
export const bytesOnDisk = (answerBytes: number): number =>
  answerBytes + Math.floor(answerBytes / ROW_SHARE) + ROW_BYTES;

/** A row that was found by its name. */
export interface FoundRow extends Omit<CachedRow, 'answer'> {
  /** The length of the answer. */
  readonly bytes: number;
  /** Null for an answer with more bytes than the search may read. */
  readonly answer: Uint8Array | null;
}

/** The size of the stored answers. */
export interface CacheSizes {
  readonly answers: number;
  /** About how many bytes they take on disk. */
  readonly bytes: number;
  /** When the answer that expires first was stored, ms since 1970; the earliest if several expire then; null without answers. */
  readonly oldestAt: number | null;
}

/**
 * The answers of the cache. The commit that revokes a key deletes the rows of the key and of all keys below it, and the commit that removes
 * a user deletes the rows of the user. State: cached answers.
 */
export interface CacheTable {
  /**
   * Returns the rows with these names that have not expired, in any order. Rejects with StoreError.
   * @param now ms since 1970
   * @param answerBytesMax the most bytes of an answer that is read
   */
  find(names: readonly Uint8Array[], now: number, answerBytesMax: number): Promise<FoundRow[]>;
  /** Stores a row in place of any row with the same name. No row is stored for a revoked key, or for a key below one. */
  keep(row: CachedRow): Write;
  /** Notes a use. @param at ms since 1970 */
  use(name: Uint8Array, at: number): Write;
  /** Returns what is stored. Rejects with StoreError. */
  sizes(): Promise<CacheSizes>;
  /**
   * Deletes the rows that were not used for the longest time, until the others take at most this many bytes on disk. Rows that were last
   * used in the same millisecond are deleted together. Works in batches, and other requests run between them. Rejects with StoreError; some
   * batches may already have been deleted.
   */
  evict(bytesMax: number): Promise<void>;
  /** Deletes all rows that expire up to a time (ms since 1970), in batches. Returns their number. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}
