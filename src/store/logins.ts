import type { Write } from './store.ts';

/** The login of a user or of a key in a browser. Times are ms since 1970. */
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
  /** The last use of the login, which is written at most every ten minutes. */
  readonly usedAt: number;
  /** When the issuer last confirmed the claims of the user; for a key, when the key signed in. */
  readonly confirmedAt: number;
  /** When the login ends, no matter how often the login is used. */
  readonly expiresAt: number;
  /** When a person or the issuer ended the login; null until then. */
  readonly endedAt: number | null;
  /** The browser's description of itself; empty if it sends none. */
  readonly browser: string;
  /** The address from which the person signed in; null if it is unknown. */
  readonly from: string | null;
}

/** A stored login. */
export interface LoginRow {
  readonly login: Login;
  /** SHA-256 of the cookie's value. The value is not stored. */
  readonly hash: Uint8Array;
}

export interface LoginChanges {
  readonly rows: readonly LoginRow[];
  /** The number that a caller passes to `changedAfter` to read the next changes of logins. */
  readonly through: number;
}

/** An instance's claim on a login, so that only this instance refreshes the login's claims with the issuer. */
export interface Renewal {
  readonly id: string;
  /** The value of the login that the instance read. The claim fails if another renewal has changed the value. */
  readonly confirmedAt: number;
  /** The current time, ms since 1970. */
  readonly now: number;
  /** When the claim ends unless the claim is released before, ms since 1970. */
  readonly until: number;
}

/** The logins. Every write, except the write of a renewal claim, raises the news `logins`. State: logins. */
export interface LoginTable {
  /** Returns the login with an ID; null if no login has the ID. */
  find(id: string): Promise<LoginRow | null>;
  /**
   * Returns the logins that changed since a number of the news `logins`, oldest first, and the number up to which the caller then knows all
   * changes. With the number -1, the method returns all logins.
   */
  changedAfter(number: number): Promise<LoginChanges>;
  /** @param token the encrypted refresh token; null for none */
  insert(row: LoginRow, token: Uint8Array | null): Write;
  /** Ends a login. The commit fails with the reason `unmet` if the login does not exist or has ended. */
  end(id: string, time: number): Write;
  /** Writes the last use of a login. If a later time is already stored, the later time stays. */
  use(id: string, time: number): Write;
  /** Returns the encrypted refresh token of a login; null for none. */
  tokenOf(id: string): Promise<Uint8Array | null>;
  /**
   * Claims the renewal of a login. The commit fails with the reason `unmet` if the login has ended, was renewed since the instance read it,
   * or is claimed by another instance.
   */
  claim(renewal: Renewal): Write;
  /**
   * Ends a claim and records that the user's claims were confirmed at `time`. @param token the new encrypted refresh token; null for none
   */
  confirm(id: string, time: number, token: Uint8Array | null): Write;
  /**
   * Deletes all logins that ended or expired up to a time (ms since 1970), in batches. Returns the number of deleted logins. Rejects with
   * StoreError.
   */
  prune(until: number): Promise<number>;
}
