import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Model, PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { CAPABILITIES, CAPABILITY_NAMES } from '../../src/core/request/capability.ts';
import { rejectionsAgainst } from '../../src/routing/rejections.ts';
import { effort } from '../deep/effort.ts';
import { decisionOf, facts, model, outcomeOf, price, snapshot } from './build.ts';

const { runs, seed, proved } = effort('capabilities', 100, 20_000);
const { tools, seed: takesSeed, penalties } = CAPABILITIES;

/** Creates a model with these endpoints. The model combines the capabilities of its endpoints, as the loader does. */
function offered(id: string, each: readonly [number, ...number[]], q = 0.5): Model {
  const [first, ...others] = each.map((capabilities, at) => ({
    provider: `p${at}`,
    upstream: 'u',
    regions: [],
    price: price(1 + at, 4),
    capabilities,
  }));
  const capabilities = each.reduce((all, one) => all | one, 0);
  return model(id, { q, capabilities, endpoints: [first!, ...others] });
}

describe('a request', () => {
  test('a model is tried and priced only at endpoints with the needed capabilities', () => {
    const from = snapshot([offered('m', [tools.bit, tools.bit | takesSeed.bit])]);
    expect(decisionOf(from, facts({ needs: tools.bit })).ranked[0]).toMatchObject({ endpoints: [0, 1] });
    const [only] = decisionOf(from, facts({ needs: takesSeed.bit })).ranked;
    expect(only).toMatchObject({ endpoints: [1], costCredits: 2 * 0.5 + 4 * 0.4 });
  });

  test('a model is refused with a reason if no single endpoint has all needed capabilities', () => {
    const from = snapshot([offered('m', [takesSeed.bit, penalties.bit])]);
    const request = facts({ needs: takesSeed.bit | penalties.bit });
    const refusal = outcomeOf(from, request);
    if (!('rejected' in refusal)) throw new Error('not refused');
    const [{ rejections }] = refusal.rejected as [(typeof refusal.rejected)[0]];
    expect(rejectionsAgainst(from.models[0]!, rejections, { ...refusal, snapshot: from })).toMatchObject([
      { kind: 'capability', text: 'none of its endpoints has all of seed, penalties' },
    ]);
  });
});

const bits = fc
  .subarray(CAPABILITY_NAMES.slice(0, 6))
  .map((names) => names.reduce((all, one) => all | CAPABILITIES[one].bit, 0));
const worlds = fc.record({
  models: fc.array(fc.tuple(fc.array(bits, { minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 9 })), {
    minLength: 1,
    maxLength: 5,
  }),
  needs: bits,
});
type Decide = (from: PolicySnapshot, needs: number) => ReturnType<typeof outcomeOf>;

/** Every endpoint of a decision has the needed capabilities, and no model with such an endpoint is rejected for a capability. */
const law = (decide: Decide) =>
  fc.property(worlds, ({ models, needs }) => {
    const from = snapshot(models.map(([each, q], at) => offered(`m${at}`, each as [number], q / 10)));
    const can = (at: number, endpoint: number) => (needs & ~from.models[at]!.endpoints[endpoint]!.capabilities) === 0;
    const outcome = decide(from, needs);
    const able = from.models.filter(({ endpoints }, at) => endpoints.some((_, endpoint) => can(at, endpoint)));
    if ('rejected' in outcome) {
      expect(able).toEqual([]);
      return;
    }
    expect(outcome.eligible).toBe(able.length);
    for (const { model: at, endpoints } of outcome.ranked) {
      const all = from.models[at]!.endpoints.map((_, endpoint) => endpoint);
      expect(endpoints).toEqual(all.filter((endpoint) => can(at, endpoint)));
    }
  });

test(`an endpoint serves only requests whose needs it satisfies (seed ${seed})`, () => {
  fc.assert(
    law((from, needs) => outcomeOf(from, facts({ needs }))),
    { seed, numRuns: runs },
  );
  proved('any catalog, any needs: every endpoint of a decision can do all of them, and none that can is left out');
});

test.each<[string, Decide]>([
  [
    'looks at models and not at endpoints',
    (from, needs) =>
      outcomeOf(
        withEverywhere(from, (one) => one.capabilities),
        facts({ needs }),
      ),
  ],
  ['asks for one thing less', (from, needs) => outcomeOf(from, facts({ needs: needs & (needs - 1) }))],
  [
    'wants every endpoint to be able',
    (from, needs) =>
      outcomeOf(
        withEverywhere(from, ({ endpoints }) => endpoints.reduce((all, { capabilities }) => all & capabilities, -1)),
        facts({ needs }),
      ),
  ],
])('the test detects a shortlist that %s', (_, mutant) => {
  expect(fc.check(law(mutant), { seed, numRuns: 2_000, endOnFailure: true }).failed).toBeTrue();
});

/** Returns the same catalog with other capabilities, which are the same at each endpoint of a model. */
function withEverywhere(from: PolicySnapshot, of: (one: Model) => number): PolicySnapshot {
  return snapshot(from.models.map((one) => ({ ...one, capabilities: of(one), endpoints: alike(one, of(one)) })));
}

function alike({ endpoints: [first, ...others] }: Model, capabilities: number): Model['endpoints'] {
  return [{ ...first, capabilities }, ...others.map((one) => ({ ...one, capabilities }))];
}
