import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { CallerWeights, PreparedStrategy } from '../../src/contract/strategy.ts';
import { type Decision, REJECTIONS, type Refusal } from '../../src/core/decision/decision.ts';
import { HEALTH, type HealthState, priorReadings, type Readings } from '../../src/core/decision/readings.ts';
import type { Constraint, Preference } from '../../src/core/policy/rules.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { createDecider, isRefusal } from '../../src/routing/decide.ts';
import { expectedOutput } from '../../src/routing/expected-length.ts';
import { expectedInput, inputBound } from '../../src/routing/input-tokens.ts';
import { leastWorstCase, refusalError } from '../../src/routing/refuse.ts';
import { violatedConstraints } from '../../src/routing/rejections.ts';
import { limitsOf, withRules } from '../../src/routing/rules.ts';
import { byQuality, constraint, decisionOf, facts, funds, idsOf, model, outcomeOf, price, snapshot } from './build.ts';

const place = { file: 'p.yaml', line: 1, column: 1 };
const active = (constraints: number, preferences = 0) => ({
  constraints: Array.from({ length: constraints }, (_, at) => at),
  preferences: Array.from({ length: preferences }, (_, at) => at),
});

/** Creates a model with `n` equal endpoints. */
const withEndpoints = (id: string, n: number, q: number) =>
  model(id, {
    q,
    endpoints: Array.from({ length: n }, (_, at) => ({
      ...{ provider: `p${at}`, upstream: id, regions: [], price: price(1, 4) },
    })) as never,
  });

function readingsOf(from: PolicySnapshot, states: readonly HealthState[]): Readings {
  const prior = priorReadings(from);
  const health = Uint8Array.from(prior.health, (_, slot) => HEALTH[states[slot] ?? 'healthy']);
  return { ...prior, number: 1, health, allHealthy: health.every((state) => state === 0) };
}

const keysOf = (list: Decision['ranked'] | Decision['lastResorts']): string[] =>
  list.flatMap(({ model: at, endpoints }) => endpoints.map((one) => `${at}.${one}`));

describe('last resorts', () => {
  test('last resorts are ejected endpoints, best first, none of them a fallback, independent of earlier decisions', () => {
    const states = fc.array(fc.constantFrom<HealthState>('healthy', 'ejected', 'ejected', 'cooling'), {
      minLength: 6,
      maxLength: 6,
    });
    const law = fc.property(
      fc.array(states, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 0, max: 3 }),
      (all, alternatives) => {
        const list = [withEndpoints('a', 2, 0.5), withEndpoints('b', 3, 0.9), withEndpoints('c', 1, 0.7)];
        const plain = snapshot(list);
        const from = { ...plain, gateway: { ...plain.gateway, alternatives } };
        const decider = createDecider(from);
        for (const states of all) {
          const readings = readingsOf(from, states);
          const given = { id: 7, seed: '0', strategy: byQuality, reason: 'test', readings };
          const outcome = decider.decide(facts(), given);
          expect(outcome).toEqual(createDecider(from).decide(facts(), given));
          if (isRefusal(outcome)) continue;
          const { ranked, lastResorts } = outcome;
          const slots = from.models.flatMap(({ endpoints }, m) => endpoints.map((_, at) => `${m}.${at}`));
          const stateOf = new Map(slots.map((slot, at) => [slot, states[at]!]));
          const tried = keysOf(ranked);
          const kept = keysOf(lastResorts);
          expect(kept.filter((slot) => stateOf.get(slot) !== 'ejected' || tried.includes(slot))).toEqual([]);
          // A decision has at most as many models as fallbacks; without fallbacks it has only the choice.
          const ejected = slots.filter((slot) => stateOf.get(slot) === 'ejected' && !tried.includes(slot));
          const models = [1, 2, 0].filter((m) => ejected.some((slot) => slot.startsWith(`${m}.`)));
          const meant = alternatives === 0 ? [ranked[0].model] : models.slice(0, alternatives);
          const isAnyHealthy = tried.some((slot) => stateOf.get(slot) === 'healthy');
          const expected = models
            .filter((m) => meant.includes(m))
            .flatMap((m) => ejected.filter((slot) => slot.startsWith(`${m}.`)));
          expect(kept).toEqual(isAnyHealthy ? expected : []);
        }
      },
    );
    fc.assert(law, { numRuns: 500 });
  });

  test('last resorts are only endpoints of the choice if the policy allows no alternatives', () => {
    const plain = snapshot([withEndpoints('a', 2, 0.5), withEndpoints('b', 1, 0.9)]);
    const from = { ...plain, gateway: { ...plain.gateway, alternatives: 0 } };
    const outcome = outcomeOf(from, facts(), byQuality, readingsOf(from, ['ejected', 'healthy', 'ejected']));
    expect(keysOf((outcome as Decision).ranked)).toEqual(['0.1']);
    expect(keysOf((outcome as Decision).lastResorts)).toEqual(['0.0']);
  });
});

