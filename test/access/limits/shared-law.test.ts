import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { fullBucket, refill, take, unitsLeft } from '../../../src/access/limits/bucket.ts';
import { Limiter } from '../../../src/access/limits/limiter.ts';
import type { Quota } from '../../../src/access/limits/quota.ts';
import { SharedCounts } from '../../../src/access/limits/shared-counts.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import type { RateDemand, RateGrant, RateStore } from '../../../src/store/rates.ts';
import { StoreError } from '../../../src/store/store.ts';
import { effort } from '../../deep/effort.ts';
import { VirtualClock } from '../../store/hostile/clock.ts';
import { MemoryRates } from '../../store/memory/rates.ts';
import { callerNamed } from '../../support/request-context.ts';

/**
 * Servers share limits by slices. Requests arrive at any server at any time, servers die with their slices, and the store refuses or its
 * answer is lost. All servers together must allow no more than one bucket would. A server that is alone gets all of the limit except two
 * seconds of the rate.
 */
const { runs, seed, proved } = effort('shared limits', 30, 3_000);

const INSTANCES = 3;
const START = 1_000_000;

type Step =
  | { readonly kind: 'ask'; readonly at: number; readonly requests: number; readonly waitMs: number }
  | { readonly kind: 'die'; readonly at: number }
  | { readonly kind: 'fail'; readonly isDone: boolean };

const ask = fc.record({
  kind: fc.constant('ask' as const),
  at: fc.nat(INSTANCES - 1),
  requests: fc.oneof({ weight: 12, arbitrary: fc.integer({ min: 1, max: 6 }) }, fc.integer({ min: 100, max: 700 })),
  waitMs: fc.oneof({ weight: 6, arbitrary: fc.nat(300) }, fc.nat(3_000)),
});
const fault = fc.oneof(
  fc.record({ kind: fc.constant('die' as const), at: fc.nat(INSTANCES - 1) }),
  fc.record({ kind: fc.constant('fail' as const), isDone: fc.boolean() }),
);
/** A few requests for a while, and then many: units taken in advance are missing while the bucket is full. */
const steady = fc
  .tuple(fc.nat(INSTANCES - 1), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 100, max: 300 }))
  .map(([at, requests, waitMs]): Step[] => [
    ...Array.from({ length: 12 }, (): Step => ({ kind: 'ask', at, requests, waitMs })),
    { kind: 'ask', at: (at + 1) % INSTANCES, requests: 700, waitMs: 0 },
    { kind: 'ask', at, requests: 50, waitMs: 0 },
  ]);
const one = (step: fc.Arbitrary<Step>) => step.map((step): Step[] => [step]);
const history = (faults: boolean) =>
  fc.record({
    perMinute: fc.constantFrom(10, 60, 240, 600),
    steps: fc
      .array(
        fc.oneof(
          { weight: 8, arbitrary: one(ask) },
          { weight: 2, arbitrary: steady },
          { weight: faults ? 2 : 0, arbitrary: one(fault) },
        ),
        { minLength: 1, maxLength: 12 },
      )
      .map((steps) => steps.flat()),
  });
type History = ReturnType<typeof history> extends fc.Arbitrary<infer One> ? One : never;

interface Rival {
  /** The limits in the store. */
  readonly rates?: (now: () => number) => MemoryRates;
  /** Returns the clock of a server for a time of the store. */
  readonly clock?: (now: number) => number;
}

/** Servers that share a store in memory, in virtual time. */
class SharedLimits {
  readonly clock = new VirtualClock(START);
  readonly perMinute: number;
  /** How much a single bucket would have left. */
  readonly bucket;
  readonly #rates: MemoryRates;
  readonly #rival: Rival;
  readonly #limiters: Limiter[];
  #fault: 'refused' | 'lost' | null = null;
  isOver = false;

  constructor(perMinute: number, rival: Rival) {
    this.perMinute = perMinute;
    this.bucket = fullBucket(perMinute, START);
    this.#rival = rival;
    const now = () => this.clock.now();
    this.#rates = rival.rates?.(now) ?? new MemoryRates(now, () => true);
    this.#limiters = Array.from({ length: INSTANCES }, (_, slot) => this.#instance(slot));
  }

  /** @returns how many were admitted */
  async ask(at: number, requests: number): Promise<number> {
    const limits = { requestsPerMinute: this.perMinute, tokensPerMinute: null, concurrentStreams: null };
    const caller = { ...callerNamed('k'), limits };
    const admit = async (): Promise<Quota | null> => this.#limiters[at]!.admit([], caller, '');
    const ends = await Promise.allSettled(Array.from({ length: requests }, admit));
    let admitted = 0;
    for (const end of ends) {
      if (end.status === 'rejected' && !(end.reason instanceof SignalboxError)) throw end.reason;
      if (end.status === 'rejected' || !end.value) continue;
      end.value.close();
      admitted++;
      refill(this.bucket, this.perMinute, this.clock.now());
      if (unitsLeft(this.bucket) < 1) this.isOver = true;
      take(this.bucket, 1);
    }
    return admitted;
  }

