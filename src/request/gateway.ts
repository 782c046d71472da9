import type { ByteRoom } from '../core/byte-room.ts';
import type { LinkedSet } from '../core/linked-set.ts';
import type { Learner } from '../learning/learner.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FundingSource } from '../money/funding.ts';
import type { Affinity } from '../prompt/affinity.ts';
import type { Sessions } from '../prompt/sessions.ts';
import type { Records } from '../records/records.ts';
import type { PastPolicies } from '../runtime/replay.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Log } from '../telemetry/log.ts';
import type { TokenCounter } from '../tokenizer/counter.ts';
import type { CountPlaces } from './count-places.ts';
import type { RequestContext } from './request-context.ts';

/** The parts that the use cases work with. */
export interface Gateway {
  /** The runtime in force; taken once per request and kept to its end. */
  lease(): Runtime;
  readonly ledger: Ledger;
  readonly funding: FundingSource;
  readonly records: Records;
  /** Earlier policies, for deciding their decisions again. */
  readonly past: Pick<PastPolicies, 'find'>;
  readonly learner: Learner;
  readonly affinity: Affinity;
  readonly sessions: Sessions;
  readonly counter: TokenCounter;
  readonly countPlaces: CountPlaces;
  readonly log: Log;
  /** The next ID; see `core/id.ts`. */
  nextId(): number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds on a clock that never goes back: `performance.now`, as the deadlines of calls are on it. */
  readonly clock: () => number;
  /** The requests between the reservation of their money and its settlement; the shutdown waits for them. */
  readonly inFlight: LinkedSet<RequestContext>;
  /** Room for answers in one piece, until their exchanges end. */
  readonly answers: ByteRoom;
  /** True once the process has been asked to stop. */
  draining(): boolean;
}

/** 64 random bits in hexadecimal. */
export function newSeed(): string {
  // The first and last digits of a UUID are random; its version stands between them.
  const uuid = crypto.randomUUID();
  return uuid.slice(0, 8) + uuid.slice(-8);
}