test('health is not a reason for the rejection of a model that is rejected at all endpoints anyway', () => {
  const from = snapshot([withEndpoints('a', 2, 0.5)]);
  const request = facts({ needs: CAPABILITIES.vision.bit });
  for (const state of ['ejected', 'cooling'] as const) {
    const { rejected } = outcomeOf(from, request, byQuality, readingsOf(from, [state])) as Refusal;
    expect(rejected).toEqual([{ model: 0, rejections: REJECTIONS.capability.bit }]);
  }
});

test('a model that the request names is its own baseline, regardless of the policy’s', () => {
  const from = snapshot([model('a'), model('b')], { baseline: 1 });
  expect(decisionOf(from, facts()).baseline).toBe(1);
  expect(decisionOf(from, facts({ model: 'a', named: ['a'] })).baseline).toBe(0);
});

test('only the ratio of a caller’s weights matters, however large or small they are', () => {
  let seen: CallerWeights | undefined;
  const strategy: PreparedStrategy = {
    reason: 'test',
    score(_, out, weights) {
      seen = weights;
      out.fill(0);
    },
  };
  const from = snapshot([model('a')]);
  const given = (cost: number, quality: number): CallerWeights => {
    decisionOf(from, facts({ weights: { cost, quality } }), strategy);
    return seen!;
  };
  expect(given(0, Number.MAX_VALUE)).toEqual({ cost: 0, quality: 1 });
  expect(given(Number.MAX_VALUE, Number.MAX_VALUE)).toEqual({ cost: 0.5, quality: 0.5 });
  const weight = fc.integer({ min: 1, max: 1_000 });
  const law = fc.property(weight, weight, fc.integer({ min: -1_000, max: 1_013 }), (cost, quality, exponent) => {
    const { cost: c, quality: q } = given(cost * 2 ** exponent, quality * 2 ** exponent);
    expect(c + q).toBeCloseTo(1, 12);
    expect(c / q).toBeCloseTo(cost / quality, 9);
  });
  fc.assert(law);
});

test('preferences raise or lower a quality within 0 and 1', () => {
  for (const [worth, expected] of [
    [0.3, 0.8],
    [0.7, 1],
    [-0.2, 0.3],
    [-0.7, 0],
  ] as const) {
    const preference: Preference = { name: 'p', place, when: null, prefers: Uint32Array.of(1), worth };
    const from = snapshot([model('a', { q: 0.5 }), model('b', { q: 0.6 })], { preferences: [preference] });
    const { quality } = decisionOf(from, facts({ rules: active(0, 1) }));
    expect([...quality]).toEqual([expect.closeTo(expected, 12), 0.6]);
  }
});

describe('the ceilings of constraints', () => {
  test('the lowest of the ceilings that apply is used, in any order', () => {
    const ceiling = fc.option(fc.integer({ min: 1, max: 20 }));
    const law = fc.property(fc.array(fc.tuple(ceiling, ceiling), { maxLength: 5 }), (ceilings) => {
      const constraints = ceilings.map(([maxLatencyMs, maxCostCredits]) =>
        constraint({ maxLatencyMs, maxCostCredits }),
      );
      const limits = limitsOf(facts({ rules: active(constraints.length) }), snapshot([model('a')], { constraints }));
      const least = (of: readonly (number | null)[]) => Math.min(...of.filter((one) => one !== null));
      expect(limits.latencyMsMax).toBe(least(ceilings.map(([latency]) => latency)));
      expect(limits.costCreditsMax).toBe(least(ceilings.map(([, cost]) => cost)));
    });
    fc.assert(law, { numRuns: 300 });
  });

  test('a ceiling allows its exact value', () => {
    const [own] = decisionOf(snapshot([model('a')]), facts()).ranked;
    for (const [edge, above] of [
      [{ maxLatencyMs: own.latencyMs }, { maxLatencyMs: own.latencyMs - 1 }],
      [{ maxCostCredits: own.costCredits }, { maxCostCredits: own.costCredits - 1e-6 }],
    ]) {
      const under = (more: Partial<Constraint>) => snapshot([model('a')], { constraints: [constraint(more)] });
      const request = facts({ rules: active(1) });
      expect(idsOf(decisionOf(under(edge!), request), under(edge!))).toEqual(['a']);
      expect(outcomeOf(under(above!), request)).toMatchObject({
        rejected: [{ rejections: REJECTIONS.constraint.bit }],
      });
    }
  });
});

test('a decision expects some output even if the request states 0, unless the request allows no output', () => {
  const from = snapshot([model('a')]);
  const expected = (more: Partial<Facts>) => expectedOutput(facts(more), from, priorReadings(from));
  expect(expected({ outputTokens: 0 })).toBe(1);
  expect(expected({ outputTokensMax: 0 })).toBe(0);
});

