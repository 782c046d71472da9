import { describe, expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { RefusalRecord } from '../../../src/core/decision/refusal.ts';
import { REFUSALS_A_DAY, REFUSALS_A_MINUTE, RefusalLog } from '../../../src/gateway/records/refusal-log.ts';
import type { Store, Write } from '../../../src/store/store.ts';
import { tries } from '../../deep/effort.ts';
import { refusalOf } from '../../store/suites/records.ts';
import { HandTimers } from '../../support/hand-timers.ts';

/** A store that holds commits until the test answers them. */
class HeldStore implements Pick<Store, 'commit'> {
  /** The refusals that were stored. */
  readonly stored: RefusalRecord[] = [];
  /** The most commits that waited together. */
  mostWaiting = 0;
  isRefusing = false;
  readonly #waiting: (() => void)[] = [];
  readonly #isHeld: () => boolean;

  constructor(isHeld: () => boolean) {
    this.#isHeld = isHeld;
  }

  readonly refuse = (refusal: RefusalRecord): Write => refusal as unknown as Write;

  async commit(writes: readonly Write[]): Promise<void> {
    if (this.#isHeld()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      this.mostWaiting = Math.max(this.mostWaiting, this.#waiting.length);
      await promise;
    }
    if (this.isRefusing) throw new Error('the disk is full');
    this.stored.push(...(writes as unknown as RefusalRecord[]));
  }

  answer(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const sumOf = (refusals: readonly RefusalRecord[]): number => refusals.reduce((sum, { answers }) => sum + answers, 0);

const CODES = ['model_not_found', 'rate_limit_exceeded'] as const;
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      key: fc.constantFrom('', 'a', 'b', 'c'),
      code: fc.nat(1),
      times: fc.constantFrom(1, 50, 400),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 20_000, 61_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('fire' as const, 'hold' as const, 'answer' as const, 'fill' as const, 'empty' as const),
    }),
  },
);

/** The user of two of the keys. */
const USER_OF: Readonly<Record<string, string>> = { b: 'user_u', c: 'user_u' };

type MakeLog = (options: ConstructorParameters<typeof RefusalLog>[0]) => Pick<RefusalLog, 'add' | 'close' | 'ends'>;

/**
 * The law: after any refusals, whether the store is full, slow or neither, each answer was stored or dropped exactly once; each caller has at
 * most `REFUSALS_A_MINUTE` records of one answer in a minute, and each key one record for each code; and at most a batch waits for the store.
 */
const lawOf = (make: MakeLog) =>
  fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
    const timers = new HandTimers();
    let isHeld = false;
    let [time, id, added] = [Date.UTC(2026, 10, 20), 0, 0];
    const store = new HeldStore(() => isHeld);
    const log = make({ store, log: store, timers, now: () => time });
    for (const one of steps) {
      if (one.kind === 'add') {
        for (let n = 0; n < one.times; n++)
          log.add(
            refusalOf({ id: ++id, time, keyId: one.key, user: USER_OF[one.key] ?? null, code: CODES[one.code]! }),
          );
        added += one.times;
      } else if (one.kind === 'wait') time += one.ms;
      else if (one.kind === 'fire') timers.fire();
      else if (one.kind === 'hold') isHeld = true;
      else if (one.kind === 'answer') {
        isHeld = false;
        store.answer();
      } else store.isRefusing = one.kind === 'fill';
      await setImmediate();
    }
    isHeld = false;
    store.answer();
    await log.close();
    if (log.ends.stored + log.ends.dropped !== added || sumOf(store.stored) !== log.ends.stored) return false;
    const minuteOf = ({ keyId, user, time: at }: RefusalRecord) => `${user ?? keyId} ${Math.floor(at / 60_000)}`;
    const minutes = [...Map.groupBy(store.stored, minuteOf).values()];
    const isBounded = (refusals: readonly RefusalRecord[]) => {
      const single = refusals.filter(({ model }) => model !== '');
      const isKnown = refusals[0]!.keyId !== '';
      const keys = new Set(refusals.map(({ keyId }) => keyId)).size;
      const counted = refusals.length - single.length;
      return single.length <= (isKnown ? REFUSALS_A_MINUTE : 0) && counted <= keys * CODES.length;
    };
    return minutes.every(isBounded) && store.mostWaiting <= 50;
  });

const whole: MakeLog = (options) => new RefusalLog(options);

