/** A provider is degraded from this share of failed attempts on. */
const FAILED_SHARE_MIN = 0.1;
/** A share of fewer attempts says nothing. */
const ATTEMPTS_MIN = 20;

/** The sums of a period from which attempts at a provider follow. */
interface AttemptSums {
  readonly requests: number;
  readonly errors: number;
  readonly failed_attempts: number;
}

/**
 * Attempts that ended with an answer or that the provider failed. Each request without an error has one attempt with an answer; what a
 * provider refuses for what the request says is neither.
 */
export const attemptsIn = ({ requests, errors, failed_attempts: failed }: AttemptSums): number =>
  requests - errors + failed;

/** A provider that fails attempts in the selected range, while it may still answer others. */
export interface DegradedProvider {
  readonly name: string;
  readonly failed: number;
  readonly attempts: number;
}

/** The degraded providers of a report by provider, the greatest share of failures first. */
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

/** A provider is called slow from so many times its usual time to the first token on: percentiles alone differ by 5 %, and days by more. */
const SLOW_FROM = 1.5;
/** Fewer answers tell nothing. */
const ANSWERS_MIN = 20;

/** A provider that answers far later than it used to. */
export interface SlowProvider {
  readonly name: string;
  /** Median time to the first token, ms. */
  readonly ttftMs: number;
  /** Of the period before. */
  readonly usualMs: number;
}

/** Of traffic by provider, what tells how fast they are. */
interface SpeedReport {
  readonly series: readonly {
    readonly value: string;
    readonly name: string;
    readonly whole: { readonly requests: number; readonly ttft_ms: { readonly p50: number | null } };
  }[];
}

/** Providers that answer far later than in the period before, the worst first. */
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

/** How many times its usual time a provider takes, to a tenth. */
export const timesSlower = ({ ttftMs, usualMs }: SlowProvider): number => Math.round((10 * ttftMs) / usualMs) / 10;
