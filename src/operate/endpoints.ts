import { iso } from '../core/clock.ts';
import { toCredits } from '../core/credits.ts';
import type { Model } from '../core/snapshot.ts';
import type { Health } from '../upstream/health/health.ts';
import type { EndpointSample } from '../upstream/health/types.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { snakeKeys } from './snake-keys.ts';
import { compareNames } from './usage-sums.ts';

/** Returns the health and speed of every endpoint of the policy in force, by provider, model and upstream model. */
export function endpointStatus(by: Principal, health: Pick<Health, 'samples'>): EndpointSample[] {
  checkAction(by.caller, 'endpoints.read');
  return [...health.samples()].sort((a, b) => compareNames(namesOf(a), namesOf(b)));
}

const namesOf = ({ provider, model, upstream }: EndpointSample): readonly string[] => [provider, model, upstream];

const toTenths = (figure: number): number => Math.round(figure * 10) / 10;

const rounded = (quantiles: EndpointSample['ttftMs']) =>
  quantiles && { p50: toTenths(quantiles.p50), p90: toTenths(quantiles.p90) };

/** The speed that a policy declares of a model. */
type DeclaredSpeed = Pick<Model, 'id' | 'latency'>;

function declaredBody(models: readonly DeclaredSpeed[], id: string) {
  const latency = models.find((model) => model.id === id)?.latency;
  return (
    latency && {
      ttft_ms: latency.ttftMs,
      warm_ttft_ms: latency.warmTtftMs,
      tokens_per_second: latency.outputTokensPerSecond,
      basis: latency.basis,
    }
  );
}

/**
 * The status of endpoints as the admin API shows it, figures to one decimal.
 * @param models of the policy in force, which says how fast they should be
 */
export const endpointsBody = (endpoints: readonly EndpointSample[], models: readonly DeclaredSpeed[]) => ({
  object: 'list' as const,
  data: endpoints.map(({ retryAt, ttftMs, warmTtftMs, tokensPerSecond, attempts, broken, ...own }) => ({
    ...snakeKeys(own),
    retry_at: retryAt === 0 ? null : iso(retryAt),
    ttft_ms: rounded(ttftMs),
    warm_ttft_ms: rounded(warmTtftMs),
    tokens_per_second: rounded(tokensPerSecond),
    declared: declaredBody(models, own.model) ?? null,
    attempts: Object.fromEntries(attempts),
    broken_declaration: broken && {
      since: iso(broken.since),
      excess_credits: toCredits(broken.excess),
      margin_tokens: broken.marginTokens,
      margin_ms: broken.marginMs,
    },
  })),
});
