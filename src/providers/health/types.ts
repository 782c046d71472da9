import type { ProviderFailure } from '../../contract/parts.ts';
import type { StoppedBilling } from '../../core/abort-billing.ts';
import type { Microcredits } from '../../core/credits.ts';
import type { HealthState } from '../../core/readings.ts';
import type { DeclaredLatency } from '../../core/snapshot.ts';
import type { BrokenDeclaration, EndpointName } from '../../store/endpoints.ts';
import type { BreakerTerms } from './breaker.ts';

export interface HealthOptions {
  /** Monotonic ms, from 0 up. */
  readonly clock: () => number;
  /** Unix time, ms. */
  readonly now: () => number;
  /** As `Math.random`. */
  readonly random: () => number;
  /** Called once for every change, within the call that caused it. Must not throw. */
  readonly onChange: (change: HealthChange) => void;
}

/**
 * A change of an endpoint's state. An ejection lasts until an answer, even if its time is up before. From `ejected` to
 * `ejected` when a probe failed.
 */
export interface HealthChange extends EndpointName {
  readonly from: HealthState;
  readonly to: HealthState;
  /** One line for the log; null for a change to healthy. */
  readonly why: string | null;
  /** Time without attempts, ms; null for a change to healthy. */
  readonly forMs: number | null;
}

/** A time in which an endpoint is not asked for counts. */
export interface CountPause {
  /** Its length without the wish of the service, ms. */
  readonly ms: number;
  /** Its end, ms of performance.now. */
  readonly until: number;
}

/** The health of one upstream model at one provider. */
export interface EndpointHealth {
  /**
   * Begins an attempt, whose end must be reported. Returns `shut` where it would fail, or `no-budget` where the
   * provider has had its share of retries.
   *
   * `retry`: the request has tried this provider before. `force`: ignore an ejection, because no other endpoint is
   * left; cool-downs and refused keys still apply.
   */
  begin(how: { readonly retry: boolean; readonly force: boolean }): AttemptReporter | 'shut' | 'no-budget';
  /** The current state; `healthy` once the time of an ejection is up, until an attempt. */
  readonly state: HealthState;
  /** Unix ms from which attempts are allowed; 0 if they are now. */
  readonly retryAt: number;
  /** The last pause between counts of prompts since the endpoint counted one; null for none. */
  countPause: CountPause | null;
  /** Whether it was found to bill more of an aborted answer than it declares. */
  hasBroken(declared: StoppedBilling): boolean;
  /**
   * Records that: until the policy states another declaration, it counts as billing the whole.
   * @param excess microcredits billed beyond what was held
   */
  recordBroken(declared: StoppedBilling, excess: Microcredits): void;
}

/** Reports the outcome of one attempt. Only the first of `completed`, `failed` and `dropped` counts. */
export interface AttemptReporter {
  /** First content arrived. @param ttftMs null for an unstreamed answer */
  answered(ttftMs: number | null): void;
  /**
   * The answer is complete.
   *
   * @param outputMs of a stream: from the first content to the end
   * @param totalMs of an unstreamed answer: from sending to the end; null for a stream
   * @param isWarm most of the prompt was in the provider's cache
   */
  completed(outputTokens: number, outputMs: number, totalMs: number | null, isWarm?: boolean): void;
  /** @param blame false if it had less time than its own deadline, so that a timeout proves nothing */
  failed(failure: ProviderFailure, blame: boolean): void;
  /** Abandoned for reasons that do not concern the endpoint. */
  dropped(): void;
}

export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
}

/** The outcome of an attempt, as metrics count it. */
export type AttemptOutcome = 'ok' | 'dropped' | ProviderFailure['kind'];

/** The metrics of an endpoint in the policy in force; counters since the start. */
export interface EndpointSample extends EndpointName {
  /** The last state reported to `onChange`. */
  readonly state: HealthState;
  /** Since when it is in that state, Unix ms; 0 while it was in no other. */
  readonly since: number;
  /** Why it is not healthy; null where it is. */
  readonly why: string | null;
  /** Unix ms from which attempts are allowed; 0 if they are now. */
  readonly retryAt: number;
  readonly breaker: BreakerTerms;
  /** The speed that the policy declares; null before one names it. */
  readonly declared: DeclaredLatency | null;
  /** Attempts that ended in the last 15 minutes, and the faults among them. */
  readonly recent: { readonly total: number; readonly faults: number };
  /** Measured ms; null without measurements. */
  readonly ttftMs: Quantiles | null;
  /** The same for prompts in the provider's cache. */
  readonly warmTtftMs: Quantiles | null;
  /** Null without measurements. */
  readonly tokensPerSecond: Quantiles | null;
  /** By outcome, without those that never happened. */
  readonly attempts: ReadonlyMap<AttemptOutcome, number>;
  readonly retries: number;
  /** Retries denied by the provider's budget. */
  readonly retriesDenied: number;
  readonly ejections: number;
  /** The declaration of what it bills after an abort that it has not kept; null for none. */
  readonly broken: BrokenDeclaration | null;
}
