import fc from 'fast-check';
import type { PreparedStrategy } from '../../src/contract/strategy.ts';
import { HEALTH, priorReadings, type Readings, slotCount } from '../../src/core/decision/readings.ts';
import { type Constraint, emptyBits, type Preference, setBit } from '../../src/core/policy/rules.ts';
import type { Model, PolicySnapshot, Selector } from '../../src/core/policy/snapshot.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import type { DecisionContext } from '../../src/routing/decide.ts';
import { GENERAL, snapshot, usual, withOrders } from './build.ts';
import { worlds } from './worlds.ts';

export const place = (line: number) => ({ file: 'rules.yaml', line, column: 1 });

export function bitsOf(size: number, chosen: readonly number[]): Uint32Array {
  const bits = emptyBits(size);
  for (const at of chosen) if (at < size) setBit(bits, at);
  return bits;
}

const some = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null, freq: 2 });
/** Bit sets with most of a dozen slots or models set. */
const many = fc.subarray([...Array(12).keys()], { minLength: 10 });
const constraints = fc.array(
  fc.record({
    slots: some(many),
    maxLatencyMs: some(fc.integer({ min: 5_000, max: 90_000 })),
    maxCostCredits: some(fc.double({ min: 2, max: 40, noNaN: true })),
  }),
  { maxLength: 2, size: 'xsmall' },
);
const preferences = fc.array(
  fc.record({ prefers: fc.subarray([0, 1, 2, 3, 4, 5]), worth: fc.constantFrom(-1, -0.2, 0.1, 0.5) }),
  { maxLength: 2 },
);
const states = fc.array(fc.constantFrom(0, 0, 0, 0, HEALTH.ejected, HEALTH.cooling, HEALTH.misconfigured), {
  minLength: 12,
  maxLength: 12,
});
const shares = fc.constantFrom<Facts['mix']>(
  [],
  [
    { task: 'coding', share: 0.6 },
    { task: 'general', share: 0.4 },
  ],
);
const cached = fc.uniqueArray(
  fc.record({ model: fc.constantFrom('m0', 'm1', 'm2', 'm3'), tokens: fc.constantFrom(50, 400, 9000) }),
  { selector: (one) => one.model, maxLength: 3 },
);
const seeds = fc.integer({ min: 0 }).map((bits) => bits.toString(16));
const strategies = fc.constantFrom('auto', 'auto-fast', 'auto-cheap', 'weighted', 'broken', 'picky');

const BROKEN: PreparedStrategy = {
  reason: 'broken',
  score() {
    throw new Error('no');
  },
};
/** A strategy that scores only free models. */
export const PICKY: PreparedStrategy = {
  reason: 'picky',
  score({ n, quality, cost }, out) {
    for (let i = 0; i < n; i++) out[i] = cost[i]! > 1 ? Number.NEGATIVE_INFINITY : quality[i]!;
  },
};

interface Case {
  readonly from: PolicySnapshot;
  readonly request: Facts;
  readonly given: DecisionContext;
}

/** A selector without an order: its strategy scores each request. */
const SCORING: Selector = { name: 'scoring', strategy: 'weighted', options: {}, allows: null, vectorSpace: null };

function strategyNamed(name: string): PreparedStrategy {
  if (name === 'broken') return BROKEN;
  if (name === 'picky') return PICKY;
  return usual(name);
}

/** Returns readings with these states, in which every second endpoint is slower than the catalog says. */
function readingsOf(from: PolicySnapshot, of: readonly number[]): Readings {
  const prior = priorReadings(from);
  const health = prior.health.map((_, slot) => of[slot] ?? 0);
  return {
    ...prior,
    number: 9,
    health,
    retryAt: Float64Array.from(health, (state) => (state === 0 ? 0 : 1_800_000_000_000)),
    allHealthy: health.every((state) => state === 0),
    ttftMs: prior.ttftMs.map((ms, slot) => (slot % 2 === 0 ? ms : 2 * ms)),
    warmTtftMs: prior.warmTtftMs.map((ms) => ms / 3),
    outputTokens: Float64Array.of(300, 700),
  };
}

