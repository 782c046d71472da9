import type { Write } from './store.ts';

/** A revision that was pushed to the store: its files as data, and the code that it needs. */
export interface PushedPolicy {
  /** Grows with each push. */
  readonly id: number;
  /** The number of the revision that it replaces; 0 for none. */
  readonly base: number;
  /** Its name at the server that judged it first; until then the name with the variables of a running server, or else of its maker. */
  readonly revision: string;
  /** Its files, as JSON. */
  readonly source: string;
  /** The operator's own plugins, with a hash of their code. */
  readonly plugins: readonly (readonly [specifier: string, hash: string])[];
  /** ms since 1970 */
  readonly time: number;
  /** `offered` until every server has judged it; then in force, and former once another is, or refused and in force nowhere. */
  readonly state: 'offered' | 'accepted' | 'refused';
  /** Why it is refused; null where it is not. */
  readonly reason: string | null;
}

/** A pushed revision without its files. */
export type PushEntry = Omit<PushedPolicy, 'source' | 'plugins'>;

/** The revisions that were pushed. The last one that was accepted is in force. Changes are news of `policy`. State: pushed policies. */
export interface PushedPolicyTable {
  /** @returns null for an unknown or forgotten one */
  find(id: number): Promise<PushedPolicy | null>;
  /** The one in force; null before the first. */
  head(): Promise<PushedPolicy | null>;
  /** The one that servers are to judge; null for none. */
  offered(): Promise<PushedPolicy | null>;
  /** The newest first. @param before only those of a smaller number */
  list(limit: number, before?: number): Promise<readonly PushEntry[]>;
  /** Offers a revision. Unmet unless `base` is the one in force, no other is offered, and `id` follows the last one. */
  offer(push: Omit<PushedPolicy, 'state' | 'reason'>): Write;
  /** Ends an offer. Unmet where it has ended. @param revision its name at a server; @param reason why it is refused */
  accept(id: number, revision: string): Write;
  refuse(id: number, reason: string): Write;
  /** Refuses what was offered before a time, ms since 1970: its maker has ended. */
  expire(before: number, reason: string): Write;
  /** Forgets those up to a number, but for the one in force. */
  forget(through: number): Write;
}
