import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { PreparedStrategy } from '../../src/contract/strategy.ts';
import { CAPABILITIES } from '../../src/core/capability.ts';
import { toCredits } from '../../src/core/credits.ts';
import type { Facts } from '../../src/core/facts.ts';
import { HEALTH, priorReadings, type Readings, slotCount } from '../../src/core/readings.ts';
import { type Constraint, emptyBits, type Preference, setBit } from '../../src/core/rules.ts';
import type { PolicySnapshot } from '../../src/core/snapshot.ts';
import { certify } from '../../src/routing/certify.ts';
import { type Circumstances, createDecider, isRefusal } from '../../src/routing/decide.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { byQuality, facts, GENERAL, model, price, snapshot, usual } from './build.ts';
import { worlds } from './worlds.ts';

const place = (line: number) => ({ file: 'rules.yaml', line, column: 1 });

function bitsOf(size: number, chosen: readonly number[]): Uint32Array {
  const bits = emptyBits(size);
  for (const at of chosen) if (at < size) setBit(bits, at);
  return bits;
}

const some = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null, freq: 2 });
/** Most of a dozen slots, or of half a dozen models. */
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
const strategies = fc.constantFrom('auto', 'auto-fast', 'auto-cheap', 'weighted', 'broken', 'picky');

const BROKEN: PreparedStrategy = {
  reason: 'broken',
  score() {
    throw new Error('no');
  },
};
/** Wants nothing that costs. */
const PICKY: PreparedStrategy = {
  reason: 'picky',
  score({ n, quality, cost }, out) {
    for (let i = 0; i < n; i++) out[i] = cost[i]! > 1 ? Number.NEGATIVE_INFINITY : quality[i]!;
  },
};

interface Case {
  readonly from: PolicySnapshot;
  readonly asked: Facts;
  readonly given: Circumstances;
}

function strategyNamed(name: string): PreparedStrategy {
  if (name === 'broken') return BROKEN;
  if (name === 'picky') return PICKY;
  return usual(name);
}

/** A frame with these states, and every second endpoint slower than its catalog says. */
function frameOf(from: PolicySnapshot, of: readonly number[]): Readings {
  const prior = priorReadings(from);
  const health = prior.health.map((_, slot) => of[slot] ?? 0);
  return {
    ...prior,
    frame: 9,
    health,
    retryAt: Float64Array.from(health, (state) => (state === 0 ? 0 : 1_800_000_000_000)),
    allHealthy: health.every((state) => state === 0),
    ttftMs: prior.ttftMs.map((ms, slot) => (slot % 2 === 0 ? ms : 2 * ms)),
    warmTtftMs: prior.warmTtftMs.map((ms) => ms / 3),
    outputTokens: Float64Array.of(300, 700),
  };
}

