import type { KeyLimits } from '../../core/people/caller.ts';
import type { StatedLimit } from '../../core/policy/rate-limit.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { News } from '../../store/news.ts';
import type { NewestRates, RateStore } from '../../store/rates.ts';

/** The name of the limit for reports. No limit of a policy can have this name. */
export const REPORTS = 'gateway.reports_per_minute';

export const reportLimits = (perMinute: number): KeyLimits => ({
  requestsPerMinute: perMinute,
  tokensPerMinute: null,
  concurrentStreams: null,
});

/** The limits of a policy, in the form in which servers with an older policy apply them. */
export const statedLimits = ({
  rateLimits,
  gateway,
}: Pick<PolicySnapshot, 'rateLimits' | 'gateway'>): StatedLimit[] => [
  ...rateLimits.map(({ name, figures }) => ({ name, figures })),
  { name: REPORTS, figures: reportLimits(gateway.reportsPerMinute) },
];

/**
 * The limits of the newest policy that any server of the store has activated. The limits of the newest policy also apply on servers whose
 * policy is older. State: newest limits.
 */
export class NewestLimits {
  readonly #rates: Pick<RateStore, 'newest'>;
  readonly #ownRank: () => number;
  #rank = 0;
  #figures: ReadonlyMap<string, KeyLimits> = new Map();

  /** @param ownRank the rank of the terms that are active on this server */
  constructor(rates: Pick<RateStore, 'newest'>, news: Pick<News, 'on'>, ownRank: () => number) {
    this.#rates = rates;
    this.#ownRank = ownRank;
    news.on('policy', async () => this.#take(await this.#rates.newest()));
  }

  /** The newer limits by name; null if no server has a newer policy than this one. */
  get newer(): ReadonlyMap<string, KeyLimits> | null {
    return this.#rank > this.#ownRank() ? this.#figures : null;
  }

  #take({ rank, limits }: NewestRates): void {
    this.#rank = rank;
    this.#figures = new Map(limits.map(({ name, figures }) => [name, figures]));
  }
}
