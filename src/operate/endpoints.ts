import { iso } from '../core/clock.ts';
import { toCredits } from '../core/credits.ts';
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

/** The status of endpoints as the admin API shows it, figures to one decimal. */
export function endpointsBody(endpoints: readonly EndpointSample[]) {
  const recentOf = Map.groupBy(endpoints, ({ model }) => model);
  const shareOf = ({ model, recent }: EndpointSample): number | null => {
    const all = (recentOf.get(model) ?? []).reduce((sum, one) => sum + one.recent.total, 0);
    return all === 0 ? null : Math.round((recent.total / all) * 1_000) / 1_000;
  };
  return { object: 'list' as const, data: endpoints.map((one) => endpointBody(one, shareOf(one))) };
}

function endpointBody(sample: EndpointSample, share: number | null) {
  const { retryAt, since, breaker, declared, recent, ttftMs, warmTtftMs, tokensPerSecond, attempts, broken, ...own } =
    sample;
  return {
    ...snakeKeys(own),
    since: since === 0 ? null : iso(since),
    breaker: {
      state: breakerState(breaker.isOpen, own.state === 'ejected' && retryAt > 0),
      faults_in_a_row: breaker.faultsInARow,
      opens_at_faults_in_a_row: breaker.faultsInARowMax,
      recent_answers: breaker.answers,
      recent_faults: breaker.faults,
      opens_at_fault_share: breaker.faultShareMax,
      opens_from_answers: breaker.answersMin,
    },
    declared: declared && {
      ttft_ms: toTenths(declared.ttftMs),
      warm_ttft_ms: toTenths(Math.min(declared.ttftMs, declared.warmTtftMs)),
      tokens_per_second: toTenths(declared.outputTokensPerSecond),
      basis: declared.basis,
    },
    recent_attempts: recent.total,
    recent_faults: recent.faults,
    recent_share: share,
    retry_at: retryAt === 0 ? null : iso(retryAt),
    ttft_ms: rounded(ttftMs),
    warm_ttft_ms: rounded(warmTtftMs),
    tokens_per_second: rounded(tokensPerSecond),
    attempts: Object.fromEntries(attempts),
    broken_declaration: broken && {
      since: iso(broken.since),
      excess_credits: toCredits(broken.excess),
      margin_tokens: broken.marginTokens,
      margin_ms: broken.marginMs,
    },
  };
}

/** A breaker whose time is up lets one attempt through, whose answer closes it. */
function breakerState(isOpen: boolean, isWaiting: boolean): 'closed' | 'open' | 'half_open' {
  if (!isOpen) return 'closed';
  return isWaiting ? 'open' : 'half_open';
}
