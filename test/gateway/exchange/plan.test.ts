import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ProviderFailure } from '../../../src/contract/parts.ts';
import type { Decision, RankedModel } from '../../../src/core/decision/decision.ts';
import { Plan, type PlannedAttempt } from '../../../src/gateway/exchange/plan.ts';
import type { Upstream } from '../../../src/policy/runtime/upstream.ts';

/** Makes candidates with this many endpoints each. */
function decisionOf(...endpoints: number[]): Decision {
  const ranked = endpoints.map(
    (n, model): Partial<RankedModel> => ({ model, endpoints: Array.from({ length: n }, (_, at) => at) }),
  );
  return { ranked, lastResorts: [] } as unknown as Decision;
}

/** Upstreams of which a plan reads only the place. */
const UPSTREAMS = Array.from({ length: 9 }, () => Array.from({ length: 9 }, (_, at) => ({ at }) as Upstream));

const failure = (kind: ProviderFailure['kind']): ProviderFailure => ({ kind, message: 'x' });
const nameOf = ({ way, again, force }: PlannedAttempt): string =>
  `${way.ranked.model}.${way.upstream.at}${again ? ' again' : ''}${force ? ' force' : ''}`;

interface Trial {
  /** The result of an attempt at an endpoint. */
  meet(
    step: PlannedAttempt,
    count: number,
  ): { failure: ProviderFailure; waitMs?: number | null } | 'shut' | 'denied' | 'drop' | 'refused' | 'answered';
  readonly retriesMax?: number;
  readonly random?: number;
}

/** Carries out a plan on a fake clock. */
function walk(decision: Decision, { meet, retriesMax = 2, random = 0.5 }: Trial, Way = Plan) {
  let now = 1_000;
  const plan = new Way(decision, UPSTREAMS, { retriesMax, clock: () => now, random: () => random });
  const steps: string[] = [];
  const waits: number[] = [];
  for (let step = plan.next(); step !== null; step = plan.next()) {
    if (steps.length > 200) throw new Error('the plan never ends');
    now += step.waitMs;
    steps.push(nameOf(step));
    waits.push(step.waitMs);
    const met = meet(step, steps.length);
    if (met === 'answered') break;
    if (met === 'shut') plan.shut();
    else if (met === 'denied') plan.denied(step);
    else if (met === 'drop') plan.drop();
    else if (met === 'refused') plan.dropModel();
    else plan.failed(met.failure, met.waitMs === undefined ? 0 : met.waitMs);
  }
  return { steps, waits };
}

