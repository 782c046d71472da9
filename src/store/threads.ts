import type { AskedAddOns } from '../core/money/add-ons.ts';
import type { Write } from './store.ts';

/**
 * An answer that a thread may continue from, and the place where the provider keeps the history up to this answer. The row contains IDs and
 * figures, no text.
 */
export interface ThreadRow {
  /** ID of the key whose request was answered. Only this key can find the row of the thread. */
  readonly keyId: string;
  /** The provider's ID of the answer. */
  readonly answer: string;
  /** ID of the model that wrote the answer. */
  readonly model: string;
  readonly provider: string;
  /** A keyed hash of the provider's address and API key. A different provider account does not have these histories. */
  readonly origin: string;
  /** Number of tokens up to the end of the answer. */
  readonly tokens: number;
  /** The add-ons that the thread's turns allow the provider to bill in addition to tokens; null for none. */
  readonly addOns: AskedAddOns | null;
  /** When the answer was given, ms since 1970. */
  readonly time: number;
}

/**
 * The answers, of all instances, that threads may continue from. The commit that revokes a key deletes the rows of the key. State: threads.
 */
export interface ThreadTable {
  find(keyId: string, answer: string): Promise<ThreadRow | null>;
  /**
   * Stores a row, replaces a row of the same answer, and keeps only the newest rows of the key. No row is stored for a revoked key.
   * @param most the most rows of a key
   */
  put(row: ThreadRow, most: number): readonly Write[];
  /** Deletes all rows up to a time (ms since 1970), in batches. Returns the number of deleted rows. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}
