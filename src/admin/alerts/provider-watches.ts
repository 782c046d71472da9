import type { HealthState } from '../../core/decision/readings.ts';
import { type FailureSeries, isProviderFailure } from '../../core/request/failure-kinds.ts';
import type { ProviderKeyReading } from '../../core/tables/alerts/key-refused.ts';
import type { ProviderReading } from '../../core/tables/alerts/provider-down.ts';

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
