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