/** All that a decision can depend on. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    world: worlds,
    constraints,
    preferences,
    filter: some(fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 5 })),
    generous: fc.constantFrom(false, true, true),
    pinned: fc.constantFrom(false, false, false, true),
    weights: some(fc.record({ cost: fc.constantFrom(0, 1, 3), quality: fc.constantFrom(1, 2) })),
    free: fc.option(some(fc.integer({ min: 1, max: 50_000_000 })), { nil: undefined }),
    states,
    mix: shares,
    cached,
    strategy: strategies,
    alternatives: fc.constantFrom(0, 1, 3),
    baseline: some(fc.constant(0)),
  })
  .map(({ world, filter, generous, pinned, strategy, alternatives, free, ...more }) => {
    const slots = slotCount(world.snapshot.models);
    const models = world.snapshot.models.map((one) => ({ ...one, quality: Float64Array.of(one.quality[0]!, 0.4) }));
    const from = snapshot(models, {
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
        [...world.snapshot.selectors].map(([name, one]) => [
          name,
          { ...one, allows: filter && bitsOf(models.length, filter) },
        ]),
      ),
    });
    const asked: Facts = {
      ...world.facts,
      ...(generous && {
        needs: 0,
        languages: [],
        ceilings: { costCredits: null, latencyMs: null },
        allowedModels: null,
      }),
      ...(pinned && { model: models[0]!.id, pinned }),
      weights: more.weights,
      mix: more.mix,
      task: more.mix[0]?.task ?? 'general',
      cached: more.cached,
      funds: free === undefined ? null : { free },
      rules: { constraints: more.constraints.map((_, at) => at), preferences: more.preferences.map((_, at) => at) },
    };
    const readings = frameOf(from, more.states);
    return {
      from,
      asked,
      given: { id: 7, seed: '0', reason: 'test', strategy: strategyNamed(strategy), readings },
    };
  });

/** Whether a certificate says of a decision, figure for figure, what the decider decides. */
const agrees = (of: typeof certify) =>
  fc.property(cases, ({ from, asked, given }) => {
    const decider = createDecider(from);
    const outcome = decider.decide(asked, given);
    const told = of(from, asked, given);
    const ranked = told.candidates.filter(({ rank }) => rank !== null);
    if (isRefusal(outcome)) {
      const { code, message } = refusalError(outcome, from, 'messages', Date.UTC(2026, 0, 1));
      return Bun.deepEquals(
        [told.choice, told.refusedBy, told.refusal, ranked.length, told.candidates.length],
        [null, outcome.group, { code, message }, 0, outcome.rejected.length],
      );
    }
    const kept = outcome.ranked.map((one) => [
      from.models[one.model]!.id,
      one.quality,
      one.costCredits,
      one.latencyMs,
      one.utility,
      one.outputCap,
      toCredits(one.bound),
      one.endpoints,
    ]);
    const same = ranked
      .slice(0, kept.length)
      .map((one) => [
        one.model,
        one.quality,
        one.costCredits,
        one.latencyMs,
        one.utility,
        one.outputCap,
        one.worstCaseCredits,
        one.endpoints.flatMap(({ open }, at) => (open ? [at] : [])),
      ]);
    const baseline = asked.pinned ? undefined : from.models[outcome.baseline]!.id;
    return (
      Bun.deepEquals(kept, same) &&
      told.choice === kept[0]![0] &&
      told.baseline?.model === baseline &&
      told.faulty === decider.faults > 0 &&
      told.candidates.length === (asked.pinned ? 1 : from.models.length)
    );
  });

describe('a certificate', () => {
  test('ranks first what the decider chooses, and says of it, and of every fallback, the same to the last bit', () => {
    fc.assert(agrees(certify), { numRuns: 3000 });
  });

  const mutants: Readonly<Record<string, typeof certify>> = {
    'the present readings': (from, asked, { readings: _, ...given }) => certify(from, asked, given),
    'no preferences': (from, asked, given) =>
      certify(from, { ...asked, rules: { ...asked.rules, preferences: [] } }, given),
    'the likeliest task alone': (from, asked, given) => certify(from, { ...asked, mix: [] }, given),
    'no cached input': (from, asked, given) => certify(from, { ...asked, cached: [] }, given),
    'no funds': (from, asked, given) => certify(from, { ...asked, funds: null }, given),
    'another strategy': (from, asked, given) => certify(from, asked, { ...given, strategy: byQuality }),
  };
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`by ${name} would be found out`, () => {
      expect(fc.check(agrees(mutant), { numRuns: 3000, endOnFailure: true }).failed).toBe(true);
    });
  }

  test('has a reason for every model without a rank, none for the others, and parts that add up', () => {
    fc.assert(
      fc.property(cases, ({ from, asked, given }) => {
        const { candidates } = certify(from, asked, given);
        for (const { rank, rejections, utility, parts } of candidates) {
          expect(rejections.length > 0).toBe(rank === null);
          expect(utility === null).toBe(rank === null);
          for (const { kind, rules } of rejections) expect(rules.length > 0).toBe(kind === 'constraint');
          const sum = Object.values(parts).reduce((all, part) => all + part, 0);
          if (Object.keys(parts).length > 0) expect(sum).toBeCloseTo(utility!, 8);
        }
        expect(candidates.flatMap(({ rank }) => rank ?? [])).toEqual(
          candidates.filter(({ rank }) => rank !== null).map((_, at) => at + 1),
        );
      }),
      { numRuns: 1000 },
    );
  });
});

const given = (strategy = byQuality, readings?: Readings): Circumstances => ({
  id: 0,
  seed: '0',
  reason: 'test',
  strategy,
  ...(readings && { readings }),
});

