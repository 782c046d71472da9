import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { SpreadRecord } from '../../src/core/decision/attempt.ts';
import { priorReadings } from '../../src/core/decision/readings.ts';
import type { Endpoint } from '../../src/core/policy/snapshot.ts';
import { SPREAD_MODES } from '../../src/core/policy/spread.ts';
import { expectedWriting } from '../../src/routing/estimate.ts';
import { keyOfSeed } from '../../src/routing/spread.ts';
import {
  RECOVERED_SHARE_MIN,
  recordedChoice,
  repeatsChoice,
  saltOf,
  spreadCandidate,
  weightOf,
} from '../../src/routing/spread-record.ts';
import { tries } from '../deep/effort.ts';
import { facts, model, price, snapshot } from './build.ts';

interface Moment {
  readonly recovered: number;
  readonly load: number;
  readonly isWarm: boolean;
  readonly isUnmeasured: boolean;
  readonly isLeft: boolean;
}

const endpoint = fc.record<{ weight?: number; priority: number; cost: number }>({
  weight: fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 100 })),
  priority: fc.integer({ min: 0, max: 1 }),
  cost: fc.integer({ min: 1, max: 3 }),
});
const moment = fc.record({
  recovered: fc.constantFrom<number>(RECOVERED_SHARE_MIN, 0.55, 1, 1, 1),
  load: fc.double({ min: 0, max: 4, noNaN: true }),
  isWarm: fc.integer({ min: 0, max: 4 }).map((drawn) => drawn === 0),
  isUnmeasured: fc.boolean(),
  isLeft: fc.integer({ min: 0, max: 4 }).map((drawn) => drawn > 0),
});
const fleets = fc.array(fc.tuple(endpoint, moment), { minLength: 2, maxLength: 8 });
const seeds = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((bits) => bits.toString(16).padStart(16, '0'));
const attempts = fc.record({ fleet: fleets, mode: fc.constantFrom(...SPREAD_MODES), seed: seeds, draw: fc.nat(4) });

/** Makes the choice of an attempt as the gateway makes it. */
function attemptOf(
  { fleet, mode, seed, draw }: typeof attempts extends fc.Arbitrary<infer T> ? T : never,
  providerOf = (at: number) => `p${at}`,
) {
  const [first, ...others] = fleet.map(
    ([{ weight, priority, cost }], at): Endpoint => ({
      provider: providerOf(at),
      upstream: 'up',
      regions: [],
      price: price(cost, 4 * cost),
      capabilities: 0,
      priority,
      ...(weight !== undefined && { weight }),
    }),
  );
  const own = model('m', { endpoints: [first!, ...others], ...(mode !== 'order' && { spread: mode }) });
  const policy = snapshot([own]);
  const request = { facts: facts({ named: ['m'] }), readings: priorReadings(policy) };
  const writing = expectedWriting(request.facts, policy, request.readings);
  const moments: readonly Moment[] = fleet.map(([, now]) => now);
  const left = moments.flatMap(({ isLeft }, at) => (isLeft ? [at] : []));
  const candidates = (left.length > 0 ? left : [0]).map((at) => {
    const { recovered, load, isWarm, isUnmeasured } = moments[at]!;
    const weight = weightOf(own.endpoints[at]!) * recovered;
    return spreadCandidate(
      own,
      at,
      saltOf(own.endpoints[at]!, policy),
      { weight, load, isWarm, isUnmeasured },
      { ...request, writing },
    );
  });
  const { at, record } = recordedChoice(mode, candidates, keyOfSeed(seed), draw);
  const repeats = (edited: SpreadRecord, chosen: number) => repeatsChoice(edited, chosen, own, request, policy);
  return { at, record, repeats };
}

const runs = tries('recorded choices of endpoints', 300, 20_000);

test('each recorded choice of an endpoint can be repeated, also after the record was written as JSON', () => {
  fc.assert(
    fc.property(attempts, (attempt) => {
      const { at, record, repeats } = attemptOf(attempt);
      expect(repeats(JSON.parse(JSON.stringify(record)), at)).toBe(true);
    }),
    runs,
  );
});

test('an edited record does not repeat', () => {
  fc.assert(
    fc.property(attempts, fc.nat(7), (attempt, nth) => {
      const { at, record, repeats } = attemptOf(attempt);
      const other = record.eligible[nth % record.eligible.length]!;
      if (other !== at) expect(repeats(record, other)).toBe(false);
      expect(repeats({ ...record, stays: !record.stays }, at)).toBe(false);
      const position = nth % record.weights.length;
      const heavier = record.weights.map((weight, one) => (one === position ? weight * 20 + 200 : weight));
      expect(repeats({ ...record, weights: heavier }, at)).toBe(false);
      const mode = SPREAD_MODES[(SPREAD_MODES.indexOf(record.mode) + 1) % SPREAD_MODES.length]!;
      expect(repeats({ ...record, mode }, at)).toBe(false);
    }),
    runs,
  );
});

test('another key or number of the choice is found in at least half of the draws of equal endpoints', () => {
  const equal = { weight: 1, priority: 0, cost: 1 };
  const now = { recovered: 1, load: 0, isWarm: false, isUnmeasured: false, isLeft: true };
  const fleet = Array.from({ length: 4 }, (): [typeof equal, typeof now] => [equal, now]);
  let found = 0;
  for (let nth = 0; nth < 400; nth++) {
    const seed = (0x9e3779b97f4a7c15n * BigInt(nth + 1)).toString(16).slice(-16).padStart(16, '0');
    const { at, record, repeats } = attemptOf({ fleet, mode: 'weighted', seed, draw: 0 });
    const edited = { ...record, key: `${seed.slice(8)}${seed.slice(0, 8)}` };
    if (repeats(edited, at) === false) found++;
  }
  expect(found).toBeGreaterThan(200);
});

test('a record of an earlier version is neither equal nor different', () => {
  const equal = { weight: 1, priority: 0, cost: 1 };
  const now = { recovered: 1, load: 0, isWarm: false, isUnmeasured: false, isLeft: true };
  const { at, record, repeats } = attemptOf({
    fleet: [
      [equal, now],
      [equal, now],
    ],
    mode: 'weighted',
    seed: '0'.repeat(16),
    draw: 0,
  });
  const { warm: _, ...earlier } = record;
  expect(repeats(earlier, at)).toBeNull();
});

test('a record of an earlier version, which took the first of equal keys, is neither equal nor different', () => {
  const equal = { weight: 1, priority: 0, cost: 1 };
  const now = { recovered: 1, load: 0, isWarm: false, isUnmeasured: false, isLeft: true };
  const fleet = [1, 2].map((): [typeof equal, typeof now] => [equal, now]);
  const pool = { fleet, mode: 'cheapest', seed: '0'.repeat(16), draw: 0 } as const;
  const { at, record, repeats } = attemptOf(pool, () => 'p');
  expect(repeats(record, at)).toBe(true);
  const { isDrawn, ...earlier } = record;
  expect([isDrawn, repeats(earlier, at)]).toEqual([true, null]);
});