  die(at: number): void {
    this.#limiters[at] = this.#instance(at);
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.kind === 'die') this.die(step.at);
      else if (step.kind === 'fail') this.#fault = step.isDone ? 'lost' : 'refused';
      else {
        await this.ask(step.at, step.requests);
        await this.clock.pass(step.waitMs);
      }
    }
  }

  #instance(slot: number): Limiter {
    const now = () => this.#rival.clock?.(this.clock.now()) ?? this.clock.now();
    const store = async (demands: readonly RateDemand[]): Promise<readonly RateGrant[]> => {
      const fault = this.#fault;
      this.#fault = null;
      if (fault === 'refused') throw new StoreError('away');
      const grants = this.#rates.take({ slot, epoch: 1 }, demands);
      if (fault === 'lost') throw new StoreError('lost', { reason: 'unknown' });
      return grants;
    };
    return limiterOn(this.clock, store, now);
  }
}

function limiterOn(clock: VirtualClock, take: RateStore['take'], now = () => clock.now()): Limiter {
  const after = (ms: number, run: () => void) => {
    const close = clock.after(ms, run);
    return { unref: () => {}, close };
  };
  const every = () => {
    throw new Error('nothing may be scheduled regularly');
  };
  return new Limiter(now, undefined, {
    counts: new SharedCounts({ take }, now, { after, every }),
    newest: { newer: null },
  });
}

const noMore = (rival: Rival = {}) =>
  fc.asyncProperty(history(true), async ({ perMinute, steps }) => {
    const shared = new SharedLimits(perMinute, rival);
    await shared.run(steps);
    return !shared.isOver;
  });

/** All other servers die in the middle of their work, with the units that they have. */
const noLess = (rival: Rival = {}) =>
  fc.asyncProperty(history(false), async ({ perMinute, steps }: History) => {
    const shared = new SharedLimits(perMinute, rival);
    await shared.run(steps);
    for (let at = 1; at < INSTANCES; at++) shared.die(at);
    refill(shared.bucket, perMinute, shared.clock.now());
    const fair = unitsLeft(shared.bucket) + Math.floor((perMinute * 20) / 60);
    let admitted = 0;
    for (let spent = 0; spent <= 20_000; spent += 250) {
      admitted += await shared.ask(0, spent === 0 ? perMinute : Math.ceil(perMinute / 60));
      await shared.clock.pass(250);
    }
    return admitted >= fair - 2 * Math.ceil(perMinute / 60);
  });

test('servers that share a rate limit together allow no more than one bucket, whatever dies or fails', async () => {
  await fc.assert(noMore(), { numRuns: runs, seed });
  proved('servers that share a limit by slices allow no more than one bucket would');
});

test('a server that is alone gets all of the limit except two seconds of the rate', async () => {
  await fc.assert(noLess(), { numRuns: runs, seed });
});

class FullBuckets extends MemoryRates {
  protected override room(most: number): number {
    return super.room(most, 0);
  }
}

class Forgetful extends MemoryRates {
  override take(...[name, demands]: Parameters<MemoryRates['take']>): RateGrant[] {
    return super.take(
      name,
      demands.map((demand) => ({ ...demand, back: demand.back + demand.ahead })),
    );
  }
}

class Miser extends MemoryRates {
  protected override room(most: number, out: number): number {
    return super.room(most, out + Math.ceil(most / 10));
  }
}

const MUTANTS: Readonly<Record<string, () => ReturnType<typeof noMore> | ReturnType<typeof noLess>>> = {
  'buckets become full although units are out': () => noMore({ rates: (now) => new FullBuckets(now, () => true) }),
  'a server keeps its units for ten seconds': () => noMore({ clock: (now) => START + (now - START) / 10 }),
  'units taken in advance are not debited': () => noMore({ rates: (now) => new Forgetful(now, () => true) }),
  'a tenth of each limit is kept back': () => noLess({ rates: (now) => new Miser(now, () => true) }),
};

for (const [name, law] of Object.entries(MUTANTS))
  test(`the law of shared limits fails if ${name}`, async () => {
    const { failed } = await fc.check(law(), { numRuns: 400, seed, endOnFailure: true });
    expect(failed).toBe(true);
  });

test('units returned by many answers go to the store together, and count on another server 50 ms later', async () => {
  const clock = new VirtualClock(START);
  const rates = new MemoryRates(
    () => clock.now(),
    () => true,
  );
  let asked = 0;
  const [one, other] = [0, 1].map((slot) =>
    limiterOn(clock, async (demands) => {
      asked++;
      return rates.take({ slot, epoch: 1 }, demands);
    }),
  );
  const limits = { requestsPerMinute: null, tokensPerMinute: 60_000, concurrentStreams: null };
  const begun = async (limiter: Limiter, tokens: number) => {
    const quota = await limiter.admit([], { ...callerNamed('k'), limits }, '');
    await quota!.begin(false, tokens);
    return quota!;
  };
  const quotas = await Promise.all(Array.from({ length: 50 }, () => begun(one!, 1_000)));
  asked = 0;
  for (const quota of quotas) {
    quota.end(0);
    quota.close();
    await Promise.resolve();
  }
  expect(asked).toBe(0);
  await clock.pass(50);
  expect(asked).toBe(1);
  await begun(other!, 50_000);
});
