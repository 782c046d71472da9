import { describe, expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { bodyOf } from '../../../src/access/idempotency/answer.ts';
import { Idempotency, type IdempotencyOptions } from '../../../src/access/idempotency/idempotency.ts';
import { type IdempotentRun, NameTaken } from '../../../src/access/idempotency/run.ts';
import { RunWaits, Waiter } from '../../../src/access/idempotency/waits.ts';
import type { Timer, Timers } from '../../../src/core/time/timers.ts';
import type { Repositories } from '../../../src/store/repositories.ts';
import type { Store } from '../../../src/store/store.ts';
import { tries } from '../../deep/effort.ts';
import { loneInstance } from '../../store/memory/instance.ts';
import { storeInMemory } from '../../store/memory/store.ts';

/** Repeated requests under two names, at two servers on one store. Times are in ms. */
interface Repeat {
  readonly server: number;
  readonly name: number;
  readonly body: number;
  readonly secret: number;
  readonly at: number;
  /** How long the run of the request takes, if it runs. */
  readonly runs: number;
  readonly how: 'kept' | 'lost' | 'free';
  /** When the caller disconnects, counted from the request; null if the caller stays. */
  readonly leaves: number | null;
  readonly deadline: number;
}

interface Schedule {
  readonly repeats: readonly Repeat[];
  /** When each server stops waiting; null for a server that continues. */
  readonly stops: readonly (number | null)[];
}

/** How often a row is polled, ms. */
const POLL_MS = 1_000;
/** Only a few different times, so that events often happen at the same time. */
const time = (max: number): fc.Arbitrary<number> => fc.nat(max / 500).map((count) => count * 500);
const seldom = <T>(value: T, other: T) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: fc.constant(other) });

const schedules: fc.Arbitrary<Schedule> = fc.record({
  repeats: fc.array(
    fc.record({
      server: fc.nat(1),
      name: seldom(0, 1),
      body: seldom(0, 1),
      secret: seldom(0, 1),
      at: time(4_000),
      runs: time(6_000),
      how: fc.constantFrom('kept' as const, 'lost' as const, 'free' as const),
      leaves: fc.option(time(6_000)),
      deadline: time(12_000),
    }),
    { minLength: 2, maxLength: 8 },
  ),
  stops: fc.tuple(fc.option(time(10_000), { freq: 2, nil: null }), fc.constant(null)),
});

/** A clock that moves from one timer to the next. */
class Clock implements Timers {
  now = 0;
  readonly #timers = new Set<{ at: number; readonly every: number | null; readonly run: () => void }>();

  get size(): number {
    return this.#timers.size;
  }

  after = (ms: number, run: () => void): Timer => this.#set(ms, null, run);
  every = (ms: number, run: () => void): Timer => this.#set(ms, ms, run);
  sleep = (ms: number): Promise<void> => new Promise((resolve) => void this.after(ms, resolve));

