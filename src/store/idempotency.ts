import type { InstanceName } from './instance.ts';
import type { Write } from './store.ts';

/** `running`: in progress, or lost with its instance. `kept`: can be repeated. `lost`: charged, cannot be repeated. */
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
  /** The instance that carries it out. Null unless the state is `running`, and where that instance has left it. */
  readonly owner: InstanceName | null;
}

/** One version of a row, told from all others: each run has a salt of its own. */
export type AnswerVersion = Pick<AnswerRow, 'name' | 'state' | 'salt'>;

/** Requests with an `Idempotency-Key`, and their sealed answers. State: names. */
export interface IdempotencyTable {
  find(name: Uint8Array): Promise<AnswerRow | null>;
  /**
   * Claims a name for a run. Fails its commit with the reason `unmet` unless the row of the name is still the one that was
   * seen. A repeated claim changes nothing.
   * @param row in the state `running`, with a new salt
   * @param seen null where there was no row
   */
  claim(row: AnswerRow, seen: AnswerVersion | null): Write;
  /**
   * Replaces a row, while it is still the one that is named; changes nothing where another run has taken its place.
   * @param row null: deletes it
   */
  replace(from: AnswerVersion, row: AnswerRow | null): Write;
  /** The instances that running rows name, each once. */
  owners(): Promise<InstanceName[]>;
  /** Takes the owner out of all running rows of an instance that has ended. */
  disown(owner: InstanceName): Write;
  /** Deletes all rows up to a time (ms since 1970) but those with an owner, in batches. Returns their number. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}
