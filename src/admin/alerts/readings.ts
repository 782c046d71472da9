import type { HealthState } from '../../core/decision/readings.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { AlertSubject } from '../../core/people/alert.ts';
import type { CachedEach } from '../../core/policy/alerts.ts';
import type { InstanceReport } from '../../store/instance-reports.ts';

/** A window of a budget for one subject. Times are ms since 1970. */
export interface BudgetWindowReading {
  readonly name: string;
  /** The subject, if the budget has a window for `each` subject; '' for a budget with only one window. */
  readonly subject: string;
  /** The name of the team or user; null for other subjects. */
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

/** The measurements of this server that alert rules check. */
export interface AlertReadings {
  /** The budgets are computed only when a rule needs them, because there may be many budgets. */
  budgets(): readonly BudgetWindowReading[];
  keys(): readonly ExpiringKey[];
  readonly providers: readonly ProviderReading[];
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
  readonly state: HealthState;
  readonly attempts: ReadonlyMap<string, number>;
}

/** The state of a provider at the last check, with its counts. */
interface ProviderWatch extends ProviderReading {
  readonly answered: number;
  readonly failed: number;
}

export type ProviderWatches = ReadonlyMap<string, ProviderWatch>;

/**
 * Updates the state of each provider from one check to the next. Only attempts between two checks change the state: a provider without
 * requests keeps its state. A provider is down from the first check at which attempts had failed, no attempt had succeeded, and an endpoint
 * was shut.
 * @param now ms since 1970
 */
export function watchProviders(
  before: ProviderWatches,
  samples: Iterable<EndpointCounts>,
  now: number,
): ProviderWatches {
  const counted = new Map<
    string,
    { answered: number; failed: number; shut: number; unpaid: number; endpoints: number }
  >();
  for (const { provider, state, attempts } of samples) {
    const sum = counted.getOrInsertComputed(provider, () => ({
      answered: 0,
      failed: 0,
      shut: 0,
      unpaid: 0,
      endpoints: 0,
    }));
    sum.endpoints++;
    if (state === 'ejected' || state === 'misconfigured' || state === 'out_of_credit') sum.shut++;
    if (state === 'out_of_credit') sum.unpaid++;
    for (const [outcome, count] of attempts) {
      if (outcome === 'ok') sum.answered += count;
      else if (outcome !== 'dropped') sum.failed += count;
    }
  }
  return new Map(
    [...counted].map(([name, { unpaid, ...sum }]) => [
      name,
      { name, ...sum, isUnpaid: unpaid === sum.endpoints, ...stateOf(before.get(name), sum, now) },
    ]),
  );
}

function stateOf(
  last: ProviderWatch | undefined,
  { answered, failed, shut }: Pick<ProviderWatch, 'answered' | 'failed' | 'shut'>,
  now: number,
): Pick<ProviderWatch, 'isUp' | 'downSince'> {
  if (answered > (last?.answered ?? 0)) return { isUp: true, downSince: null };
  if (failed > (last?.failed ?? 0) && shut > 0) return { isUp: false, downSince: last?.downSince ?? now };
  return { isUp: last?.isUp ?? false, downSince: last?.downSince ?? null };
}