/** Wrong implementations that the law must reject. */
const MUTANTS: Readonly<Record<string, MakeLog>> = {
  'has no limit': ({ store, log }) => {
    const ends = { stored: 0, dropped: 0 };
    return {
      ends,
      add: (refusal) => {
        ends.stored++;
        void store.commit([log.refuse(refusal)]).catch(() => {
          ends.stored--;
          ends.dropped++;
        });
      },
      close: () => setImmediate(),
    };
  },
  'counts for keys instead of users': (options) => {
    const refuse = (refusal: RefusalRecord) => options.log.refuse({ ...refusal, user: USER_OF[refusal.keyId] ?? null });
    const own = new RefusalLog({ ...options, log: { refuse } });
    return { ends: own.ends, add: (refusal) => own.add({ ...refusal, user: null }), close: () => own.close() };
  },
  'forgets the number of a minute': (options) => {
    const own = new RefusalLog(options);
    return { ends: own.ends, add: (refusal) => own.add(refusal), close: () => own.flush() };
  },
};

describe('the log of refusals', () => {
  test('stores or drops each answer once, within its limits, however full or slow the store is', async () => {
    await fc.assert(lawOf(whole), tries('refusals', 60, 3_000));
  });

  test.each(Object.entries(MUTANTS))('the law rejects a log that %s', async (_, mutant) => {
    expect((await fc.check(lawOf(mutant), { numRuns: 200, endOnFailure: true, seed: 7 })).failed).toBe(true);
  });

  test('drops and counts refusals while the store is slow, and never waits for it', async () => {
    const timers = new HandTimers();
    const store = new HeldStore(() => true);
    const log = new RefusalLog({ store, log: store, timers, now: () => 0 });
    for (let key = 0; key < 2_000; key++) log.add(refusalOf({ id: key + 1, keyId: `k${key}` }));
    // A new caller gets at most half of what the others leave, so the last place stays free.
    expect(log.ends).toEqual({ stored: 0, dropped: 1_001 });
    timers.fire();
    await setImmediate();
    expect(store.mostWaiting).toBe(50);
    expect(store.stored).toEqual([]);
  });

  test('stores all refusals of a caller while a user with many keys, or a line of keys, floods it', async () => {
    for (const of of [
      (key: number) => ({ keyId: `k${key}`, user: 'user_u' }),
      (key: number) => ({ keyId: `k${key}` }),
    ]) {
      const timers = new HandTimers();
      let isHeld = true;
      const store = new HeldStore(() => isHeld);
      let time = 0;
      const log = new RefusalLog({ store, log: store, timers, now: () => time });
      const CODES_OF_FLOOD = ['model_not_found', 'invalid_value', 'unknown_field', 'context_length_exceeded'] as const;
      let id = 0;
      for (let minute = 0; minute < 3; minute++) {
        time = minute * 60_000;
        for (let key = 0; key < 1_000; key++)
          for (const code of CODES_OF_FLOOD) log.add(refusalOf({ id: ++id, time, code, ...of(key) }), 'line');
        for (let n = 0; n < 15; n++) log.add(refusalOf({ id: ++id, time, keyId: 'bystander' }));
      }
      isHeld = false;
      store.answer();
      await log.close();
      expect(store.stored.filter(({ keyId }) => keyId === 'bystander')).toHaveLength(45);
      const single = store.stored.filter(({ keyId, model }) => keyId !== 'bystander' && model !== '');
      expect(single.length).toBeLessThanOrEqual(3 * REFUSALS_A_MINUTE);
    }
  });

  test('has a bound for each day, of which callers that flood it leave a part to the others', async () => {
    const timers = new HandTimers();
    const store = new HeldStore(() => false);
    const log = new RefusalLog({ store, log: store, timers, now: () => 0 });
    let [id, time] = [0, 0];
    /** Each of many keys is refused as often as is stored one by one in a minute. */
    const flood = async () => {
      for (let key = 0; key < 8; key++)
        for (let n = 0; n < REFUSALS_A_MINUTE; n++) log.add(refusalOf({ id: ++id, time, keyId: `k${key}` }));
      await log.flush();
      time += 60_000;
    };
    while (time < 1_000 * 60_000) await flood();
    expect(store.stored.length).toBeGreaterThan(REFUSALS_A_DAY * 0.8);
    expect(store.stored.length).toBeLessThanOrEqual(REFUSALS_A_DAY);
    log.add(refusalOf({ id: ++id, time, keyId: 'bystander' }));
    await log.flush();
    expect(store.stored.at(-1)?.keyId).toBe('bystander');
    // The next day begins anew.
    time = 24 * 60 * 60_000;
    const before = store.stored.length;
    await flood();
    expect(store.stored.length - before).toBeGreaterThanOrEqual(8 * REFUSALS_A_MINUTE);
  });
});
