import { type FailureSeries, isProviderFailure } from '../../core/decision/failure-kinds.ts';
import type { HealthState } from '../../core/decision/readings.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { AlertSubject } from '../../core/people/alert.ts';
import type { CachedEach } from '../../core/policy/alerts.ts';
import type { FailingGuard } from '../../core/policy/guards.ts';
import type { InstanceReport } from '../../store/instance-reports.ts';

/** A window of a budget for one subject. Times are ms since 1970. */
export interface BudgetWindowReading {
  readonly name: string;
  /** The subject, if the budget has a window for `each` subject; '' for a budget with only one window. */
  readonly subject: string;
  /** The name of the team, user or key; null for other subjects. */
  readonly called: string | null;
  /** The name of the budget and its subject, for sentences. */
  readonly title: string;
  readonly limit: Microcredits;
  readonly spent: Microcredits;
  readonly starts: number;
  /** The end of the window; Infinity for a window that never ends. */
  readonly ends: number;
  /** The amount that will be spent by the end of the window at the current rate; null if it cannot be computed yet. */
  readonly forecast: Microcredits | null;
  /** The least amount that a request needed which the budget refuses now, although it is not used up; null if it pays for requests. */
  readonly refused: Microcredits | null;
  /** The value of a Credit in USD; null if it is unknown. */
  readonly usdPerCredit: string | null;
}

/** A key that still works and will expire. Times are ms since 1970. */
export interface ExpiringKey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The last refusal of a policy edit; null if the last edit was accepted. */
export interface PolicyRefusal {
  /** The reason for the alert, in one sentence. */
  readonly message: string;
  /** `file:line:column code: message` of the first error; null for none. */
  readonly first: string | null;
  /** ms since 1970 */
  readonly time: number;
}

/** Servers that share one database but run different policies. */
export interface PolicySplit {
  /** When the difference began, ms since 1970. */
  readonly since: number;
  readonly instances: readonly Pick<InstanceReport, 'name' | 'revision' | 'error'>[];
}

/** Input tokens, and how many of them providers read from their caches. */
export interface CachedShare {
  readonly input: number;
  readonly cached: number;
  /** The number of requests. */
  readonly prompts: number;
}

/** The cached share of a key or an endpoint. */
export interface SubjectShare extends CachedShare {
  readonly id: string;
  /** The name for sentences, such as `key ci (key_…)`. */
  readonly title: string;
  readonly details: AlertSubject;
}

/** A guard of the policy. */
export interface GuardReading {
  readonly name: string;
  /** Null if the guard works, or has not run yet. */
  readonly failing: FailingGuard | null;
}

/** A key of a provider. */
export interface ProviderKeyReading {
  readonly provider: string;
  /** The label of a key in a pool; null for a provider with one key. */
  readonly key: string | null;
  /** Whether the provider refuses the key. `unknown`: a refusal is over, and no attempt has succeeded since. */
  readonly state: 'refused' | 'accepted' | 'unknown';
  /** The number of endpoints at which the provider refuses the key; `endpoints` counts all. */
  readonly refused: number;
  readonly endpoints: number;
}

/** The requests of a time window. */
export interface AnswersReading {
  readonly requests: number;
  /** Requests that ended with an error of Signalbox or a provider. */
  readonly errors: number;
  /** The error code that most errors have, with the provider of their last attempts (null for none); null if it is unknown. */
  readonly mostFrequent: { readonly code: ErrorCode; readonly provider: string | null; readonly errors: number } | null;
  /** Answers with content. */
  readonly answers: number;
  /** The time to the first content that 9 of 10 answers do not exceed, ms, at most a tenth too high; 0 without answers. */
  readonly slowMs: number;
  /** The model of most of the `of` slowest answers, about a tenth of all; null if it is unknown. */
  readonly slowest: { readonly model: string; readonly answers: number; readonly of: number } | null;
}

/** The measurements of this server that alert rules check. */
export interface AlertReadings {
  /** The budgets are computed only when a rule needs them, because there may be many budgets. */
  budgets(): readonly BudgetWindowReading[];
  keys(): readonly ExpiringKey[];
  readonly providers: readonly ProviderReading[];
  readonly providerKeys: readonly ProviderKeyReading[];
  readonly guards: readonly GuardReading[];
  /** @returns the requests of the last `windowMs` ms */
  answersWithin(windowMs: number): AnswersReading;
  readonly refusal: PolicyRefusal | null;
  /** The difference is null while all servers run the same policy. */
  readonly split: PolicySplit | null;
  /** @returns the input tokens of the last `windowMs` ms */
  tokensWithin(windowMs: number): CachedShare;
  /** @returns the input tokens of the last `windowMs` ms, of each key or endpoint with the most input */
  sharesWithin(each: CachedEach, windowMs: number): readonly SubjectShare[];
}

export interface ProviderReading {
  readonly name: string;
  /** Whether the provider answered the last attempts that reached it. */
  readonly isUp: boolean;
  /** When the current series of failed attempts began, ms since 1970; null if not all attempts fail. */
  readonly downSince: number | null;
  /** Whether the account at the provider has no credit left. */
  readonly isUnpaid: boolean;
  /** The number of endpoints that are ejected, misconfigured or out of credit; `endpoints` counts all. */
  readonly shut: number;
  readonly endpoints: number;
}

