import type { LinkedSet } from '../../core/linked-set.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PastPolicies } from '../../policy/runtime/replay.ts';
import type { TokenCounter } from '../../providers/tokenizer/counter.ts';
import type { ExchangeParts } from '../exchange/runnable-request.ts';
import type { FundingParts, FundingSource } from '../money/funding.ts';
import type { Affinity } from '../prompt/affinity.ts';
import type { KeptLengths } from '../prompt/kept-lengths.ts';
import type { Sessions } from '../prompt/sessions.ts';
import type { Threads } from '../prompt/threads.ts';
import type { Records } from '../records/records.ts';
import type { Scores } from '../records/scores.ts';
import type { CountPlaces } from './count-places.ts';
import type { RequestContext } from './request-context.ts';

/** The parts that the use cases work with. State: gateway. */
export interface Gateway extends FundingParts, ExchangeParts {
  readonly ledger: Ledger;
  readonly funding: FundingSource;
  readonly records: Records;
  /** Earlier policies, for deciding their decisions again. */
  readonly past: Pick<PastPolicies, 'find'>;
  readonly scores: Scores;
  readonly questionLengths: KeptLengths;
  readonly affinity: Affinity;
  readonly threads: Threads;
  readonly sessions: Sessions;
  readonly counter: TokenCounter;
  readonly countPlaces: CountPlaces;
  /** The next ID; see `core/id.ts`. */
  nextId(): number;
  /** Milliseconds on a clock that never goes back: `performance.now`, as the deadlines of calls are on it. */
  readonly clock: () => number;
  /** The requests between the hold of their money and its settlement; the shutdown waits for them. */
  readonly inFlight: LinkedSet<RequestContext>;
  /** True once callers should come to another server at this port: answers close their connections. */
  isLeaving: boolean;
  /** True once they should come to a server elsewhere: this one is not ready any more, and still answers. */
  isEnding: boolean;
  /** True once the process has been asked to stop. */
  isDraining: boolean;
}
