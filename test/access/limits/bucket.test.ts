import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type Bucket,
  fullAfterMs,
  fullBucket,
  refill,
  take,
  unitsLeft,
  waitMs,
} from '../../../src/access/limits/bucket.ts';
import { MINUTE_MS } from '../../../src/core/time/clock.ts';
import { effort } from '../../deep/effort.ts';

const { runs: numRuns, seed, proved } = effort('limits', 400, 20_000);

/** A bucket as the law sees it: it allows or refuses a request for units. */
type Subject = (perMinute: number) => (units: number, now: number) => boolean;

const real: Subject = (perMinute) => {
  const bucket = fullBucket(perMinute, 0);
  return (units, now) => {
    refill(bucket, perMinute, now);
    if (waitMs(bucket, units) > 0) return false;
    take(bucket, units);
    return true;
  };
};

/**
 * The law itself, with a list of all allowed requests. Units are allowed if and only if no interval that ends now would exceed the limit
 * and its refill.
 */
const reference: Subject = (perMinute) => {
  const passed: { readonly at: bigint; readonly units: bigint }[] = [];
  const limit = BigInt(perMinute);
  return (units, now) => {
    let sum = BigInt(units);
    const at = BigInt(now);
    const fits = () => sum * BigInt(MINUTE_MS) <= limit * (BigInt(MINUTE_MS) + at - (passed[i]?.at ?? at));
    let i = passed.length;
    if (!fits()) return false;
    for (i = passed.length - 1; i >= 0; i--) {
      sum += passed[i]!.units;
      if (!fits()) return false;
    }
    passed.push({ at, units: BigInt(units) });
    return true;
  };
};

const MUTANTS: Readonly<Record<string, (bucket: Bucket, perMinute: number, now: number) => void>> = {
  'refills beyond full': (bucket, perMinute, now) => {
    bucket.left = Math.min(2 * perMinute * MINUTE_MS, bucket.left + Math.max(0, now - bucket.at) * perMinute);
    bucket.at = Math.max(bucket.at, now);
  },
  'starts again each minute': (bucket, perMinute, now) => {
    if (Math.floor(now / MINUTE_MS) > Math.floor(bucket.at / MINUTE_MS)) bucket.left = perMinute * MINUTE_MS;
    bucket.at = now;
  },
  'forgets the time of refused requests': (bucket, perMinute, now) => {
    const came = Math.floor(((now - bucket.at) * perMinute) / MINUTE_MS) * MINUTE_MS;
    bucket.left = Math.min(perMinute * MINUTE_MS, bucket.left + Math.max(0, came));
    bucket.at = now;
  },
  'rounds with floating-point seconds': (bucket, perMinute, now) => {
    const left = bucket.left / MINUTE_MS + (Math.round((now - bucket.at) / 1000) * perMinute) / 60;
    bucket.left = Math.min(perMinute, left) * MINUTE_MS;
    bucket.at = now;
  },
  'refills when time goes back': (bucket, perMinute, now) => {
    bucket.left = Math.min(perMinute * MINUTE_MS, bucket.left + Math.abs(now - bucket.at) * perMinute);
    bucket.at = now;
  },
};

const mutant =
  (bringUp: (typeof MUTANTS)[string]): Subject =>
  (perMinute) => {
    const bucket = fullBucket(perMinute, 0);
    return (units, now) => {
      bringUp(bucket, perMinute, now);
      if (waitMs(bucket, units) > 0) return false;
      take(bucket, units);
      return true;
    };
  };

/** Limits of all sizes, with requests in bursts, in streams, after pauses, or slightly in the past. */
const limits = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1_000_000_000 }));
const pauses = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 50 }),
  fc.integer({ min: 50, max: 2_000 }),
  fc.integer({ min: 2_000, max: 150_000 }),
  fc.integer({ min: -50, max: -1 }),
);
const requests = fc.record({ pause: pauses, share: fc.double({ min: 0, max: 1, noNaN: true }) });
const histories = fc.record({ perMinute: limits, requests: fc.array(requests, { minLength: 1, maxLength: 60 }) });
type History = typeof histories extends fc.Arbitrary<infer Value> ? Value : never;

