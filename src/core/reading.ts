/** Of something that was read from the store, or counted, and may have changed since in another instance. */
export interface Aged {
  /** For so long a change elsewhere may not be in it, ms. 0: it is as it is everywhere, which is always so on SQLite. */
  readonly ageMs: number;
}

/** A value with its age. It is for deciding what to ask of the store, which alone grants. */
export interface Reading<Value> extends Aged {
  readonly value: Value;
}
