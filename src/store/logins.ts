import type { Write } from './store.ts';

/** The login of a user or of a key in one browser. Times are ms since 1970. */
export interface Login {
  /** The public ID of the login, shown in lists and in the audit trail. */
  readonly id: string;
  /** ID of the user; null if a key signed in. */
  readonly user: string | null;
  /** ID of the key; null if a user signed in. */
  readonly key: string | null;
  /** SHA-256 of the key that was typed. The login ends when this secret stops working. Null if a user signed in. */
  readonly keyHash: Uint8Array | null;
  readonly createdAt: number;
  /** The last use. It is written at most every ten minutes. */
  readonly usedAt: number;
  /** When the issuer last confirmed the claims of the user; for a key, when it signed in. */
  readonly confirmedAt: number;
  /** When the login ends, no matter how often it is used. */
  readonly expiresAt: number;
  /** When a person or the issuer ended the login; null until then. */
  readonly endedAt: number | null;
  /** The browser's description of itself; empty if it sends none. */
  readonly browser: string;
  /** The address from which the person signed in; null if it is unknown. */
  readonly from: string | null;
}

/** A login as it is stored. */
export interface LoginRow {
  readonly login: Login;
  /** SHA-256 of the cookie's value. The value itself is not stored. */
  readonly hash: Uint8Array;
}

export interface LoginChanges {
  readonly rows: readonly LoginRow[];
  /** Pass this to `changedAfter` to read the next changes. */
  readonly through: number;
}

/** An instance's claim on a login, so that only this instance refreshes the login's claims with the issuer. */
export interface Renewal {
  readonly id: string;
  /** The value that the instance read. The claim fails if another renewal has changed it. */
  readonly confirmedAt: number;
  /** The current time, ms since 1970. */
  readonly now: number;
  /** When the claim ends unless it is released before, ms since 1970. */
  readonly until: number;
}

/** The logins. Every write except of a renewal claim raises the news `logins`. State: logins. */
export interface LoginTable {
  /** Returns a login by its ID; null if there is none. */
  find(id: string): Promise<LoginRow | null>;
  /**
   * Returns the logins that changed since a number of the news `logins`, oldest first, and the number up to which the caller then knows all
   * changes. With -1, returns all.
   */
  changedAfter(number: number): Promise<LoginChanges>;
  /** @param token the encrypted refresh token; null for none */
  insert(row: LoginRow, token: Uint8Array | null): Write;
  /** Fails its commit with the reason `unmet` if there is no such login, or it has ended. */
  end(id: string, time: number): Write;
  /** Writes the last use. A later time that is already stored stays. */
  use(id: string, time: number): Write;
  /** Returns the encrypted refresh token; null for none. */
  tokenOf(id: string): Promise<Uint8Array | null>;
  /** Fails its commit with the reason `unmet` if the login has ended, was renewed since it was read, or is claimed by another instance. */
  claim(renewal: Renewal): Write;
  /**
   * Ends a claim and records that the user's claims were confirmed at `time`. @param token the new encrypted refresh token; null for none
   */
  confirm(id: string, time: number, token: Uint8Array | null): Write;
  /** Deletes all logins that ended or expired up to a time (ms since 1970), in batches. Returns their number. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}
