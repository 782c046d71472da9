import type { AlertContent } from '../core/people/alert.ts';
import type { InstanceName } from './instance.ts';
import type { Write } from './store.ts';

/**
 * The state of an alert rule for one subject, so that people are alerted once. `noted`: alerted once for a window. `open`:
 * alerted, and the condition still holds. `closed`: the condition no longer holds. Times are ms since 1970.
 */
export interface AlertMark {
  /** The ID of the mark, built from the rule, the subject and the window. */
  readonly id: string;
  readonly state: 'noted' | 'open' | 'closed';
  /** When the mark was last noted or opened. */
  readonly since: number;
  /** When the mark may be deleted. Ignored while the mark is open. */
  readonly until: number;
  /** The instance that noticed the condition. Only this instance closes an open mark. */
  readonly owner: InstanceName;
}

/**
 * A change of an alert mark. The store applies the change only if the stored row still equals `seen`; with `seen` null, only if there is no
 * row.
 */
export interface AlertMarkChange {
  readonly seen: AlertMark | null;
  readonly mark: AlertMark;
}

/** The delivery of a message to one webhook. `waiting`: a first or further attempt is still to come. */
export interface AlertDelivery {
  readonly webhook: string;
  readonly state: 'waiting' | 'sent' | 'failed';
  /** Number of attempts that have ended. */
  readonly tries: number;
  /** When the last attempt ended, and when the next attempt may begin; ms since 1970. */
  readonly triedAt: number | null;
  readonly nextAt: number;
  /** Why the last attempt failed, without secrets; null if it did not fail. */
  readonly problem: string | null;
}

/** An alert message with its deliveries. */
export interface AlertMessage {
  readonly id: number;
  /** When the message was created, ms since 1970. */
  readonly time: number;
  readonly content: AlertContent;
  readonly deliveries: readonly AlertDelivery[];
  /** The instance that sends the message. */
  readonly owner: InstanceName;
}

/** Whether any delivery of a message is still waiting. */
export const isWaiting = ({ deliveries }: AlertMessage): boolean => deliveries.some(({ state }) => state === 'waiting');

/**
 * The alert memory stores which problems were reported, and which messages are still to be sent. Writes to the alert memory raise no news.
 * State: alert memory.
 */
export interface AlertTable {
  marks(): Promise<readonly AlertMark[]>;
  /**
   * Writes a changed mark. The commit of this write fails with the reason `unmet` if the stored row differs from the row that the caller
   * saw.
   */
  mark(change: AlertMarkChange): Write;
  insert(message: AlertMessage): Write;
  /**
   * Writes the deliveries and the owner of a message. The commit of this write fails with the reason `unmet` if an instance other than
   * `seen` owns the message.
   */
  update(message: AlertMessage, seen: InstanceName): Write;
  /** Messages with at least one waiting delivery, oldest first. */
  waiting(): Promise<readonly AlertMessage[]>;
  /** Messages, newest first. @param before return only messages older than this ID; null: begin with the newest */
  list(page: { readonly before: number | null; readonly limit: number }): Promise<readonly AlertMessage[]>;
  /** Deletes marks whose time to be deleted has passed. Of the messages without waiting deliveries, keeps only the newest `most`. */
  prune(time: number, most: number): readonly Write[];
}
