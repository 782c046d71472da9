import type { AskedAddOns } from '../core/add-ons.ts';
import type { Write } from './store.ts';

/** Where a service keeps the history up to an answer, from which a thread may go on. IDs and figures, no text. */
export interface ThreadRow {
  /** ID of the key whose request was answered. No other finds it. */
  readonly keyId: string;
  /** The service's ID of the answer. */
  readonly answer: string;
  /** ID of the model that wrote it. */
  readonly model: string;
  readonly provider: string;
  /** The provider's address and key, hashed: another account has none of its histories. */
  readonly origin: string;
  /** Tokens up to the end of the answer. */
  readonly tokens: number;
  /** The add-ons that its turns let the service bill beside tokens; null for none. */
  readonly addOns: AskedAddOns | null;
  /** When it was answered, ms since 1970. */
  readonly time: number;
}

/** The answers that threads may go on from, of all instances. The commit that revokes a key erases its rows. State: threads. */
export interface ThreadTable {
  find(keyId: string, answer: string): Promise<ThreadRow | null>;
  /**
   * Keeps a row, in place of one of the same answer, and only the newest of its key. A revoked key keeps none.
   * @param most rows of a key
   */
  put(row: ThreadRow, most: number): readonly Write[];
  /** Deletes all rows up to a time (ms since 1970), in batches. Returns their number. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}
