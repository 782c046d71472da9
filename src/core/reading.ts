/**
 * A reading, which another instance may have changed since: of keys, funds, balances and limits. It is for deciding what to ask of
 * the store, which alone grants.
 */
export interface Reading {
  /** For so long a change elsewhere may not be in it, ms. 0, always so on SQLite: nothing is newer elsewhere. */
  readonly ageMs: number;
}
