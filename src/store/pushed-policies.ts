import type { Write } from './store.ts';

/** A policy revision that was pushed to the store: the files of the policy as data, and the plugins that the policy needs. */
export interface PushedPolicy {
  /** The number of the push, which grows with each push. */
  readonly id: number;
  /** The number of the revision that this revision replaces; 0 for none. */
  readonly base: number;
  /**
   * The revision's name on the first server that checked the revision. Before the first check, this is the name with the environment
   * variables of a running server, or else of the process that pushed it.
   */
  readonly revision: string;
  /** The policy's files, as JSON. */
  readonly source: string;
  /** The operator's own plugins, each with a hash of its code. */
  readonly plugins: readonly (readonly [specifier: string, hash: string])[];
  /** When the policy was pushed, ms since 1970. */
  readonly time: number;
  /**
   * `offered`: the servers are checking the revision. `accepted`: every server can serve the revision, which is active until a later
   * revision is accepted. `refused`: a server could not serve the revision, which is active on no server.
   */
  readonly state: 'offered' | 'accepted' | 'refused';
  /** Why the revision was refused; null if the revision was not refused. */
  readonly reason: string | null;
}

/** A pushed revision without its files. */
export type PushEntry = Omit<PushedPolicy, 'source' | 'plugins'>;

/**
 * The policy revisions that were pushed. The last accepted revision is active. Every write raises the news `policy`.
 * State: pushed policies.
 */
export interface PushedPolicyTable {
  /** @returns a pushed revision; null if the revision is unknown or deleted */
  find(id: number): Promise<PushedPolicy | null>;
  /** Returns the active revision; null before the first accepted revision. */
  head(): Promise<PushedPolicy | null>;
  /** Returns the revision that servers are to check; null for none. */
  offered(): Promise<PushedPolicy | null>;
  /** Returns pushed revisions, newest first. @param before only revisions with a smaller number */
  list(limit: number, before?: number): Promise<readonly PushEntry[]>;
  /**
   * Offers a revision to the servers. The commit fails with the reason `unmet` unless `base` is the active revision, no other revision is
   * offered, and `id` is the next number.
   */
  offer(push: Omit<PushedPolicy, 'state' | 'reason'>): Write;
  /**
   * Ends an offer. The commit fails with the reason `unmet` if the offer has already ended. @param revision the revision's name on a
   * server; @param reason why the revision is refused
   */
  accept(id: number, revision: string): Write;
  refuse(id: number, reason: string): Write;
  /** Refuses an offer that was made before a time (ms since 1970), because the process that pushed it has ended. */
  expire(before: number, reason: string): Write;
  /** Deletes the revisions up to a number, except the active revision. */
  forget(through: number): Write;
}
