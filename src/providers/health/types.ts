import type { ProviderFailure } from '../../contract/parts.ts';
import type { HealthState } from '../../core/decision/readings.ts';
import type { StoppedBilling } from '../../core/money/abort-billing.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { EndpointRooms, LimitUse } from '../../core/policy/endpoint-room.ts';
import type { DeclaredLatency } from '../../core/policy/snapshot.ts';
import type { FailureSeries } from '../../core/request/failure-kinds.ts';
import type { BrokenDeclaration, EndpointName } from '../../store/endpoints.ts';
import type { BreakerTerms } from './breaker.ts';

export interface HealthOptions {
  /** Returns monotonic ms, starting at 0 or more. */
  readonly clock: () => number;
  /** Returns the Unix time in ms. */
  readonly now: () => number;
  /** Returns random numbers like `Math.random`. */
  readonly random: () => number;
  /** Called once for every change of an endpoint's state, within the call that caused the change. `onChange` must not throw. */
  readonly onChange: (change: HealthChange) => void;
  /** Makes the rooms of endpoints with limits. Without `rooms`, the limits of endpoints are not enforced. */
  readonly rooms?: EndpointRooms;
}

/**
 * A change of an endpoint's state. An ejection of an endpoint lasts until the endpoint answers, even if the time of the ejection is over
 * before. A change from `ejected` to `ejected` means that a probe failed.
 */
export interface HealthChange extends EndpointName {
  /** The name of the key in its pool; absent for a provider with one key. */
  readonly key?: string;
  readonly from: HealthState;
  readonly to: HealthState;
  /** The reason for the change as one line for the log; null for a change to healthy. */
  readonly why: string | null;
  /** The time without attempts, in ms; null for a change to healthy. */
  readonly forMs: number | null;
}

/** A time in which Signalbox does not request token counts from an endpoint. */
export interface CountPause {
  /** The length of the pause in ms, without the wait that the provider requested. */
  readonly ms: number;
  /** The end of the pause, in ms of performance.now. */
  readonly until: number;
}

/** A key of a provider, as health tells keys apart. */
export interface HealthAccount {
  /** The name of the provider in logs and metrics. */
  readonly name: string;
  /**
   * The identity of the address and key. A provider with the same name but another address or key counts as another, to which earlier
   * health does not apply.
   */
  readonly id: string;
  /** The name of the key in its pool; absent for a provider with one key. */
  readonly label?: string | undefined;
  /** The identity of the key that lists the models of the server for all keys; absent if the key itself does. */
  readonly listedBy?: string | undefined;
}

/** How many requests a key of a pool is owed, in units of weight, compared with the other keys. */
export interface KeyTurn {
  credit: number;
}

/** The health of one upstream model at one provider. */
export interface EndpointHealth {
  /** The turn of the endpoint's key. All models share the turn of a key. */
  readonly turn: KeyTurn;
  /**
   * Begins an attempt; the caller must report its end. Returns `shut` if the attempt would fail, or `no-budget` if the provider has used
   * its share of retries.
   *
   * `retry` says that the request has tried this provider before. `force` ignores an ejection, because no other endpoint is left;
   * cool-downs and rejected keys still apply.
   */
  begin(how: { readonly retry: boolean; readonly force: boolean }): AttemptReporter | 'shut' | 'no-budget';
  /** The current state. After the time of an ejection, the state is `healthy` until an attempt shows otherwise. */
  readonly state: HealthState;
  /** The time from which attempts are allowed, in Unix ms; 0 if they are allowed now. */
  readonly retryAt: number;
  /** The number of attempts that have begun and not ended, on this server. */
  readonly busy: number;
  /** The number of answers whose speed was measured and still counts, on this server. */
  readonly measuredAnswers: number;
  /** When the endpoint last became healthy after faults, a refused key or a missing model, in ms of the clock; -Infinity for never. */
  readonly recoveredAt: number;
  /** The last pause between token counts since the endpoint last counted a prompt; null for none. */
  countPause: CountPause | null;
  /** Returns whether the endpoint billed more for an aborted answer than it declares. */
  hasBroken(declared: StoppedBilling): boolean;
  /**
   * Records a broken declaration. Until the policy declares something else, the endpoint is assumed to bill the whole answer.
   * @param excess microcredits billed beyond what was held
   */
  recordBroken(declared: StoppedBilling, excess: Microcredits): void;
}

/** Reports the outcome of one attempt. Only the first call of `completed`, `failed` and `dropped` counts. */
export interface AttemptReporter {
  /** Reports that the first content arrived. @param ttftMs null for an unstreamed answer */
  answered(ttftMs: number | null): void;
  /** Reports the prompt of an answer that is about to complete. @param cached the tokens that the provider read from its cache */
  read(tokens: number, cached: number): void;
  /**
   * Reports that the answer is complete.
   *
   * @param outputMs for a stream: the time from the first content to the end
   * @param totalMs for an unstreamed answer: the time from sending to the end; null for a stream
   * @param isWarm whether most of the prompt was in the provider's cache
   */
  completed(outputTokens: number, outputMs: number, totalMs: number | null, isWarm?: boolean): void;
  /** @param blame false if the attempt had less time than its own deadline, so that a timeout proves nothing */
  failed(failure: ProviderFailure, blame: boolean): void;
  /** Reports that the attempt was abandoned for reasons that do not concern the endpoint. */
  dropped(): void;
}

export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
}

/** The outcome of an attempt, as metrics count it. */
export type AttemptOutcome = 'ok' | 'dropped' | ProviderFailure['kind'];

/** The metrics of an endpoint in the active policy. Counters begin at the start of the process. */
export interface EndpointSample extends EndpointName {
  /** The name of the key in its pool; absent for a provider with one key. */
  readonly key?: string;
  /** The last state that was reported to `onChange`. */
  readonly state: HealthState;
  /** The time since which the endpoint is in that state, in Unix ms; 0 if it was never in another state. */
  readonly since: number;
  /** The reason why the endpoint is not healthy; null if it is healthy. */
  readonly why: string | null;
  /** The time from which attempts are allowed, in Unix ms; 0 if they are allowed now. */
  readonly retryAt: number;
  readonly breaker: BreakerTerms;
  /** The speed that the policy declares; null until a policy names the endpoint. */
  readonly declared: DeclaredLatency | null;
  /** The attempts that ended in the last 15 minutes, and the faults among them. */
  readonly recent: { readonly total: number; readonly faults: number };
  /** The tokens of the prompts of complete answers in the last 15 minutes, and how many of them the provider read from its cache. */
  readonly prompts: { readonly tokens: number; readonly cached: number };
  /** The measured time to the first content in ms; null without measurements. */
  readonly ttftMs: Quantiles | null;
  /** The measured time to the first content in ms for prompts in the provider's cache; null without measurements. */
  readonly warmTtftMs: Quantiles | null;
  /** The measured output rate in tokens per second; null without measurements. */
  readonly tokensPerSecond: Quantiles | null;
  /** The number of attempts by outcome. The map omits outcomes that never happened. */
  readonly attempts: ReadonlyMap<AttemptOutcome, number>;
  readonly series: FailureSeries;
  readonly retries: number;
  /** The number of retries that the provider's budget denied. */
  readonly retriesDenied: number;
  readonly ejections: number;
  /** The limits that the active policy states, and how much of them is used. */
  readonly limits: readonly LimitUse[];
  /** The endpoint's broken declaration about billing after an abort; null for none. */
  readonly broken: BrokenDeclaration | null;
}
