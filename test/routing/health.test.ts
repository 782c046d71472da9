import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Decision, Refusal } from '../../src/core/decision/decision.ts';
import { HEALTH, type HealthState, priorReadings, type Readings } from '../../src/core/decision/readings.ts';
import type { ErrorCode, SignalboxError } from '../../src/core/errors.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { byQuality, facts, model, outcomeOf, price, snapshot } from './build.ts';

const NOW = 1_790_000_000_000;

/** Creates a model with one endpoint per price. */
const withEndpoints = (id: string, prices: readonly number[], q = 0.8) =>
  model(id, {
    q,
    endpoints: prices.map((cost, at) => ({
      provider: `p${at}`,
      upstream: id,
      regions: [],
      price: price(cost, cost * 4),
    })) as never,
  });

/** Returns the catalog's figures with these states by slot. Unavailable endpoints may be tried again after a minute. */
function readingsOf(from: PolicySnapshot, states: readonly HealthState[], more: Partial<Readings> = {}): Readings {
  const prior = priorReadings(from);
  const health = Uint8Array.from(prior.health, (_, slot) => HEALTH[states[slot] ?? 'healthy']);
  return {
    ...prior,
    number: 1,
    health,
    retryAt: Float64Array.from(health, (state) => (state === 0 ? 0 : NOW + 60_000)),
    allHealthy: health.every((state) => state === 0),
    ...more,
  };
}

const decided = (outcome: Decision | Refusal, from: PolicySnapshot) =>
  isRefusal(outcome)
    ? outcome.group
    : outcome.ranked.map(({ model: at, endpoints }) => `${from.models[at]!.id} ${endpoints.join()}`);
const under = (from: PolicySnapshot, states: readonly HealthState[], request = facts()) =>
  outcomeOf(from, request, byQuality, readingsOf(from, states));
const errorOf = (from: PolicySnapshot, outcome: Decision | Refusal): SignalboxError =>
  refusalError(outcome as Refusal, from, { now: NOW });

describe('the shortlist', () => {
  const two = snapshot([withEndpoints('a', [1, 2], 0.9), withEndpoints('b', [1])]);

  test('the decision skips unavailable endpoints, and models without available ones', () => {
    for (const state of ['ejected', 'cooling', 'misconfigured'] as const) {
      expect(decided(under(two, [state]), two)).toEqual(['a 1', 'b 0']);
      expect(decided(under(two, [state, state]), two)).toEqual(['b 0']);
    }
  });

  test('the decision uses the cost and latency of the first available endpoint', () => {
    const at = (states: readonly HealthState[]) => (under(two, states) as Decision).ranked[0];
    expect(at(['cooling']).costCredits).toBeCloseTo(2 * at([]).costCredits);
    const slower = readingsOf(two, ['cooling'], { ttftMs: Float64Array.of(100, 9_000, 100) });
    const { latencyMs } = (outcomeOf(two, facts(), byQuality, slower) as Decision).ranked[0];
    expect(latencyMs).toBe(9_000 + 400 * 10);
  });

  test('the decision uses ejected endpoints of every model if breakers have ejected all endpoints', () => {
    expect(decided(under(two, ['ejected', 'cooling', 'ejected']), two)).toEqual(['a 0', 'b 0']);
    const pinned = facts({ model: 'b', named: ['b'] });
    expect(decided(under(two, ['healthy', 'healthy', 'ejected'], pinned), two)).toEqual(['b 0']);
  });

  test('the request is refused with 429 and Retry-After if the endpoint that becomes available first is cooling down', () => {
    const outcome = under(two, ['cooling', 'misconfigured', 'cooling']);
    const error = errorOf(two, outcome);
    expect(error).toMatchObject({ code: 'upstream_rate_limited', status: 429 });
    expect(error.info.retryAfterMs).toBe(60_000);
    expect(error.info.details).toEqual({
      unavailable: [
        { model: 'a', state: 'cooling' },
        { model: 'b', state: 'cooling' },
      ],
    });
    expect(error.message).toContain('60 s');
  });

  test('a refused key determines the error only if no endpoint recovers by waiting, and the error then says not to retry', () => {
    expect(errorOf(two, under(two, ['misconfigured', 'cooling', 'misconfigured'])).code).toBe('upstream_rate_limited');
    for (const other of ['misconfigured', 'absent', 'out_of_credit'] as const) {
      const error = errorOf(two, under(two, [other, 'misconfigured', other]));
      expect(error).toMatchObject({ code: 'upstream_failed', status: 502, info: { retry: false } });
      expect(error.info.retryAfterMs).toBeUndefined();
      expect(error.message).toContain('refuses the API key of this gateway');
    }
  });

  test('an endpoint without credit determines the error only if no other is left, and the error then has no Retry-After', () => {
    const mixed = errorOf(two, under(two, ['out_of_credit', 'cooling', 'out_of_credit']));
    expect(mixed.code).toBe('upstream_rate_limited');
    expect(mixed.info.details).toEqual({
      unavailable: [
        { model: 'a', state: 'cooling' },
        { model: 'b', state: 'out_of_credit' },
      ],
    });
    const { code, status, info } = errorOf(two, under(two, ['out_of_credit', 'out_of_credit', 'out_of_credit']));
    expect([code, status, info.retryAfterMs]).toEqual(['upstream_out_of_credit', 503, undefined]);
  });

  test('health is the reason of a refusal before others, but only if health alone prevents it', () => {
    const states: HealthState[] = ['cooling', 'cooling'];
    const one = snapshot([withEndpoints('a', [1, 2]), model('b')]);
    const request = facts({ ceilings: { costCredits: 0.000001, latencyMs: null } });
    expect(decided(under(one, states, request), one)).toBe('constraints');
    const onlyA = facts({ allowedModels: ['a'] });
    expect(decided(under(one, states, onlyA), one)).toBe('health');
  });

  test('a model is rejected for health if only an unavailable endpoint is within a limit', () => {
    const one = snapshot([withEndpoints('a', [1, 50])]);
    const cheap = (under(one, []) as Decision).ranked[0].costCredits;
    const request = facts({ ceilings: { costCredits: cheap * 1.01, latencyMs: null } });
    expect(decided(under(one, [], request), one)).toEqual(['a 0,1']);
    expect(decided(under(one, ['cooling'], request), one)).toBe('health');
  });
});

