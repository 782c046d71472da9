import type { DenialReason } from '../../access/key-entry.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { ErrorCode, SignalboxError } from '../../core/errors.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { CacheResult, CacheSkip } from '../../core/policy/cache.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { type Facts, selectorIn } from '../../core/request/facts.ts';
import { NO_RUN, type RunNames } from '../../core/request/run-names.ts';
import type { RequestGuards } from '../guards/request-guards.ts';
import type { PreparedRequest } from './prepared.ts';

/** The latest decision that was tried for a request, whether or not it found a model. */
export interface RoutingAttempt {
  /** The facts of the request, with the rules that applied. */
  readonly facts: Facts;
  readonly snapshot: PolicySnapshot;
  /** How many models were rejected for each reason, in the order of `REJECTIONS`. */
  readonly rejections: ArrayLike<number>;
}

/** How a provider's count of a prompt ended. */
export interface PromptCountEnd {
  readonly provider: string;
  /** `refused`: the provider does not count prompts of this kind. `failed`: the provider may be able to count the prompt later. */
  readonly end: 'counted' | 'refused' | 'failed';
}

/** A key that no longer works. `reason` is not for callers. */
export interface DeniedKey {
  readonly caller: Caller;
  readonly reason: DenialReason;
}

/** Facts about the sender of a request. Admission writes them. */
export class ClientFacts {
  /** The caller; null until the key is read, or a payer has proved its identity. */
  caller: Caller | null = null;
  /** The key that no longer works, if the request has its right secret; null for any other caller. */
  denied: DeniedKey | null = null;
  /**
   * Who sends the request for the caller without the caller's secret, through the playground: the ID of a user or of the key. Null if the
   * caller itself sends the request.
   */
  sentBy: string | null = null;
  /** Whether a person sent the request with the cookie of a login. */
  isSignedIn = false;
}

/** Facts about the body of a request. `http/body-headers.ts` writes its size, and `http/body.ts` the rest. */
export class BodyFacts {
  /** The size of the body according to its `content-length`, in bytes; 0 for none. */
  bytes = 0;
  /** The largest body that the request's route accepts from the caller, in bytes; 0 before admission. */
  bytesMax = 0;
  /** SHA-256 of the body of a request with an `Idempotency-Key`; null for a request without this header. */
  hash: Uint8Array | null = null;
  /** The parsed body; null before the body is read. */
  value: unknown = null;
}

/** The result of the cache for a request that it applies to. */
export interface CacheFacts {
  /** `partial`: some inputs of a request for embeddings were in the cache. */
  readonly result: CacheResult;
  /** The price of the answers that the cache repeats, microcredits. */
  readonly spared: Microcredits;
  /** Stores the complete answer; null if it is not stored. */
  store: (() => Promise<void>) | null;
}

/** Facts about the work at a request. The steps of the gateway write them. */
export class WorkFacts {
  /** The request as models may receive it; null before it is prepared. */
  prepared: PreparedRequest | null = null;
  /** The guards that inspect the request and its answer; null for none. */
  guards: RequestGuards | null = null;
  /** The result of the cache; null for a request that the cache does not apply to. */
  cache: CacheFacts | null = null;
  /** Why the policy's cache does not apply to the request; null if it applies, and without a cache. */
  cacheSkip: CacheSkip | null = null;
  /** The names of the request's run (an agent's session), as the books and records store them. */
  run: RunNames = NO_RUN;
  /** The results of providers that counted the request's prompt; null for none. */
  promptCounts: PromptCountEnd[] | null = null;
  /** The latest decision that was tried; null before the first. */
  routing: RoutingAttempt | null = null;
  /** `dec_…` once the decision is stored. A request that is refused for lack of money stores none. */
  decisionId: string | null = null;
  /** When the decision began, ms on the gateway's clock; NaN before that. */
  startedAt = Number.NaN;

  /** The members of the request's record that guards and the cache decide; null for none. */
  get recorded(): Partial<DecisionOutcome> | null {
    const { guards, cache, cacheSkip } = this;
    if (!guards && !cache && !cacheSkip) return null;
    return {
      ...guards?.recorded,
      ...(cacheSkip && { cache: cacheSkip }),
      ...(cache && { cache: cache.result, ...(cache.spared > 0 && { spared: cache.spared }) }),
    };
  }

  addPromptCount(count: PromptCountEnd): void {
    this.promptCounts ??= [];
    this.promptCounts.push(count);
  }
}

/** Facts about the HTTP answer. The HTTP edge writes them. */
export class AnswerFacts {
  isStream = false;
  /** Whether a stored answer was sent again. */
  isReplayed = false;
  /** `dec_…` of a stored answer that was sent again, if a decision made it. */
  storedDecisionId: string | null = null;
  /** The HTTP status; 0 without an answer. */
  status = 0;
  /** The code of the error that was answered; null for none. The error of a broken stream is in the result of the exchange. */
  code: ErrorCode | null = null;
  /** The error that was answered; null for none, and for the error of a stored answer. */
  error: SignalboxError | null = null;

  /** Whether the caller disconnected before there was an answer. */
  get isMissing(): boolean {
    return this.status === 0 && this.code === null;
  }

  /** Notes that a stored answer is sent again. @param code the code of the stored error; null for none */
  replays(code: ErrorCode | null, decisionId: string | null): void {
    this.isReplayed = true;
    this.code = code;
    this.storedDecisionId = decisionId;
  }
}

/** Returns the selector of a request, or `pinned` if it names a model. */
export const selectorOf = ({ facts }: RoutingAttempt): string => selectorIn(facts);
