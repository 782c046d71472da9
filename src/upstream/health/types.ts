import type { ProviderFailure } from '../../contract/parts.ts';
import type { HealthState } from '../../core/readings.ts';

export interface HealthOptions {
  /** Milliseconds on a clock that never goes back, from 0 up. */
  readonly clock: () => number;
  /** Unix time, ms. */
  readonly now: () => number;
  /** 0 up to 1, as `Math.random`. */
  readonly random: () => number;
  /** Told once of every change, from within the call that caused it. Must not throw. */
  readonly onChange: (change: HealthChange) => void;
}

/**
 * A change of an endpoint's state that is certain: an ejection lasts until an answer came, though
 * its time may be up before. From `ejected` to `ejected` when a probe failed.
 */
export interface HealthChange {
  readonly provider: string;
  readonly model: string;
  readonly upstream: string;
  readonly from: HealthState;
  readonly to: HealthState;
  /** One line for the log; null for a change to healthy. */
  readonly why: string | null;
  /** For how long nothing is tried there, ms; null for a change to healthy. */
  readonly forMs: number | null;
}

/** One model at one provider, by its upstream name. */
export interface EndpointHealth {
  /**
   * Begins an attempt, whose end must be told to the trial. Otherwise `shut`: it would be refused, or is
   * in vain; or `no-budget`: the provider has had its share of retries.
   *
   * `retry`: the request has had an attempt at this provider before. `force`: go through an ejection, for
   * nothing else is left; cool-downs and refused keys stay shut.
   */
  begin(how: { readonly retry: boolean; readonly force: boolean }): Trial | 'shut' | 'no-budget';
  /** What stands in the way of a request now. Once the time of an ejection is up nothing does, until somebody tries. */
  readonly state: HealthState;
  /** Unix ms; 0 while nothing stands in the way. */
  readonly retryAt: number;
}

/** One attempt. Of `completed`, `failed` and `dropped` the first counts; what comes later does nothing. */
export interface Trial {
  /** The first content came, after `ttftMs`; null for an answer in one piece, which does not tell. */
  answered(ttftMs: number | null): void;
  /**
   * The answer is whole. `outputMs`: from the first content to the end, of a stream. `totalMs`: of an
   * answer in one piece, from sending to the end; null for a stream. `isWarm`: most of its prompt was in the
   * provider's cache.
   */
  completed(outputTokens: number, outputMs: number, totalMs: number | null, isWarm?: boolean): void;
  /** `blame` false: it had less time than its own deadline allows, so that a timeout tells nothing. */
  failed(failure: ProviderFailure, blame: boolean): void;
  /** It was given up for reasons that are not the endpoint's: nothing is known. */
  dropped(): void;
}

export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
}

/** How attempts ended, as metrics count them. */
export type AttemptOutcome = 'ok' | 'dropped' | ProviderFailure['kind'];

/** What `/metrics` shows of an endpoint that the policy in force names; counters are since the start. */
export interface EndpointSample {
  readonly provider: string;
  readonly model: string;
  readonly upstream: string;
  /** As told to `onChange` last. */
  readonly state: HealthState;
  /** As measured, ms; null where nothing was. */
  readonly ttftMs: Quantiles | null;
  /** The same of answers to prompts that were in the provider's cache. */
  readonly warmTtftMs: Quantiles | null;
  /** As measured; null where nothing was. */
  readonly tokensPerSecond: Quantiles | null;
  /** By how they ended; what never happened is left out. */
  readonly attempts: ReadonlyMap<AttemptOutcome, number>;
  readonly retries: number;
  /** Retries that the provider's budget did not allow. */
  readonly retriesDenied: number;
  readonly ejections: number;
}