/** Counts of attempts at an endpoint since the server started. */
interface EndpointCounts {
  readonly provider: string;
  readonly key?: string | null;
  readonly state: HealthState;
  readonly attempts: ReadonlyMap<string, number>;
  readonly series: FailureSeries;
}

/** The state of a provider at the last check, with its counts. */
interface ProviderWatch extends ProviderReading {
  readonly answered: number;
  readonly failed: number;
  /** Attempts that failed since the last one that succeeded, and when the first of them failed; null for none. */
  readonly series: { readonly since: number; readonly failed: number } | null;
}

export type ProviderWatches = ReadonlyMap<string, ProviderWatch>;

/**
 * Updates the state of each provider from one check to the next. Only attempts between two checks change the state: a provider without
 * requests keeps its state. A provider is down if attempts failed, no attempt succeeded since, and an endpoint is shut or the provider caused
 * `FAILED_MIN` failures. It is down from the first of these failures: with little traffic, an endpoint is shut only minutes later.
 * @param now ms since 1970
 */
export function watchProviders(
  before: ProviderWatches,
  samples: Iterable<EndpointCounts>,
  now: number,
): ProviderWatches {
  const counted = new Map<
    string,
    { answered: number; failed: number; shut: number; unpaid: number; endpoints: number; series: FailureSeries[] }
  >();
  for (const { provider, state, attempts, series } of samples) {
    const sum = counted.getOrInsertComputed(provider, () => ({
      answered: 0,
      failed: 0,
      shut: 0,
      unpaid: 0,
      endpoints: 0,
      series: [],
    }));
    sum.endpoints++;
    sum.series.push(series);
    if (state === 'ejected' || state === 'misconfigured' || state === 'out_of_credit') sum.shut++;
    if (state === 'out_of_credit') sum.unpaid++;
    for (const [outcome, count] of attempts) {
      if (outcome === 'ok') sum.answered += count;
      else if (isProviderFailure(outcome)) sum.failed += count;
    }
  }
  return new Map(
    [...counted].map(([name, { unpaid, series, ...sum }]) => [
      name,
      {
        ...{ name, ...sum, isUnpaid: unpaid === sum.endpoints },
        ...stateOf(before.get(name), sum, failuresSinceAnswer(series), now),
      },
    ]),
  );
}

/** So many failures in a row mean that a provider is down, even if none of its endpoints is shut yet. */
const FAILED_MIN = 3;

/**
 * Returns the failures after the last answer of all endpoints; null if none is known. An endpoint that failed before that answer may have
 * had no other attempt.
 */
function failuresSinceAnswer(endpoints: readonly FailureSeries[]): ProviderWatch['series'] {
  const answeredAt = Math.max(...endpoints.map((one) => one.answeredAt));
  const failing = endpoints.filter(({ failedAt }) => failedAt >= answeredAt && failedAt !== Number.POSITIVE_INFINITY);
  if (failing.length === 0) return null;
  const failed = failing.reduce((sum, { failures }) => sum + failures, 0);
  return { since: Math.min(...failing.map(({ failedAt }) => failedAt)), failed };
}

function stateOf(
  last: ProviderWatch | undefined,
  { answered, failed, shut }: Pick<ProviderWatch, 'answered' | 'failed' | 'shut'>,
  known: ProviderWatch['series'],
  now: number,
): Pick<ProviderWatch, 'isUp' | 'downSince' | 'series'> {
  const hasAnswered = answered > (last?.answered ?? 0);
  if (hasAnswered && known === null) return { isUp: true, downSince: null, series: null };
  const { isUp = false, downSince = null, series: before = null } = (hasAnswered ? undefined : last) ?? {};
  const more = failed - (last?.failed ?? 0);
  if (more <= 0) return { isUp: isUp || hasAnswered, downSince, series: before };
  const series = {
    since: before?.since ?? known?.since ?? now,
    failed: before === null && known !== null ? known.failed : (before?.failed ?? 0) + more,
  };
  const isDown = shut > 0 || series.failed >= FAILED_MIN;
  return { isUp: (isUp || hasAnswered) && !isDown, downSince: downSince ?? (isDown ? series.since : null), series };
}

/** Returns the state of each key of a provider, from the states of its endpoints. */
export function watchKeys(
  samples: Iterable<Pick<EndpointCounts, 'provider' | 'key' | 'state'>>,
): readonly ProviderKeyReading[] {
  const keys = new Map<string, { -readonly [Key in keyof ProviderKeyReading]: ProviderKeyReading[Key] }>();
  for (const { provider, key = null, state } of samples) {
    const one = keys.getOrInsertComputed(JSON.stringify([provider, key]), () => ({
      ...{ provider, key, refused: 0, endpoints: 0 },
      state: 'unknown' as const,
    }));
    one.endpoints++;
    if (state === 'misconfigured') one.refused++;
    if (one.refused > 0) one.state = 'refused';
    else if (state === 'healthy') one.state = 'accepted';
  }
  return [...keys.values()];
}
