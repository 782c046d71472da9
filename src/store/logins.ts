import type { Write } from './store.ts';

/** The login of a person or of a key in one browser. Times are milliseconds since 1970. */
export interface Login {
  /** Public: names the login in lists and the trail. */
  readonly id: string;
  /** ID of the user; null for the login of a key. */
  readonly user: string | null;
  /** ID of the key; null for the login of a user. */
  readonly key: string | null;
  /** SHA-256 of the key as it was typed: the login lasts no longer than that secret. Null for that of a user. */
  readonly keyHash: Uint8Array | null;
  readonly createdAt: number;
  /** The last use, written at most every ten minutes. */
  readonly usedAt: number;
  /** When the issuer last stated the claims of the user; of a key, the sign-in. */
  readonly confirmedAt: number;
  /** The end, however much it is used. */
  readonly expiresAt: number;
  /** Null until somebody or the issuer ends it. */
  readonly endedAt: number | null;
  /** The browser, by its own words; empty where it has none. */
  readonly browser: string;
  /** The address that the person signed in from; null where it was not known. */
  readonly from: string | null;
}

/** A login as it is stored. */
export interface LoginRow {
  readonly login: Login;
  /** SHA-256 of the value of its cookie, which is not stored. */
  readonly hash: Uint8Array;
}

export interface LoginChanges {
  readonly rows: readonly LoginRow[];
  /** For the next reading. */
  readonly through: number;
}

/** The claim of an instance to renew the claims of a login. */
export interface Renewal {
  readonly id: string;
  /** As it was read: another renewal has not come between. */
  readonly confirmedAt: number;
  /** ms since 1970 */
  readonly now: number;
  /** The end of the claim, if it is not released before, ms since 1970. */
  readonly until: number;
}

/** The logins. Every write raises the news `logins`, but for claims of renewals. State: logins. */
export interface LoginTable {
  /** Returns null for an unknown one. */
  find(id: string): Promise<LoginRow | null>;
  /** Returns those that have changed since a number of their news, oldest first, and the number up to which the caller then has all. From -1 on: all. */
  changedAfter(number: number): Promise<LoginChanges>;
  /** @param token the sealed refresh token; null for none */
  insert(row: LoginRow, token: Uint8Array | null): Write;
  /** Unmet where there is none, or it has ended. */
  end(id: string, time: number): Write;
  /** Later uses already stored stay. */
  use(id: string, time: number): Write;
  /** Returns the sealed refresh token; null for none. */
  tokenOf(id: string): Promise<Uint8Array | null>;
  /** Unmet where the login has ended, was renewed meanwhile, or another instance renews it. */
  claim(renewal: Renewal): Write;
  /** Ends a claim: the claims are those of now. @param token the sealed refresh token from now on; null for none */
  confirm(id: string, time: number, token: Uint8Array | null): Write;
  /** Deletes all that have ended, or expired, up to a time (ms since 1970), in batches. Returns their number. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}
