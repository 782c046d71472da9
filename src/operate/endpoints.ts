import { iso } from '../core/clock.ts';
import { toCredits } from '../core/credits.ts';
import type { Health } from '../upstream/health/health.ts';
import type { EndpointSample } from '../upstream/health/types.ts';
import { compareNames } from './usage-sums.ts';

/** Returns the health and speed of every endpoint of the policy in force, by provider, model and upstream model. */
export function endpointStatus(health: Pick<Health, 'samples'>): EndpointSample[] {
  return [...health.samples()].sort((a, b) => compareNames(namesOf(a), namesOf(b)));
}

const namesOf = ({ provider, model, upstream }: EndpointSample): readonly string[] => [provider, model, upstream];

const toTenths = (figure: number): number => Math.round(figure * 10) / 10;

const rounded = (quantiles: EndpointSample['ttftMs']) =>
  quantiles && { p50: toTenths(quantiles.p50), p90: toTenths(quantiles.p90) };

/** The status of endpoints as the admin API shows it, figures to one decimal. */
export function endpointsBody(endpoints: readonly EndpointSample[]) {
  return {
    object: 'list' as const,
    data: endpoints.map((one) => ({
      provider: one.provider,
      model: one.model,
      upstream: one.upstream,
      state: one.state,
      retry_at: one.retryAt === 0 ? null : iso(one.retryAt),
      ttft_ms: rounded(one.ttftMs),
      warm_ttft_ms: rounded(one.warmTtftMs),
      tokens_per_second: rounded(one.tokensPerSecond),
      attempts: Object.fromEntries(one.attempts),
      retries: one.retries,
      retries_denied: one.retriesDenied,
      ejections: one.ejections,
      broken_declaration: one.broken && {
        since: iso(one.broken.since),
        excess_credits: toCredits(one.broken.excess),
        margin_tokens: one.broken.marginTokens,
        margin_ms: one.broken.marginMs,
      },
    })),
  };
}
