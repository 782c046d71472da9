import { MINUTE_MS } from '../../core/clock.ts';
import type { Microcredits } from '../../core/credits.ts';
import type { HealthState } from '../../core/readings.ts';
import type { InstanceReport } from '../../store/instance-reports.ts';

/** A window of a budget for one subject. Times are ms since 1970. */
export interface BudgetWindowReading {
  readonly name: string;
  /** Of its `each`; '' for one window. */
  readonly subject: string;
  /** How that team or user is called; null for others. */
  readonly called: string | null;
  readonly limit: Microcredits;
  readonly spent: Microcredits;
  readonly starts: number;
  /** Infinity for never. */
  readonly ends: number;
  /** The sum that will be spent at its end at the present pace; null while that cannot be told. */
  readonly forecast: Microcredits | null;
}

/** A key that expires and is of use. Times are ms since 1970. */
export interface ExpiringKey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The last refusal of an edit of the policy; null where the last attempt was not refused. */
export interface PolicyRefusal {
  /** One sentence. */
  readonly message: string;
  /** `file:line:column code: message` of the first error; null for none. */
  readonly first: string | null;
  /** ms since 1970 */
  readonly time: number;
}

/** Servers at one database that run different policies. */
export interface PolicySplit {
  /** Since when, ms since 1970. */
  readonly since: number;
  readonly instances: readonly Pick<InstanceReport, 'name' | 'revision' | 'error'>[];
}

/** Tokens of prompts, and those of them that providers had in their caches. */
export interface CachedShare {
  readonly input: number;
  readonly cached: number;
}

/** What this instance knows of the house, by which rules are judged. */
export interface AlertReadings {
  /** Made where a rule asks for them, as there may be many. */
  budgets(): readonly BudgetWindowReading[];
  keys(): readonly ExpiringKey[];
  readonly providers: readonly ProviderReading[];
  readonly refusal: PolicyRefusal | null;
  /** Null while all servers run one policy. */
  readonly split: PolicySplit | null;
  /** The tokens of the last so many ms. */
  tokensWithin(windowMs: number): CachedShare;
}

export interface ProviderReading {
  readonly name: string;
  /** Whether it answered when it was last asked. */
  readonly isUp: boolean;
  /** Since when every attempt has failed, ms since 1970; null where that is not so. */
  readonly downSince: number | null;
  /** Whether its account has no credit left. */
  readonly isUnpaid: boolean;
  /** Endpoints that are shut, and all. */
  readonly shut: number;
  readonly endpoints: number;
}

/** The counts of an endpoint since the start. */
interface EndpointCounts {
  readonly provider: string;
  readonly state: HealthState;
  readonly attempts: ReadonlyMap<string, number>;
}

/** How a provider was at a look, with its counts. */
interface ProviderWatch extends ProviderReading {
  readonly answered: number;
  readonly failed: number;
}

export type ProviderWatches = ReadonlyMap<string, ProviderWatch>;

/**
 * Follows how providers do from one look to the next. Only attempts between looks tell: a provider that nobody asks stays as it
 * was. It is down since the first look at which attempts had failed, none had succeeded and an endpoint was shut.
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

/** The longest window of a rule. */
const MINUTES_MAX = 1_440;

/** The tokens of prompts of the last day, by the minute. State: cached tokens. */
export class CachedTokenCounts {
  readonly #minutes = new Map<number, { input: number; cached: number }>();

  /** @param now ms since 1970 */
  add(input: number, cached: number, now: number): void {
    const minute = Math.floor(now / MINUTE_MS);
    const sum = this.#minutes.get(minute) ?? this.#begin(minute);
    sum.input += input;
    sum.cached += cached;
  }

  /** @param now ms since 1970 */
  within(windowMs: number, now: number): CachedShare {
    const sum = { input: 0, cached: 0 };
    for (const [minute, { input, cached }] of this.#minutes) {
      if (minute * MINUTE_MS <= now - windowMs) continue;
      sum.input += input;
      sum.cached += cached;
    }
    return sum;
  }

  #begin(minute: number) {
    for (const one of this.#minutes.keys()) if (one <= minute - MINUTES_MAX) this.#minutes.delete(one);
    const sum = { input: 0, cached: 0 };
    this.#minutes.set(minute, sum);
    return sum;
  }
}