/** Generates all inputs of a decision. */
export const cases: fc.Arbitrary<Case> = fc
  .record({
    world: worlds,
    constraints,
    preferences,
    filter: some(fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 5 })),
    generous: fc.constantFrom(false, true, true),
    named: fc.constantFrom(0, 0, 0, 0, 0, 1, 2, 3),
    weights: some(fc.record({ cost: fc.constantFrom(0, 1, 3), quality: fc.constantFrom(1, 2) })),
    free: fc.option(some(fc.integer({ min: 1, max: 50_000_000 })), { nil: undefined }),
    states,
    mix: shares,
    cached,
    strategy: strategies,
    tier: fc.constantFrom(undefined, { name: 'usual', hard: 0.1 } as const, { name: 'strong', hard: 0.9 } as const),
    isEscalated: fc.boolean(),
    isTaskStated: fc.boolean(),
    alternatives: fc.constantFrom(0, 1, 3),
    baseline: some(fc.constant(0)),
    seed: seeds,
  })
  .map(({ world, filter, generous, named, strategy, alternatives, free, seed, ...more }) => {
    const slots = slotCount(world.snapshot.models);
    const models = world.snapshot.models.map((one) => ({ ...one, quality: Float64Array.of(one.quality[0]!, 0.4) }));
    const from = withOrders(
      snapshot(models, {
        gateway: { ...world.snapshot.gateway, alternatives },
        tasks: [GENERAL, { ...GENERAL, name: 'coding', expectedOutputTokens: 900 }],
        taskIndex: new Map([
          ['general', 0],
          ['coding', 1],
        ]),
        baseline: more.baseline,
        constraints: more.constraints.map(
          ({ slots: allowed, ...ceilings }, at): Constraint => ({
            name: `c${at}`,
            place: place(at + 1),
            when: null,
            allows: allowed && bitsOf(slots, allowed),
            ...ceilings,
          }),
        ),
        preferences: more.preferences.map(
          ({ prefers, worth }, at): Preference => ({
            name: `p${at}`,
            place: place(at + 10),
            when: null,
            prefers: bitsOf(models.length, prefers),
            worth,
          }),
        ),
        selectors: new Map(
          [...world.snapshot.selectors.values(), SCORING].map((one) => [
            one.name,
            { ...one, allows: filter && bitsOf(models.length, filter) },
          ]),
        ),
      }),
    );
    const request: Facts = {
      ...world.facts,
      ...(generous && {
        needs: 0,
        languages: [],
        ceilings: { costCredits: null, latencyMs: null },
        allowedModels: null,
      }),
      model: from.selectors.has(strategy) ? strategy : SCORING.name,
      ...(named > 0 && namedIn(models.slice(0, named).reverse())),
      weights: more.weights,
      mix: more.mix,
      task: more.mix[0]?.task ?? 'general',
      ...(more.isTaskStated && { isTaskStated: true }),
      ...(more.tier && { tier: more.tier }),
      ...(more.tier && more.isEscalated && { escalation: { signal: 'stuck_agent', turnsAgo: 1 } }),
      cached: more.cached,
      funds: free === undefined ? null : { free },
      rules: { constraints: more.constraints.map((_, at) => at), preferences: more.preferences.map((_, at) => at) },
    };
    const readings = readingsOf(from, more.states);
    return {
      from,
      request,
      given: {
        id: 7,
        seed,
        reason: 'test',
        // A caller's own weights score the models of each selector.
        strategy: strategyNamed(more.weights !== null && from.selectors.has(strategy) ? 'weighted' : strategy),
        readings,
      },
    };
  });

/** A request that names these models, in this order. */
const namedIn = (models: readonly Model[]): Pick<Facts, 'model' | 'named'> => ({
  model: models[0]!.id,
  named: models.map(({ id }) => id),
});
