import type { Write } from './store.ts';

/** A subject of an issuer of tokens. */
export interface TokenSubject {
  /** `subject_…`, of the issuer and `sub`. */
  readonly id: string;
  readonly issuer: string;
  readonly sub: string;
  /** The issuer's name in the policy, when the last token was checked. */
  readonly name: string;
}

/** A subject with the times of its first and its last token, ms since 1970. */
export interface SubjectRow extends TokenSubject {
  readonly firstSeen: number;
  readonly lastSeen: number;
}

/** The subjects that have shown a token. State: subjects. */
export interface SubjectTable {
  /** Notes a checked token of a subject, known or new. */
  see(subject: TokenSubject, time: number): Write;
  find(id: string): Promise<SubjectRow | null>;
  /**
   * The subjects by their first token, newest first.
   * @param before only those behind this one, by its ID; null for all
   */
  list(limit: number, before: string | null): Promise<SubjectRow[]>;
}