describe('a plan of attempts', () => {
  const always =
    (kind: ProviderFailure['kind'], waitMs = 0) =>
    () => ({ failure: failure(kind), waitMs });

  test('a plan retries an endpoint after a temporary failure once, then tries the next endpoint, then the fallbacks', () => {
    const { steps } = walk(decisionOf(2, 1), { meet: always('server'), retriesMax: 1 });
    expect(steps).toEqual(['0.0', '0.0 again', '0.1', '1.0']);
  });

  test('a plan tries no other endpoint of a model that refused to answer, even if the decision lists the model twice', () => {
    const [first, other] = decisionOf(2, 1).ranked;
    const last = { ...first, endpoints: [2] };
    const decision = { ...decisionOf(1), ranked: [first, other!], lastResorts: [last] } as Decision;
    const meet = ({ way }: PlannedAttempt) =>
      way.ranked.model === 0 ? ('refused' as const) : { failure: failure('auth'), waitMs: null };
    expect(walk(decision, { meet }).steps).toEqual(['0.0', '1.0']);
  });

  test('a plan waits before a retry, for a random part of a quarter of a second', () => {
    for (const random of [0, 0.25, 0.999]) {
      const { waits } = walk(decisionOf(1, 1), { meet: always('server'), retriesMax: 1, random });
      expect(waits).toEqual([0, random * 250, 0]);
    }
  });

  test('a plan goes to the next endpoint at once after a failure that would repeat or that took too long', () => {
    for (const kind of ['auth', 'not_found', 'context', 'timeout'] as const) {
      expect(walk(decisionOf(1, 1), { meet: always(kind) }).steps).toEqual(['0.0', '1.0']);
    }
  });

  test('a plan goes to the next endpoint if one requests a pause, and returns to it if no other is left', () => {
    const meet = (step: PlannedAttempt) =>
      step.again ? 'answered' : { failure: failure('rate_limited'), waitMs: 2_000 };
    const { steps, waits } = walk(decisionOf(1, 1), { meet, random: 0 });
    expect(steps).toEqual(['0.0', '1.0', '0.0 again']);
    expect(waits).toEqual([0, 0, 2_000]);
  });

  test('a plan does not wait for a long pause: the caller gets the error', () => {
    expect(walk(decisionOf(1), { meet: always('rate_limited', 5_001), random: 0 }).steps).toEqual(['0.0']);
    expect(walk(decisionOf(1), { meet: always('rate_limited', 5_000), random: 0 }).steps).toHaveLength(3);
    expect(walk(decisionOf(1), { meet: always('rate_limited', 4_999), random: 0 }).steps).toHaveLength(3);
  });

  test('a plan does not return to an endpoint that fails permanently', () => {
    const meet = () => ({ failure: failure('server'), waitMs: null });
    expect(walk(decisionOf(1, 1), { meet }).steps).toEqual(['0.0', '1.0']);
  });

  test('a plan never retries if the policy allows no retries', () => {
    expect(walk(decisionOf(2, 2), { meet: always('connect'), retriesMax: 0 }).steps).toEqual([
      '0.0',
      '0.1',
      '1.0',
      '1.1',
    ]);
  });

  test('a plan that has waited for room tries an endpoint once more if it has room by then', () => {
    let now = 1_000;
    const rooms = [false, false];
    const upstreams = [rooms.map((_, at) => ({ at, room: { hasRoom: () => rooms[at] } }) as unknown as Upstream)];
    const ranked = { ...decisionOf(2).ranked[0], tokens: 10 };
    const plan = new Plan({ ranked: [ranked], lastResorts: [] }, upstreams, {
      retriesMax: 0,
      clock: () => now,
      random: () => 0,
    });
    const steps: string[] = [];
    for (let step = plan.next(); step !== null; step = plan.next()) {
      now += step.waitMs;
      steps.push(nameOf(step));
      if (steps.length > 9) throw new Error('the plan never ends');
      // The estimates say that neither endpoint has room within the longest wait, but one gets room before that.
      plan.full(6_000);
      rooms[1] = true;
    }
    expect(steps).toEqual(['0.0', '0.1', '0.1']);
  });

  test('a plan tries ejected endpoints last, in spite of their circuit breakers', () => {
    const meet = (step: PlannedAttempt) =>
      step.way.ranked.model === 0 ? ('shut' as const) : { failure: failure('auth') };
    expect(walk(decisionOf(2, 1), { meet }).steps).toEqual(['0.0', '0.1', '1.0', '0.0 force', '0.1 force']);
  });

  test('a plan asks an empty retry budget again a few times, because other requests may fill it', () => {
    const meet = (step: PlannedAttempt, count: number) =>
      step.way.ranked.model === 0 ? { failure: failure('timeout') } : count < 4 ? ('denied' as const) : 'answered';
    const { steps, waits } = walk(decisionOf(1, 1), { meet, random: 0.5 });
    expect(steps).toEqual(['0.0', '1.0', '1.0', '1.0']);
    expect(waits).toEqual([0, 0, 125, 125]);
    const never = (step: PlannedAttempt) =>
      step.way.ranked.model === 0 ? { failure: failure('timeout') } : ('denied' as const);
    expect(walk(decisionOf(1, 1), { meet: never }).steps).toHaveLength(6);
  });

  test('a plan does not ask the retry budget again for a retry of the same endpoint', () => {
    const meet = (step: PlannedAttempt) => (step.again ? ('denied' as const) : { failure: failure('server') });
    expect(walk(decisionOf(1), { meet }).steps).toEqual(['0.0', '0.0 again']);
  });

  test('a plan tries other endpoints first after any failure that took long', () => {
    const plan = new Plan(decisionOf(1, 1), UPSTREAMS, { retriesMax: 2, clock: () => 0, random: () => 0 });
    plan.next();
    plan.failed(failure('connect'), 0, 1_001);
    expect(nameOf(plan.next()!)).toBe('1.0');
    const quick = new Plan(decisionOf(1, 1), UPSTREAMS, { retriesMax: 2, clock: () => 0, random: () => 0 });
    quick.next();
    quick.failed(failure('connect'), 0, 1_000);
    expect(nameOf(quick.next()!)).toBe('0.0 again');
  });

  test('a plan tries an endpoint at most twice in a row while there are others', () => {
    const { steps } = walk(decisionOf(1, 1), { meet: always('server'), retriesMax: 3 });
    expect(steps).toEqual(['0.0', '0.0 again', '1.0', '1.0 again', '0.0 again']);
  });

  test('if no other endpoint is left, a plan returns to the first that is ready, each time after a longer random pause', () => {
    const wait = (step: PlannedAttempt) => ({
      failure: failure('rate_limited'),
      waitMs: step.way.ranked.model === 0 ? 4_000 : 900,
    });
    expect(walk(decisionOf(1, 1), { meet: wait, retriesMax: 1, random: 0 }).steps).toEqual(['0.0', '1.0', '1.0 again']);
    const { waits } = walk(decisionOf(1), { meet: always('rate_limited', 1), retriesMax: 4, random: 0.5 });
    expect(waits).toEqual([0, 126, 251, 501, 1_001]);
  });

  test('a plan waits the whole pause for an endpoint that has long been ready', () => {
    let now = 0;
    const plan = new Plan(decisionOf(1, 1), UPSTREAMS, { retriesMax: 2, clock: () => now, random: () => 0.5 });
    plan.next();
    plan.failed(failure('rate_limited'), 100);
    plan.next();
    now = 10_000;
    plan.failed(failure('auth'), null);
    expect(plan.next()).toMatchObject({ again: true, waitMs: 125 });
  });

  test('a plan does not try an endpoint again that no fund pays for', () => {
    const meet = (step: PlannedAttempt) => (step.way.ranked.model === 0 ? ('drop' as const) : ('answered' as const));
    expect(walk(decisionOf(1, 1), { meet }).steps).toEqual(['0.0', '1.0']);
  });

  test('a plan knows whether other endpoints are left', () => {
    const plan = new Plan(decisionOf(1, 1), UPSTREAMS, { retriesMax: 2, clock: () => 0, random: () => 0 });
    plan.next();
    expect(plan.hasOthers).toBe(true);
    plan.failed(failure('timeout'), 0);
    plan.next();
    expect(plan.hasOthers).toBe(false);
  });

  test('every plan ends, tries every endpoint of a model until one says that the prompt is too long, and stays within its limit of retries', () => {
    fc.assert(law(Plan), { numRuns: 500 });
  });

  test('the law of plans rejects a plan that tries the other endpoints of a model whose prompt is too long', () => {
    class Persistent extends Plan {
      override dropModel(): void {}
    }
    expect(fc.check(law(Persistent), { numRuns: 500 }).failed).toBeTrue();
  });
});