  /** Moves to the next time and fires all timers of that time. */
  move(): void {
    if (this.size === 0) throw new Error('a request waits for something that never happens');
    this.now = Math.min(...[...this.#timers].map(({ at }) => at));
    for (const timer of [...this.#timers]) {
      if (timer.at > this.now) continue;
      if (timer.every === null) this.#timers.delete(timer);
      else timer.at += timer.every;
      timer.run();
    }
  }

  #set(ms: number, every: number | null, run: () => void): Timer {
    const timer = { at: this.now + ms, every, run };
    this.#timers.add(timer);
    return { unref: () => {}, close: () => this.#timers.delete(timer) };
  }
}

interface Mutant {
  readonly infect?: () => () => void;
  readonly options?: (options: IdempotencyOptions) => IdempotencyOptions;
}

/** Plays a schedule. Calls of the store run in the order of the scheduler and take no time. */
class Play {
  readonly #scheduler: fc.Scheduler;
  readonly #clock = new Clock();
  /** When servers stopped waiting. */
  readonly #stopped = new Map<number, number>();
  readonly #servers: readonly Idempotency[];
  /** Names for which a provider is being called. */
  readonly #running = new Set<number>();
  /** For each name, how many claimed runs have not ended, and when the last run ended. */
  readonly #claimed = new Map<number, number>();
  readonly #endedAt = new Map<number, number>();
  /** The stored answer of each name. */
  readonly #kept = new Map<number, string>();
  #decisions = 0;
  readonly counts = new Map<string, number>();

  constructor(scheduler: fc.Scheduler, { options = (given) => given }: Mutant) {
    this.#scheduler = scheduler;
    const rows = storeInMemory();
    this.#servers = [0, 1].map((slot) => {
      const instance = { ...loneInstance(() => this.#clock.now, { slot, epoch: 1 }), lives: async () => true };
      return new Idempotency(
        options({
          store: this.#scheduled(rows),
          ...{ instance, now: () => this.#clock.now, timers: this.#clock },
          isOpen: async () => false,
          giveBack: async () => 0,
        }),
      );
    });
  }

  async play({ repeats, stops }: Schedule): Promise<void> {
    stops.forEach((at, server) => {
      if (at !== null) this.#clock.after(at, () => this.#stop(server));
    });
    let isDone = false;
    const work = Promise.all(repeats.map((repeat) => this.#answer(repeat))).finally(() => {
      isDone = true;
    });
    work.catch(() => {});
    while (!isDone) {
      if (this.#scheduler.count() > 0) await this.#scheduler.waitOne();
      await setImmediate();
      if (!isDone && this.#scheduler.count() === 0) this.#clock.move();
    }
    await work;
  }

  #stop(server: number): void {
    this.#stopped.set(server, this.#clock.now);
    this.#servers[server]!.stopWaiting();
  }

  async #answer(repeat: Repeat): Promise<void> {
    const clock = this.#clock;
    await clock.sleep(repeat.at);
    const leaving = new AbortController();
    const leave = repeat.leaves === null ? null : clock.after(repeat.leaves, () => leaving.abort());
    const limit = Math.min(repeat.at + repeat.deadline, repeat.at + (repeat.leaves ?? Number.POSITIVE_INFINITY));
    for (;;) {
      const claim = await this.#servers[repeat.server]!.claimInTurn(
        {
          ...{ keyId: 'key', secret: `secret ${repeat.secret}`, idempotencyKey: `name ${repeat.name}` },
          body: Buffer.from(`body ${repeat.body}`),
        },
        { signal: leaving.signal, ms: repeat.at + repeat.deadline - clock.now },
      );
      this.#count(claim.kind);
      if (claim.kind === 'run' && !(await this.#counted(repeat.name, () => this.#run(claim.run, repeat)))) continue;
      leave?.close();
      if (claim.kind === 'replay') expect(bodyOf((await claim.open())!)).toBe(this.#kept.get(repeat.name)!);
      const stopped = this.#stopped.get(repeat.server) ?? Number.POSITIVE_INFINITY;
      if (claim.kind !== 'run') expect(clock.now).toBeLessThanOrEqual(Math.max(Math.min(limit, stopped), repeat.at));
      if (claim.kind === 'in-flight' && claim.isEqual) this.#mayEnd(repeat, limit);
      return;
    }
  }

  /**
   * Checks a wait that ended without an answer: it must have reached a limit, and the name must still be running, or have ended since the
   * last poll.
   */
  #mayEnd({ name, server }: Repeat, limit: number): void {
    const { now } = this.#clock;
    expect(now === limit || this.#stopped.has(server)).toBe(true);
    expect(this.#claimed.get(name)! > 0 || now - this.#endedAt.get(name)! <= POLL_MS).toBe(true);
  }

  async #counted<T>(name: number, run: () => Promise<T>): Promise<T> {
    this.#claimed.set(name, (this.#claimed.get(name) ?? 0) + 1);
    try {
      return await run();
    } finally {
      this.#claimed.set(name, this.#claimed.get(name)! - 1);
      this.#endedAt.set(name, this.#clock.now);
    }
  }

  /** Returns false if another server has claimed the name. */
  async #run(run: IdempotentRun, { name, runs, how }: Repeat): Promise<boolean> {
    const decision = ++this.#decisions;
    try {
      await run.begin(decision);
    } catch (cause) {
      await run.drop();
      if (cause instanceof NameTaken) return false;
      throw cause;
    }
    // The provider is called at this point.
    expect([this.#running.has(name), this.#kept.has(name)]).toEqual([false, false]);
    this.#running.add(name);
    await this.#clock.sleep(runs);
    this.#running.delete(name);
    const body = `answer ${decision}`;
    if (how === 'kept') this.#kept.set(name, body);
    if (how === 'kept') await run.keep({ status: 200, headers: {}, body });
    else if (how === 'lost') await run.lose();
    else await run.drop();
    return true;
  }

  /** Each call of the store, and each answer, happens when the scheduler allows it. */
  #scheduled(rows: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'idempotency'>): IdempotencyOptions['store'] {
    const turn = () => this.#scheduler.schedule(Promise.resolve());
    const head: typeof rows.idempotency.head = async (name) => {
      await turn();
      const row = await rows.idempotency.head(name);
      await turn();
      return row;
    };
    return {
      async commit(writes) {
        await turn();
        await rows.commit(writes);
        await turn();
      },
      append: (writes) => rows.append(writes),
      idempotency: new Proxy(rows.idempotency, {
        get: (table, key) => (key === 'head' ? head : Reflect.get(table, key)),
      }),
    };
  }

  /** Checks that no waiting repeat is left. */
  finish(): void {
    const stops = this.#clock;
    while (stops.size > 0 && stops.now < 60_000) stops.move();
    expect(stops.size).toBe(0);
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

const counts = new Map<string, number>();

const law = (mutant: Mutant = {}) =>
  fc.asyncProperty(schedules, fc.scheduler(), async (schedule, scheduler) => {
    const play = new Play(scheduler, mutant);
    await play.play(schedule);
    play.finish();
    for (const [what, count] of play.counts) counts.set(what, (counts.get(what) ?? 0) + count);
  });

const LAW =
  'equal repeats call the provider one at a time and never after a stored answer, get that answer, and end at the limits of their wait';
const { seed, ...runs } = tries(LAW, 150, 20_000);

test(LAW, async () => {
  await fc.assert(law(), { ...runs, seed, endOnFailure: true });
  // The test proves nothing about a kind of result that never occurs.
  for (const kind of ['run', 'replay', 'in-flight', 'reused', 'unavailable'])
    expect([kind, (counts.get(kind) ?? 0) > 0]).toEqual([kind, true]);
});

/** Replaces a method until the returned function is called. */
function replaced<Part extends object, Name extends keyof Part>(part: Part, name: Name, other: Part[Name]): () => void {
  const own = part[name];
  part[name] = other;
  return () => {
    part[name] = own;
  };
}

const MUTANTS: Readonly<Record<string, Mutant>> = {
  'the end of a run wakes no repeat': { infect: () => replaced(RunWaits.prototype, 'wake', () => {}) },
  'the row of a run on another server is not read again': {
    options: (options) => ({
      ...options,
      timers: {
        after: options.timers.after.bind(options.timers),
        every: () => ({ unref: () => {}, close: () => {} }),
      },
    }),
  },
  'a wait has no limits': { infect: () => replaced(Waiter.prototype, 'limit', () => {}) },
  'a wait continues after a shutdown has begun': { infect: () => replaced(RunWaits.prototype, 'close', () => {}) },
  'a repeat that has ended stays in the list of waiting repeats': {
    infect: () => replaced(Waiter.prototype, Symbol.dispose, () => {}),
  },
  'a server that runs a request counts as dead': {
    options: (options) => ({ ...options, instance: { ...options.instance, lives: async () => false } }),
  },
};

describe('the law of waiting repeats notices that', () => {
  for (const [what, mutant] of Object.entries(MUTANTS)) {
    test(what, async () => {
      const cure = mutant.infect?.() ?? (() => {});
      try {
        const { failed } = await fc.check(law(mutant), { numRuns: 5_000, seed, endOnFailure: true });
        expect(failed).toBe(true);
      } finally {
        cure();
      }
    });
  }
});
