import { iso } from '../core/clock.ts';
import type { EndpointSample, Health } from '../upstream/health/health.ts';

/** Returns the health and speed of every endpoint of the policy in force, by provider, model and upstream model. */
export function endpointStatus(health: Pick<Health, 'samples'>): EndpointSample[] {
  return [...health.samples()].sort((a, b) => compare(namesOf(a), namesOf(b)));
}

const namesOf = ({ provider, model, upstream }: EndpointSample): readonly string[] => [provider, model, upstream];

function compare(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((name, i) => name !== b[i]);
  if (at < 0) return 0;
  return a[at]! < b[at]! ? -1 : 1;
}

/** The status of endpoints as the admin API shows it. */
export function endpointsBody(endpoints: readonly EndpointSample[]) {
  return {
    object: 'list' as const,
    data: endpoints.map((one) => ({
      provider: one.provider,
      model: one.model,
      upstream: one.upstream,
      state: one.state,
      retry_at: one.retryAt === 0 ? null : iso(one.retryAt),
      ttft_ms: one.ttftMs,
      warm_ttft_ms: one.warmTtftMs,
      tokens_per_second: one.tokensPerSecond,
      attempts: Object.fromEntries(one.attempts),
      retries: one.retries,
      retries_denied: one.retriesDenied,
      ejections: one.ejections,
    })),
  };
}
