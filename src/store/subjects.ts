import type { Write } from './store.ts';

/** A subject of a token issuer, such as a workload or a person. */
export interface TokenSubject {
  /** `subject_…`, derived from the issuer and `sub`. */
  readonly id: string;
  readonly issuer: string;
  readonly sub: string;
  /** The issuer's name in the policy at the time of the last checked token. */
  readonly name: string;
}

/** A subject with the times of its first and its last token, ms since 1970. */
export interface SubjectRow extends TokenSubject {
  readonly firstSeen: number;
  readonly lastSeen: number;
}

/** The subjects that have presented a token. State: subjects. */
export interface SubjectTable {
  /** Notes that a subject presented a valid token. A new subject is added. */
  see(subject: TokenSubject, time: number): Write;
  find(id: string): Promise<SubjectRow | null>;
  /**
   * Returns the subjects ordered by their first token, newest first.
   * @param before only subjects that come after the subject with this ID; null for all subjects
   */
  list(limit: number, before: string | null): Promise<SubjectRow[]>;
}
