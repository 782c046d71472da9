import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { PreparedStrategy, RequestStrategy } from '../../src/contract/strategy.ts';
import { HEALTH, priorReadings, type Readings } from '../../src/core/decision/readings.ts';
import { toCredits } from '../../src/core/money/credits.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import { certify } from '../../src/routing/certify.ts';
import { decisionReason } from '../../src/routing/choice-reason.ts';
import { createDecider, type DecisionContext, isRefusal } from '../../src/routing/decide.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { tries } from '../deep/effort.ts';
import { byQuality, candidatesOf, facts, model, price, snapshot } from './build.ts';
import { bitsOf, cases, PICKY, place } from './certify-cases.ts';

/** Checks that a certificate has the same figures as the decider's decision. */
const agrees = (of: typeof certify) =>
  fc.property(cases, ({ from, request, given }) => {
    const decider = createDecider(from);
    const outcome = decider.decide(request, given);
    const certificate = of(from, request, given);
    const ranked = certificate.candidates.filter(({ rank }) => rank !== null);
    if (isRefusal(outcome)) {
      const { code, message } = refusalError(outcome, from, { now: Date.UTC(2026, 0, 1) });
      return Bun.deepEquals(
        [certificate.choice, certificate.refusedBy, certificate.refusal, ranked.length, certificate.candidates.length],
        [null, outcome.group, { code, message }, 0, outcome.rejected.length],
      );
    }
    const kept = outcome.ranked.map((one) => [
      from.models[one.model]!.id,
      one.share,
      one.quality,
      one.costCredits,
      one.latencyMs,
      one.utility,
      one.outputCap,
      toCredits(one.bound),
      one.endpoints,
    ]);
    const same = ranked.slice(0, kept.length).map((one) => [
      one.model,
      one.quality,
      one.countedQuality,
      one.costCredits,
      one.latencyMs,
      // Neither models that the request names nor models of an order have a score.
      request.named ? 0 : (one.utility ?? 0),
      one.outputCap,
      one.worstCaseCredits,
      one.endpoints.flatMap(({ open }, at) => (open ? [at] : [])),
    ]);
    const baseline = request.named ? undefined : from.models[outcome.baseline]!.id;
    return (
      Bun.deepEquals(kept, same) &&
      certificate.choice === kept[0]![0] &&
      certificate.reason === outcome.reason &&
      certificate.choiceReason === decisionReason(outcome, from) &&
      certificate.baseline?.model === baseline &&
      certificate.faulty === decider.faults > 0 &&
      certificate.candidates.length === candidatesOf(from, request).length
    );
  });

describe('a certificate', () => {
  test('the certificate ranks the decider’s choice first, and has its figures and those of every fallback bit for bit', () => {
    fc.assert(
      agrees(certify),
      tries('the certificate ranks the choice first, with its figures bit for bit', 120, 20_000),
    );
  });

  const mutants: Readonly<Record<string, typeof certify>> = {
    'the present readings': (from, request, { readings: _, ...given }) => certify(from, request, given),
    'no preferences': (from, request, given) =>
      certify(from, { ...request, rules: { ...request.rules, preferences: [] } }, given),
    'only the most likely task': (from, request, given) => certify(from, { ...request, mix: [] }, given),
    'no cached input': (from, request, given) => certify(from, { ...request, cached: [] }, given),
    'no funds': (from, request, given) => certify(from, { ...request, funds: null }, given),
    'another strategy': (from, request, given) => certify(from, request, { ...given, strategy: byQuality }),
  };
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`(and ${name} would break it)`, () => {
      expect(fc.check(agrees(mutant), { numRuns: 3000, endOnFailure: true }).failed).toBe(true);
    });
  }

  test('the certificate has reasons exactly for the models without a rank, and parts that add up', () => {
    fc.assert(
      fc.property(cases, ({ from, request, given }) => {
        const { candidates, choiceReason } = certify(from, request, given);
        for (const { rank, rejections, utility, parts } of candidates) {
          expect(rejections.length > 0).toBe(rank === null);
          expect(utility === null).toBe(rank === null || choiceReason !== null || given.strategy.per === 'build');
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

const given = (strategy: PreparedStrategy = byQuality, readings?: Readings): DecisionContext => ({
  id: 0,
  seed: '0',
  reason: 'test',
  strategy,
  ...(readings && { readings }),
});

describe('the entry of a rejected model', () => {
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

  test('has every reason in the words of a refusal, with the constraints that caused it and their locations', () => {
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

  test('names the strategy as the cause if it gave no score', () => {
    const dear = snapshot([model('dear', { cost: price(9, 9) }), model('free', { cost: price(0, 0) })]);
    const [first, second] = certify(dear, facts(), given(PICKY)).candidates;
    expect(first).toMatchObject({ model: 'free', rank: 1 });
    expect(second).toMatchObject({ model: 'dear', rank: null, utility: null });
    expect(second!.rejections).toEqual([{ kind: 'strategy', text: 'the strategy rules it out', rules: [] }]);
  });
});

test('the certificate of a decision shows the health of endpoints, and whether Signalbox may try them', () => {
  const endpoint = (provider: string) => ({ provider, upstream: 'u', regions: [], price: price(1, 4) });
  const from = snapshot([model('a', { endpoints: [endpoint('p'), endpoint('q')] })]);
  const readings = { ...priorReadings(from), number: 3, health: Uint8Array.of(HEALTH.ejected, 0), allHealthy: false };
  const { readingsNumber, candidates } = certify(from, facts(), given(byQuality, readings));
  expect(readingsNumber).toBe(3);
  expect(candidates[0]!.endpoints).toEqual([
    { provider: 'p', upstream: 'u', health: 'ejected', open: false, unpriced: [] },
    { provider: 'q', upstream: 'u', health: 'healthy', open: true, unpriced: [] },
  ]);
});

test('the certificate of a decision lists preferences with the models that they prefer, and the choice without preferences', () => {
  const from = snapshot([model('a', { q: 0.9 }), model('b', { q: 0.8 })], {
    preferences: [{ name: 'b-first', place: place(2), when: null, prefers: bitsOf(2, [1]), worth: 0.15 }],
  });
  const certificate = certify(from, facts({ rules: { constraints: [], preferences: [0] } }), given());
  expect(certificate).toMatchObject({ choice: 'b', unpreferred: 'a', runnerUp: { model: 'a', quality: 0.9 } });
  expect(certificate.preferences).toEqual([{ name: 'b-first', place: place(2), worth: 0.15, models: ['b'] }]);
  expect(certify(from, facts(), given()).unpreferred).toBeNull();
});

describe('the parts of a strategy', () => {
  const from = snapshot([model('a', { q: 0.5 })]);
  const telling = (parts: RequestStrategy['parts']) =>
    certify(from, facts(), given({ ...byQuality, parts: parts! })).candidates[0]!.parts;

  test('are shown if they add up to the utility', () => {
    expect(telling(({ quality }, at) => ({ good: quality[at]! - 0.1, nice: 0.1 }))).toEqual({ good: 0.4, nice: 0.1 });
  });

  test('are not shown if they do not add up, are not numbers, or throw', () => {
    const throwing = () => {
      throw new Error('no');
    };
    const wrong = [() => ({ a: 0.4 }), () => ({ a: 0.5, b: Number.NaN }), () => null, () => 'text', throwing];
    for (const parts of wrong) expect(telling(parts as RequestStrategy['parts'])).toEqual({});
  });
});
