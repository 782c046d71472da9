/** A provider is degraded if at least this share of its attempts failed. */
const FAILED_SHARE_MIN = 0.1;
/** With fewer attempts than this number, a share of failures is not meaningful. */
const ATTEMPTS_MIN = 20;

/** The figures of a period from which the number of attempts is computed. */
interface AttemptSums {
  readonly requests: number;
  readonly errors: number;
  readonly failed_attempts: number;
}

/**
 * The number of attempts at a provider that ended with an answer or with a failure of the provider. Each request without an error has one
 * attempt with an answer. Requests that a provider refuses because of their content are not counted.
 */
export const attemptsIn = ({ requests, errors, failed_attempts: failed }: AttemptSums): number =>
  requests - errors + failed;

/** A provider with many failed attempts in the selected range. A degraded provider may still answer other requests. */
export interface DegradedProvider {
  readonly name: string;
  readonly failed: number;
  readonly attempts: number;
}

/** The degraded providers of a report by provider. The largest share of failures comes first. */
export function degradedProviders(
  report: { readonly series: readonly { readonly value: string; readonly whole: AttemptSums }[] } | null,
): readonly DegradedProvider[] {
  return (report?.series ?? [])
    .map(({ value, whole }) => ({ name: value, failed: whole.failed_attempts, attempts: attemptsIn(whole) }))
    .filter(
      ({ name, failed, attempts }) => name !== '' && attempts >= ATTEMPTS_MIN && failed >= FAILED_SHARE_MIN * attempts,
    )
    .toSorted((one, other) => other.failed / other.attempts - one.failed / one.attempts);
}

/** `12 of 80 attempts failed`. */
export const degradedText = ({ failed, attempts }: DegradedProvider): string =>
  `${failed} of ${attempts} attempts failed`;

/**
 * A provider is slow from this ratio of its current to its usual time to the first token. Measured percentiles alone vary by 5 %, and days
 * by more.
 */
const SLOW_FROM = 1.5;
/** With fewer answers than this number, a median is not meaningful. */
const ANSWERS_MIN = 20;

/** A provider that answers much later than in the period before. */
export interface SlowProvider {
  readonly name: string;
  /** Median time to the first token, ms. */
  readonly ttftMs: number;
  /** The median of the period before, ms. */
  readonly usualMs: number;
}

/** The figures of a traffic report by provider that show speed. */
interface SpeedReport {
  readonly series: readonly {
    readonly value: string;
    readonly name: string;
    readonly whole: { readonly requests: number; readonly ttft_ms: { readonly p50: number | null } };
  }[];
}

/** Providers that answer much later than in the period before, the worst first. */
export function slowProviders(now: SpeedReport | null, before: SpeedReport | null): readonly SlowProvider[] {
  const usual = new Map(before?.series.map(({ value, whole }) => [value, whole]));
  return (now?.series ?? [])
    .flatMap(({ value, name, whole }) => {
      const then = usual.get(value);
      const [ttftMs, usualMs] = [whole.ttft_ms.p50, then?.ttft_ms.p50 ?? null];
      if (value === '' || !then || ttftMs === null || usualMs === null || usualMs <= 0) return [];
      const isSlow = ttftMs >= SLOW_FROM * usualMs && Math.min(whole.requests, then.requests) >= ANSWERS_MIN;
      return isSlow ? [{ name, ttftMs, usualMs }] : [];
    })
    .toSorted((one, other) => other.ttftMs / other.usualMs - one.ttftMs / one.usualMs);
}

/** The ratio of a provider's current to its usual time to the first token, with one decimal. */
export const timesSlower = ({ ttftMs, usualMs }: SlowProvider): number => Math.round((10 * ttftMs) / usualMs) / 10;
