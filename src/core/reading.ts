/**
 * A copy of stored data, such as keys, funds, balances and limits, that another server may have changed since. Use a reading to decide what
 * to request from the store; only the store itself can grant money or access.
 */
export interface Reading {
  /**
   * Age of the copy in ms: changes by other servers within this time may be missing. `ageMs` is always 0 on SQLite, because no other server
   * writes to a SQLite database.
   */
  readonly ageMs: number;
}
