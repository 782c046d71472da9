import type { InstanceName } from './instance.ts';
import type { Write } from './store.ts';

/**
 * The state of a named request. `running`: the request is in progress, or was lost with its instance. `kept`: the answer is stored and can
 * be repeated. `lost`: the request was charged, but its answer cannot be repeated.
 */
export type AnswerState = 'running' | 'kept' | 'lost';

/** A request with an `Idempotency-Key`. */
export interface AnswerRow {
  /** 32 bytes, unique: a hash of the API key's ID and the idempotency key. */
  readonly name: Uint8Array;
  readonly state: AnswerState;
  /** The ID of the decision whose hold paid for the request. */
  readonly decision: number;
  /** An earlier decision whose charge is also refunded if this run is lost; null for none. */
  readonly earlier: number | null;
  /** How often an answer of the request was lost, not counting crashes. */
  readonly losses: number;
  /** When the row got this state, ms since 1970. */
  readonly time: number;
  readonly salt: Uint8Array;
  readonly verifier: Uint8Array;
  /** A keyed hash of the request's body. */
  readonly body: Uint8Array;
  /** The answer, encrypted; null unless the state is `kept`. */
  readonly answer: Uint8Array | null;
  /** The instance that runs the request. Null if the state is not `running`, or if that instance has abandoned the request. */
  readonly owner: InstanceName | null;
}

/** A row without its answer, which can have 1 MiB. */
export interface AnswerHead extends Omit<AnswerRow, 'answer'> {
  /** Bytes of the encrypted answer; 0 for none. */
  readonly answerBytes: number;
}

/** A version of a row of a named request. Each run of a request has its own salt, so no two versions are equal. */
export type AnswerVersion = Pick<AnswerRow, 'name' | 'state' | 'salt'>;

/** Requests with an `Idempotency-Key`, and their encrypted answers. State: names. */
export interface IdempotencyTable {
  /** Reads a row without its answer. */
  head(name: Uint8Array): Promise<AnswerHead | null>;
  find(name: Uint8Array): Promise<AnswerRow | null>;
  /**
   * Claims a name for a run. The commit of the claim fails with the reason `unmet` unless the stored row is still the version `seen`. A
   * repeated claim changes nothing.
   * @param row in the state `running`, with a new salt
   * @param seen null if the caller found no row
   */
  claim(row: AnswerRow, seen: AnswerVersion | null): Write;
  /**
   * Replaces a row if it still has the version `from`. The call changes nothing if another run has replaced the row.
   * @param row null: deletes the row
   */
  replace(from: AnswerVersion, row: AnswerRow | null): Write;
  /** Returns each instance that owns a row in the state `running`, once. */
  owners(): Promise<InstanceName[]>;
  /** Removes the owner from all rows in the state `running` of an instance that has ended. */
  disown(owner: InstanceName): Write;
  /**
   * Deletes all rows up to a time (ms since 1970), except rows with an owner, in batches. Returns the number of deleted rows. Rejects with
   * StoreError.
   */
  prune(until: number): Promise<number>;
}