describe('what is told of a model that was left out', () => {
  const from = snapshot([model('a'), model('b', { capabilities: CAPABILITIES.vision.bit }), model('c', { q: 0.5 })], {
    constraints: [
      {
        name: 'not-a',
        place: place(4),
        when: null,
        allows: bitsOf(3, [1, 2]),
        maxLatencyMs: null,
        maxCostCredits: null,
      },
      { name: 'idle', place: place(9), when: null, allows: null, maxLatencyMs: 1e9, maxCostCredits: null },
    ],
  });
  const rules = { constraints: [0, 1], preferences: [] };

  test('is every reason, in the words of a refusal, with the constraints behind it and their places', () => {
    const { choice, candidates } = certify(from, facts({ rules, needs: CAPABILITIES.vision.bit }), given());
    expect(choice).toBe('b');
    const reasons = Object.fromEntries(candidates.map(({ model: id, rejections }) => [id, rejections]));
    expect(reasons).toEqual({
      a: [
        { kind: 'constraint', text: 'the policy rejects it: not-a', rules: [{ name: 'not-a', place: place(4) }] },
        { kind: 'capability', text: 'it lacks vision', rules: [] },
      ],
      b: [],
      c: [{ kind: 'capability', text: 'it lacks vision', rules: [] }],
    });
  });

  test('is that the strategy does not want it', () => {
    const dear = snapshot([model('dear', { cost: price(9, 9) }), model('free', { cost: price(0, 0) })]);
    const [first, second] = certify(dear, facts(), given(PICKY)).candidates;
    expect(first).toMatchObject({ model: 'free', rank: 1 });
    expect(second).toMatchObject({ model: 'dear', rank: null, utility: null });
    expect(second!.rejections).toEqual([{ kind: 'strategy', text: 'the strategy does not want it', rules: [] }]);
  });
});

test('endpoints show their health, and whether they may be tried', () => {
  const endpoint = (provider: string) => ({ provider, upstream: 'u', regions: [], price: price(1, 4) });
  const from = snapshot([model('a', { endpoints: [endpoint('p'), endpoint('q')] })]);
  const readings = { ...priorReadings(from), frame: 3, health: Uint8Array.of(HEALTH.ejected, 0), allHealthy: false };
  const { frame, candidates } = certify(from, facts(), given(byQuality, readings));
  expect(frame).toBe(3);
  expect(candidates[0]!.endpoints).toEqual([
    { provider: 'p', upstream: 'u', health: 'ejected', open: false },
    { provider: 'q', upstream: 'u', health: 'healthy', open: true },
  ]);
});

test('preferences are told with the models that they prefer, and what would have been chosen without them', () => {
  const from = snapshot([model('a', { q: 0.9 }), model('b', { q: 0.8 })], {
    preferences: [{ name: 'b-first', place: place(2), when: null, prefers: bitsOf(2, [1]), worth: 0.15 }],
  });
  const told = certify(from, facts({ rules: { constraints: [], preferences: [0] } }), given());
  expect(told).toMatchObject({ choice: 'b', unpreferred: 'a', runnerUp: { model: 'a', quality: 0.9 } });
  expect(told.preferences).toEqual([{ name: 'b-first', place: place(2), worth: 0.15, models: ['b'] }]);
  expect(certify(from, facts(), given()).unpreferred).toBeNull();
});

describe('the parts that a strategy tells', () => {
  const from = snapshot([model('a', { q: 0.5 })]);
  const telling = (parts: PreparedStrategy['parts']) =>
    certify(from, facts(), given({ ...byQuality, parts: parts! })).candidates[0]!.parts;

  test('are shown when they add up to the utility', () => {
    expect(telling(({ quality }, at) => ({ good: quality[at]! - 0.1, nice: 0.1 }))).toEqual({ good: 0.4, nice: 0.1 });
  });

  test('are not shown when they do not, are no numbers, or cannot be told', () => {
    const throwing = () => {
      throw new Error('no');
    };
    const wrong = [() => ({ a: 0.4 }), () => ({ a: 0.5, b: Number.NaN }), () => null, () => 'text', throwing];
    for (const parts of wrong) expect(telling(parts as PreparedStrategy['parts'])).toEqual({});
  });
});
