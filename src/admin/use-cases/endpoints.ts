import type { Health } from '../../providers/health/health.ts';
import type { EndpointSample } from '../../providers/health/types.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { compareNames } from './usage-sums.ts';

/**
 * Returns the health and speed of every endpoint of the active policy, sorted by provider, model and upstream model. The figures have one
 * decimal.
 */
export function endpointStatus(by: Principal, health: Pick<Health, 'samples'>) {
  checkAction(by.caller, 'endpoints.read');
  const endpoints = [...health.samples()].sort((a, b) => compareNames(namesOf(a), namesOf(b)));
  const recentOf = Map.groupBy(endpoints, ({ model }) => model);
  const shareOf = ({ model, recent }: EndpointSample): number | null => {
    const all = (recentOf.get(model) ?? []).reduce((sum, one) => sum + one.recent.total, 0);
    return all === 0 ? null : toThousandths(recent.total / all);
  };
  return endpoints.map((one) => endpointOf(one, shareOf(one)));
}

const namesOf = ({ provider, model, upstream, key = '' }: EndpointSample): readonly string[] => [
  provider,
  model,
  upstream,
  key,
];

const toThousandths = (share: number): number => Math.round(share * 1_000) / 1_000;
const toTenths = (figure: number): number => Math.round(figure * 10) / 10;

const rounded = (quantiles: EndpointSample['ttftMs']) =>
  quantiles && { p50: toTenths(quantiles.p50), p90: toTenths(quantiles.p90) };

function endpointOf(sample: EndpointSample, recentShare: number | null) {
  const { retryAt, since, breaker, declared, recent, prompts, ttftMs, warmTtftMs, tokensPerSecond, attempts, limits } =
    sample;
  return {
    ...sample,
    key: sample.key ?? null,
    since: since === 0 ? null : since,
    breaker: { ...breaker, state: breakerState(breaker.isOpen, sample.state === 'ejected' && retryAt > 0) },
    declared: declared && {
      ttftMs: toTenths(declared.ttftMs),
      warmTtftMs: toTenths(Math.min(declared.ttftMs, declared.warmTtftMs)),
      outputTokensPerSecond: toTenths(declared.outputTokensPerSecond),
      basis: declared.basis,
    },
    recentAttempts: recent.total,
    recentFaults: recent.faults,
    recentShare,
    cachedShare: prompts.tokens === 0 ? null : toThousandths(prompts.cached / prompts.tokens),
    retryAt: retryAt === 0 ? null : retryAt,
    ttftMs: rounded(ttftMs),
    warmTtftMs: rounded(warmTtftMs),
    tokensPerSecond: rounded(tokensPerSecond),
    limits: limits.map((limit) => ({ ...limit, used: toThousandths(limit.used) })),
    attempts: Object.fromEntries(attempts),
  };
}

/** After its pause, a circuit breaker allows one attempt, and a complete answer closes the breaker. */
function breakerState(isOpen: boolean, isWaiting: boolean): 'closed' | 'open' | 'half_open' {
  if (!isOpen) return 'closed';
  return isWaiting ? 'open' : 'half_open';
}
