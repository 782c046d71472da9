import type { KeyLimits } from '../../core/caller.ts';
import type { StatedLimit } from '../../core/rate-limit.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { News } from '../../store/news.ts';
import type { NewestRates, RateStore } from '../../store/rates.ts';

/** The name of the limit of reports: no limit of a policy can have it. */
export const REPORTS = 'gateway.reports_per_minute';

export const reportLimits = (perMinute: number): KeyLimits => ({
  ...{ requestsPerMinute: perMinute, tokensPerMinute: null, concurrentStreams: null },
});

/** The limits of a policy, as servers with an older one keep them. */
export const statedLimits = ({
  rateLimits,
  gateway,
}: Pick<PolicySnapshot, 'rateLimits' | 'gateway'>): StatedLimit[] => [
  ...rateLimits.map(({ name, figures }) => ({ name, figures })),
  { name: REPORTS, figures: reportLimits(gateway.reportsPerMinute) },
];

/** The limits of the newest policy that a server at the store has put in force: they hold where an older one is. State: newest limits. */
export class NewestLimits {
  readonly #rates: Pick<RateStore, 'newest'>;
  readonly #ownRank: () => number;
  #rank = 0;
  #figures: ReadonlyMap<string, KeyLimits> = new Map();

  /** @param ownRank of the terms in force here */
  constructor(rates: Pick<RateStore, 'newest'>, news: Pick<News, 'on'>, ownRank: () => number) {
    this.#rates = rates;
    this.#ownRank = ownRank;
    news.on('policy', async () => this.#take(await this.#rates.newest()));
  }

  /** By the names of limits; null while no policy is newer than the one in force here. */
  get newer(): ReadonlyMap<string, KeyLimits> | null {
    return this.#rank > this.#ownRank() ? this.#figures : null;
  }

  #take({ rank, limits }: NewestRates): void {
    this.#rank = rank;
    this.#figures = new Map(limits.map(({ name, figures }) => [name, figures]));
  }
}