const anyState = fc.constantFrom<HealthState>(
  'healthy',
  'healthy',
  'ejected',
  'cooling',
  'misconfigured',
  'out_of_credit',
);

/** The error if this state determines it, in the order in which states determine errors. */
const CODES: Partial<Record<HealthState, ErrorCode>> = {
  cooling: 'upstream_rate_limited',
  misconfigured: 'upstream_failed',
  out_of_credit: 'upstream_out_of_credit',
};

/** A second implementation of the rule: the available endpoints in the order of the models. */
function expected(endpoints: readonly number[], states: readonly HealthState[]): string[] {
  const left = (open: readonly HealthState[]): string[] => {
    let slot = 0;
    return endpoints.flatMap((n, at) => {
      const mine = Array.from({ length: n }, (_, index) => index).filter(() => open.includes(states[slot++]!));
      return mine.length > 0 ? [`m${at} ${mine.join()}`] : [];
    });
  };
  const healthy = left(['healthy']);
  return healthy.length > 0 ? healthy : left(['healthy', 'ejected']);
}

test('for any catalog and health, the eligible models are exactly the models that the rule of health admits', () => {
  const seen = { decided: 0, lastResort: 0, refused: 0 };
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 }),
      fc.array(anyState, { minLength: 12, maxLength: 12 }),
      (endpoints, states) => {
        const from = snapshot(endpoints.map((n, at) => withEndpoints(`m${at}`, Array(n).fill(1), 0.9 - at / 10)));
        const outcome = under(from, states);
        const left = expected(endpoints, states);
        if (left.length === 0) {
          seen.refused++;
          const all = states.slice(
            0,
            endpoints.reduce((sum, n) => sum + n),
          );
          const decisive = (['cooling', 'misconfigured', 'out_of_credit'] as const).find((one) => all.includes(one))!;
          expect(errorOf(from, outcome).code).toBe(CODES[decisive]!);
          return;
        }
        seen[
          states
            .slice(
              0,
              endpoints.reduce((a, b) => a + b),
            )
            .includes('healthy')
            ? 'decided'
            : 'lastResort'
        ]++;
        expect(decided(outcome, from)).toEqual(left);
      },
    ),
    { numRuns: 1_000 },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5);
});

test('ejected endpoints become last resorts, best first, and do not change the ranking', () => {
  const from = snapshot([withEndpoints('a', [1, 2], 0.9), withEndpoints('b', [1], 0.8), withEndpoints('c', [1], 0.95)]);
  const outcome = under(from, ['ejected', 'healthy', 'healthy', 'ejected']) as Decision;
  expect(decided(outcome, from)).toEqual(['a 1', 'b 0']);
  const resorts = outcome.lastResorts.map(({ model: at, endpoints }) => `${from.models[at]!.id} ${endpoints.join()}`);
  expect(resorts).toEqual(['c 0', 'a 0']);
  expect((under(from, []) as Decision).lastResorts).toEqual([]);
  expect((under(from, ['cooling']) as Decision).lastResorts).toEqual([]);
});
