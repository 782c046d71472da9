import type { LinkedSet } from '../../core/linked-set.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PastPolicies } from '../../policy/runtime/replay.ts';
import type { TokenCounter } from '../../providers/tokenizer/counter.ts';
import type { AnswerCache } from '../cache/answer-cache.ts';
import type { AnswerTurns } from '../exchange/answer-turns.ts';
import type { ExchangeParts } from '../exchange/runnable-request.ts';
import type { FundingParts, FundingSource } from '../money/funding.ts';
import type { Affinity } from '../prompt/affinity.ts';
import type { Conversations } from '../prompt/conversations.ts';
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
  /** Earlier policies, with which recorded decisions are repeated. */
  readonly past: Pick<PastPolicies, 'find'>;
  readonly scores: Scores;
  readonly affinity: Affinity;
  readonly threads: Threads;
  readonly conversations: Conversations;
  readonly sessions: Sessions;
  readonly cache: AnswerCache;
  readonly turns: AnswerTurns;
  readonly counter: TokenCounter;
  readonly countPlaces: CountPlaces;
  /** Resolves once the active policy has the prices of now; null if it has them. It never rejects. */
  renewedPrices(): Promise<void> | null;
  /** Returns the next ID; see `core/id.ts`. */
  nextId(): number;
  /** Milliseconds on a clock whose value never decreases: `performance.now`, which the deadlines of calls also use. */
  readonly clock: () => number;
  /** The requests that have reserved money and are not yet settled. A shutdown waits for these requests. */
  readonly inFlight: LinkedSet<RequestContext>;
  /** True once clients should move to another process on this port: answers then close their connections. */
  isLeaving: boolean;
  /** True once clients should move to another server: this server then reports that it is not ready, but still answers. */
  isEnding: boolean;
  /** True once the process was told to stop. */
  isDraining: boolean;
}