const FAILURES = ['server', 'connect', 'rate_limited', 'timeout', 'auth', 'malformed', 'context'] as const;
const fates = fc.tuple(
  fc.constantFrom(...FAILURES, 'shut' as const, 'denied' as const, 'drop' as const),
  fc.constantFrom(0, 500, 4_000, 60_000),
);

/** The endpoints that a plan calls first, and its waits and retries, for any results. */
const law = (Way: typeof Plan) =>
  fc.property(
    fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
    fc.array(fates, { minLength: 1 }),
    fc.integer({ min: 0, max: 5 }),
    fc.double({ min: 0, max: 0.999, noNaN: true }),
    (endpoints, all, retriesMax, random) => {
      const tooLong = new Set<number>();
      const meet: Trial['meet'] = ({ way }, count) => {
        expect(tooLong.has(way.ranked.model)).toBeFalse();
        const [kind, waitMs] = all[count % all.length]!;
        if (kind === 'context') tooLong.add(way.ranked.model);
        return kind === 'shut' || kind === 'denied' || kind === 'drop' ? kind : { failure: failure(kind), waitMs };
      };
      const { steps, waits } = walk(decisionOf(...endpoints), { meet, retriesMax, random }, Way);
      const plain = new Set(steps.filter((step) => !step.includes(' ')));
      const inOrder = endpoints.flatMap((n, model) => Array.from({ length: n }, (_, at) => `${model}.${at}`));
      expect([...plain]).toEqual(inOrder.filter((name) => plain.has(name)));
      const missed = inOrder.filter((name) => !plain.has(name));
      expect(missed.every((name) => tooLong.has(Number(name[0])))).toBeTrue();
      expect(steps.filter((step) => step.endsWith('again')).length).toBeLessThanOrEqual(retriesMax);
      expect(Math.max(...waits)).toBeLessThanOrEqual(5_000);
    },
  );