test('each image or file without a bound reserves 10,000 tokens', () => {
  const from = snapshot([model('a', { cost: price(1, 0) })]);
  const boundOf = (images: number, unboundedMedia: number) =>
    decisionOf(from, facts({ images, unboundedMedia })).ranked[0].bound - decisionOf(from, facts()).ranked[0].bound;
  // The price is 1 millicredit per token. Each image also counts 1,000 expected tokens, within the bound of the text or in addition to it.
  expect(boundOf(1, 0)).toBe(10_000_000);
  expect(boundOf(0, 1)).toBe(10_000_000);
  expect(boundOf(1, 2)).toBe(30_000_000);
});

test('a started second of audio counts as a whole second: at the usual rate in the estimate, at the lowest rate in the bound', () => {
  const heard = model('a', { audioTokensPerSecondMax: 10 });
  for (const [audioBytes, estimated, bounded] of [
    [1, 1, 1],
    [500, 1, 1],
    [501, 1, 2],
    [16_000, 1, 32],
    [16_001, 2, 33],
  ] as const) {
    const request = facts({ audioBytes, inputTokens: 500, inputTokensMax: 2000 });
    expect(expectedInput(request, heard)).toBe(500 + 10 * estimated);
    expect(inputBound(heard, request)).toBe(2000 + 10 * bounded);
  }
});

test('an output cap is the whole number of tokens that the budget can pay for in every choice', () => {
  const from = snapshot([model('a', { cost: price(1, 4), maxOutput: 900 })]);
  const law = fc.property(
    fc.integer({ min: 1, max: 7 }),
    fc.integer({ min: 3_800, max: 20_000 }),
    (choices, millis) => {
      const [{ outputCap }] = decisionOf(from, facts({ choices, budget: millis * 1_000, outputTokensMax: 64 })).ranked;
      expect(outputCap).toBe(64);
      const request = facts({ choices, budget: millis * 1_000, outputTokensMax: 900 });
      const [{ outputCap: most }] = decisionOf(from, request).ranked;
      expect(most).toBe(Math.min(900, Math.floor((millis - 2_000) / 4 / choices)));
    },
  );
  fc.assert(law, { numRuns: 200 });
});

test('a refusal because of funds never requires more than the budget_limit of the request', () => {
  const from = snapshot([model('a')]);
  const refusal = outcomeOf(from, facts({ budget: 3_000_000, funds: funds(1_000) })) as Refusal;
  expect(refusal.group).toBe('funds');
  expect(leastWorstCase(refusal, from)).toBe(3_000_000);
});

test('Retry-After ends when the first endpoint of any model becomes available that recovers by waiting', () => {
  const from = snapshot([withEndpoints('a', 3, 0.5), withEndpoints('b', 1, 0.5)]);
  const states: HealthState[] = ['cooling', 'misconfigured', 'cooling', 'cooling'];
  const readings = { ...readingsOf(from, states), retryAt: Float64Array.of(9_000, 4_000, 7_000, 8_000) };
  const { info } = refusalError(outcomeOf(from, facts(), byQuality, readings) as Refusal, from, { now: 1_000 });
  expect(info.retryAfterMs).toBe(6_000);
  expect(info.details).toMatchObject({
    unavailable: [
      { model: 'a', state: 'cooling' },
      { model: 'b', state: 'cooling' },
    ],
  });
});

test('a rule whose condition throws applies, and the error is reported', () => {
  const error = new Error('no such label');
  const when = () => {
    throw error;
  };
  const preference: Preference = { name: 'p', place, when, prefers: Uint32Array.of(1), worth: 0.1 };
  const constraints = [constraint({ when: () => false }), constraint({ when }), constraint({ when: () => true })];
  const from = snapshot([model('a')], { constraints, preferences: [preference] });
  const time = { year: 2026, month: 11, day: 20, weekday: 5, hour: 12, minute: 0 };
  const caller = { keyId: 'key', scopes: new Set<never>(), labels: {}, models: null, limits: null, budgets: [] };
  const reported: unknown[] = [];
  const inputs = { stream: false, user: '', metadata: {}, caller, time };
  const { rules } = withRules(facts(), from, inputs, (rule, thrown) => reported.push([rule, thrown]));
  expect(rules).toEqual({ constraints: [1, 2], preferences: [0] });
  expect(reported).toEqual([
    [constraints[1], error],
    [preference, error],
  ]);
});

test('the error names the constraints that no endpoint satisfies together, without those that limit no endpoint', () => {
  const constraints = [
    constraint({ name: 'first', allows: Uint32Array.of(1) }),
    constraint({ name: 'patient', maxLatencyMs: 1e6 }),
    constraint({ name: 'second', allows: Uint32Array.of(2) }),
  ];
  const from = snapshot([withEndpoints('a', 2, 0.5)], { constraints });
  const request = facts({ rules: active(3) });
  const refusal = outcomeOf(from, request) as Refusal;
  expect(refusal.rejected).toEqual([{ model: 0, rejections: REJECTIONS.constraint.bit }]);
  expect(
    violatedConstraints(from.models[0]!, refusal.rejected[0]!.rejections, { ...refusal, snapshot: from }).map(
      ({ name }) => name,
    ),
  ).toEqual(['first', 'second']);
});