function agrees(subject: Subject, { perMinute, requests: list }: History): boolean {
  const one = subject(perMinute);
  const other = reference(perMinute);
  let now = 0;
  let latest = 0;
  return list.every(({ pause, share }) => {
    now += pause;
    // For the reference, a clock that goes back stops instead.
    latest = Math.max(latest, now);
    const units = Math.max(1, Math.round(share * share * perMinute));
    return one(units, now) === other(units, latest);
  });
}

describe('a bucket', () => {
  test('a bucket allows everything that its law allows, and nothing else', () => {
    fc.assert(
      fc.property(histories, (history) => agrees(real, history)),
      { numRuns, seed },
    );
    proved(`${numRuns} random histories of one limit, compared with a list of all allowed requests`);
  });

  for (const [name, bringUp] of Object.entries(MUTANTS)) {
    test(`the law finds a bucket that ${name}`, () => {
      const { failed } = fc.check(
        fc.property(histories, (history) => agrees(mutant(bringUp), history)),
        { numRuns: Math.max(numRuns, 1_000), seed, endOnFailure: true },
      );
      expect(failed).toBe(true);
    });
  }

  test('a bucket states the exact wait, to the millisecond', () => {
    fc.assert(
      fc.property(limits, fc.nat(200_000), fc.integer({ min: 1, max: 1_000_000 }), (perMinute, drawn, units) => {
        const bucket = fullBucket(perMinute, 0);
        take(bucket, drawn);
        const wait = waitMs(bucket, units);
        const waitAfter = (ms: number) => {
          const later = { ...bucket };
          refill(later, perMinute, ms);
          return waitMs(later, units);
        };
        expect(waitAfter(wait)).toBe(0);
        if (wait > 0) expect(waitAfter(wait - 1)).toBe(1);
      }),
      { numRuns, seed },
    );
  });

  test('a bucket is full again exactly when it says so, whatever its debt', () => {
    fc.assert(
      fc.property(limits, fc.nat(10_000_000), (perMinute, drawn) => {
        const bucket = fullBucket(perMinute, 5);
        take(bucket, drawn);
        const after = fullAfterMs(bucket);
        if (after > 0) {
          refill(bucket, perMinute, 5 + after - 1);
          expect(fullAfterMs(bucket)).toBe(1);
        }
        refill(bucket, perMinute, 5 + after);
        expect(bucket.left).toBe(perMinute * MINUTE_MS);
      }),
      { numRuns, seed },
    );
  });

  test('a bucket allows more than it holds only when it is full, and then owes the rest', () => {
    const bucket = fullBucket(100, 0);
    expect(waitMs(bucket, 250)).toBe(0);
    take(bucket, 250);
    expect(unitsLeft(bucket)).toBe(0);
    // The bucket owes 150 and needs 100: 250 units take 2.5 minutes.
    expect(waitMs(bucket, 250)).toBe(150_000);
    expect(waitMs(bucket, 1)).toBe(90_600);
  });

  test('a bucket accepts returned units, but never more than a full bucket holds', () => {
    const bucket = fullBucket(100, 0);
    take(bucket, 60);
    take(bucket, -40);
    expect(unitsLeft(bucket)).toBe(80);
    take(bucket, -40);
    expect(bucket.left).toBe(100 * MINUTE_MS);
  });

  test('a bucket keeps its relative level when the limit changes, in both directions and below zero', () => {
    fc.assert(
      fc.property(limits, limits, fc.integer({ min: 0, max: 3_000 }), (from, to, permille) => {
        const bucket = fullBucket(from, 0);
        bucket.left = Math.floor((from * MINUTE_MS * (1_000 - permille)) / 1_000);
        const exact = (BigInt(bucket.left) * BigInt(to)) / BigInt(from);
        refill(bucket, to, 0);
        expect(Number.isSafeInteger(bucket.left)).toBe(true);
        expect(bucket.left).toBeLessThanOrEqual(Number(exact));
        expect(bucket.left).toBeGreaterThanOrEqual(Number(exact) - 1);
      }),
      { numRuns, seed },
    );
  });

  test('a bucket stays exact with the largest limit and the longest time', () => {
    const bucket = fullBucket(1_000_000_000, 0);
    for (let i = 0; i < 1_000; i++) take(bucket, 1_000_000_000);
    expect(Number.isSafeInteger(bucket.left)).toBe(true);
    refill(bucket, 1_000_000_000, Number.MAX_SAFE_INTEGER);
    expect(bucket.left).toBe(1_000_000_000 * MINUTE_MS);
  });
});
