import type { Write } from './store.ts';

/** `running`: in progress, or lost with its process. `kept`: can be repeated. `lost`: charged, cannot be repeated. */
export type AnswerState = 'running' | 'kept' | 'lost';

/** A request with an `Idempotency-Key`. */
export interface AnswerRow {
  /** 32 bytes, unique: a hash of the API key's ID and the idempotency key. */
  readonly name: Uint8Array;
  readonly state: AnswerState;
  /** The decision whose hold paid for it. */
  readonly decision: number;
  /** An earlier decision whose charge is also given back if this run is lost; null for none. */
  readonly earlier: number | null;
  /** Losses of its answer, crashes not counted. */
  readonly losses: number;
  /** When it got this state, ms since 1970. */
  readonly time: number;
  readonly salt: Uint8Array;
  readonly verifier: Uint8Array;
  /** A keyed hash of the request's body. */
  readonly body: Uint8Array;
  /** Sealed; null unless the state is `kept`. */
  readonly answer: Uint8Array | null;
}

/** Requests with an `Idempotency-Key`, and their sealed answers. */
export interface IdempotencyTable {
  find(name: Uint8Array): Promise<AnswerRow | null>;
  /** Inserts a row, or replaces the one of its name. */
  put(row: AnswerRow): Write;
  delete(name: Uint8Array): Write;
  /** Deletes all rows up to a time (ms since 1970), in batches. Returns their number. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}
