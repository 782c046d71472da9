import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { PreparedStrategy } from '../../src/contract/strategy.ts';
import { CAPABILITIES } from '../../src/core/capability.ts';
import { toCredits } from '../../src/core/credits.ts';
import type { Estimate } from '../../src/core/estimate.ts';
import { HEALTH, priorReadings, type Readings } from '../../src/core/readings.ts';
import { certify } from '../../src/routing/certify.ts';
import { createDecider, type DecisionContext, isRefusal } from '../../src/routing/decide.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { byQuality, facts, model, price, snapshot } from './build.ts';
import { bitsOf, cases, PICKY, place } from './certify-cases.ts';

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
      told.reason === outcome.reason &&
      (told.draw?.best !== told.choice) === (outcome.draw === null || outcome.reason.endsWith(':explored')) &&
      Bun.deepEquals(told.draw && { probability: told.draw.probability, among: told.draw.among }, outcome.draw) &&
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
    'what is declared': (from, asked, { estimate: _, ...given }) => certify(from, asked, given),
    'no draw': (from, asked, { explore: _, ...given }) => certify(from, asked, given),
    'another seed': (from, asked, given) => certify(from, asked, { ...given, seed: `${given.seed}1` }),
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

describe('what a quality is made of', () => {
  test('adds up to what was learnt, step by step, whichever of the two was used', () => {
    fc.assert(
      fc.property(cases, ({ from, asked, given }) => {
        const { candidates, learning } = certify(
          from,
          { ...asked, rules: { constraints: [], preferences: [] } },
          given,
        );
        const estimate = given.estimate ?? null;
        expect(learning === null).toBe(estimate === null);
        for (const { model: id, quality, estimate: told } of candidates) {
          if (!estimate) {
            expect(told).toBeNull();
            continue;
          }
          const at = from.modelIndex.get(id)!;
          const { declared, length, outcomes, text, count, shadow } = told!;
          const used = shadow === null ? declared + length + outcomes + text : declared + length;
          expect(used).toBeCloseTo(quality, 12);
          expect(shadow).toBe(estimate.shadow && estimate.shadow[at]!);
          if (shadow !== null) expect(declared + length + outcomes + text).toBeCloseTo(shadow, 12);
          const steps = [estimate.length, estimate.outcomes[at], estimate.text[at]];
          // At the ends of the scale a step may come to nothing.
          for (const [i, step] of [length, outcomes, text].entries()) {
            if (steps[i] === 0) expect(Math.abs(step)).toBeLessThan(1e-12);
            else expect(step * steps[i]!).toBeGreaterThanOrEqual(0);
          }
          expect(count).toBe(at);
        }
      }),
      { numRuns: 500 },
    );
  });

  const declared = snapshot([model('a', { q: 0.8 }), model('b', { q: 0.7 })]);
  const estimate = (used: number[], shadow: number[] | null): Estimate => ({
    quality: Float64Array.from(used),
    shadow: shadow && Float64Array.from(shadow),
    length: 0,
    outcomes: Float32Array.of(0, 1),
    text: Float32Array.of(0, 0),
    counts: Float32Array.of(0, 40),
    trust: 0,
  });

  test('tells in shadow who would be chosen', () => {
    const told = certify(declared, facts(), { ...given(), estimate: estimate([0.8, 0.7], [0.8, 0.9]) });
    expect(told).toMatchObject({ choice: 'a', learning: { choice: 'b' } });
    const used = certify(declared, facts(), { ...given(), estimate: estimate([0.8, 0.9], null) });
    expect(used).toMatchObject({ choice: 'b', learning: { choice: null } });
  });

  test('counts for who would be chosen without preferences, too', () => {
    const preferring = {
      ...declared,
      preferences: [{ name: 'p', place: place(1), when: null, prefers: bitsOf(2, [0]), worth: 0.3 }],
    };
    const asked = facts({ rules: { constraints: [], preferences: [0] } });
    const told = certify(preferring, asked, { ...given(), estimate: estimate([0.8, 0.9], null) });
    expect(told).toMatchObject({ choice: 'a', unpreferred: 'b' });
  });

  test('is not told of another catalog', () => {
    expect(() => certify(declared, facts(), { ...given(), estimate: estimate([0.8], null) })).toThrow(
      'an estimate of 1 models, where there are 2',
    );
  });
});

const given = (strategy = byQuality, readings?: Readings): DecisionContext => ({
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
