import type { AlertContent } from '../core/alert.ts';
import type { InstanceName } from './instance.ts';
import type { Write } from './store.ts';

/**
 * What a rule has noticed of one subject, so that it is told once. `noted`: told for good, as of a window. `open`: told, and it
 * lasts. `closed`: it lasts no longer. Times are ms since 1970.
 */
export interface AlertMark {
  /** Made of the rule, the subject and its window. */
  readonly id: string;
  readonly state: 'noted' | 'open' | 'closed';
  /** When it was noted or opened last. */
  readonly since: number;
  /** When it may be forgotten; ignored while it is open. */
  readonly until: number;
  /** The instance that saw it: an open one is closed by what that instance sees. */
  readonly owner: InstanceName;
}

/** A change of a mark, on the condition that its row still is the one seen; null: that there is none. */
export interface AlertMarkChange {
  readonly seen: AlertMark | null;
  readonly mark: AlertMark;
}

/** The way of a message to one webhook. `waiting`: for its first or next try. */
export interface AlertDelivery {
  readonly webhook: string;
  readonly state: 'waiting' | 'sent' | 'failed';
  /** Tries that have ended. */
  readonly tries: number;
  /** The end of the last try, and from when the next one may begin; ms since 1970. */
  readonly triedAt: number | null;
  readonly nextAt: number;
  /** Why the last try failed, without a secret; null where it did not. */
  readonly problem: string | null;
}

/** A message and its deliveries. */
export interface AlertMessage {
  readonly id: number;
  /** When it was made, ms since 1970. */
  readonly time: number;
  readonly content: AlertContent;
  readonly deliveries: readonly AlertDelivery[];
  /** The instance that sends it. */
  readonly owner: InstanceName;
}

/** Whether something of a message is still to be sent. */
export const isWaiting = ({ deliveries }: AlertMessage): boolean => deliveries.some(({ state }) => state === 'waiting');

/** What people were told, and is to be told. Nothing raises news. State: alert memory. */
export interface AlertTable {
  marks(): Promise<readonly AlertMark[]>;
  /** The commit is refused (`unmet`) where the row is another one than was seen. */
  mark(change: AlertMarkChange): Write;
  insert(message: AlertMessage): Write;
  /** Writes deliveries and owner. The commit is refused (`unmet`) where another instance than `seen` owns it. */
  update(message: AlertMessage, seen: InstanceName): Write;
  /** Messages of which something waits, oldest first. */
  waiting(): Promise<readonly AlertMessage[]>;
  /** Newest first. @param before an ID; null: from the newest on */
  list(page: { readonly before: number | null; readonly limit: number }): Promise<readonly AlertMessage[]>;
  /** Deletes marks that may be forgotten at a time, and messages that wait for nothing beyond the newest `most`. */
  prune(time: number, most: number): readonly Write[];
}
