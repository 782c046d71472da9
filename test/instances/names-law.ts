import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { bodyOf } from '../../src/access/idempotency/answer.ts';
import { Idempotency, type IdempotencyOptions } from '../../src/access/idempotency/idempotency.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerBooks } from '../../src/store/books.ts';
import type { AnswerRow } from '../../src/store/idempotency.ts';
import { isSameInstance } from '../../src/store/instance.ts';
import type { Repositories } from '../../src/store/repositories.ts';
import { type Store, StoreError, type Write } from '../../src/store/store.ts';
import type { tries } from '../deep/effort.ts';
import { line, NO_TERMS, NOON, order } from '../ledger/support.ts';
import { loneInstance } from '../store/memory/instance.ts';

/** The amount that every request holds, microcredits. */
const RESERVED = 1_000;
/** Timers without regular work, so that a ledger does nothing by itself. */
const STILL: Timers = { ...processTimers, every: () => ({ close: () => {}, unref: () => {} }) };
const NAMES = ['one', 'other'];

/** The requests of a plan: each comes to an instance under a name and ends in a given way. */
interface Request {
  readonly at: number;
  readonly name: number;
  readonly cost: number;
  readonly how: 'answer' | 'loss' | 'nothing';
}

interface Plan {
  readonly requests: readonly Request[];
  /** The instances that die, each after a number of steps. */
  readonly deaths: readonly {
    readonly at: number;
    readonly after: number;
    /** True if the instance goes on working after its lease has ended, because it slept. */
    readonly isLate: boolean;
  }[];
  readonly onCrash: 'charge' | 'release';
}

const plans: fc.Arbitrary<Plan> = fc.record({
  requests: fc.array(
    fc.record({
      at: fc.nat(1),
      name: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
      cost: fc.integer({ min: 1, max: RESERVED }),
      how: fc.constantFrom('answer' as const, 'answer' as const, 'loss' as const, 'nothing' as const),
    }),
    { minLength: 2, maxLength: 6 },
  ),
  deaths: fc.array(fc.record({ at: fc.nat(1), after: fc.nat(40), isLate: fc.boolean() }), { maxLength: 1 }),
  onCrash: fc.constantFrom('charge' as const, 'release' as const),
});

type Rows = Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'idempotency'>;

/** What two instances share in their store. */
interface Shared extends AsyncDisposable {
  readonly handles: readonly { readonly rows: Rows; readonly books: LedgerBooks }[];
}
export type Lay = () => Promise<Shared>;

/** A fault in a store, its books or its rows. */
interface Mutant {
  /** True if finding the mutant takes hundreds of runs, which take minutes with a real database. */
  readonly isRare?: boolean;
  readonly options?: (options: IdempotencyOptions) => IdempotencyOptions;
  readonly books?: (books: LedgerBooks, rows: Rows) => LedgerBooks;
}

/** An answer that a caller got, with the decision that made it. */
interface Delivered {
  readonly name: number;
  readonly decision: number;
  readonly charged: number;
  readonly isKept: boolean;
}

/** The calls that the database has not answered. */
const calls = new Set<Promise<unknown>>();

function noted(result: unknown): unknown {
  if (!(result instanceof Promise)) return result;
  calls.add(result);
  const end = () => void calls.delete(result);
  result.then(end, end);
  return result;
}

/** Resolves once no call is in progress. */
async function answered(): Promise<void> {
  do {
    await Promise.allSettled(calls);
    await setImmediate();
  } while (calls.size > 0);
}

/**
 * A scheduler that waits until the database has answered. Without this scheduler, all steps of a plan would be over before its first call
 * is.
 */
export const inTurns = fc.scheduler({
  act: async (step) => {
    await step();
    await answered();
  },
});

/** Two instances on one store. The scheduler decides when each call is made and when each answer arrives. */
class Race {
  readonly #handles: Shared['handles'];
  readonly #scheduler: fc.Scheduler;
  readonly #mutant: Mutant;
  /** The instances whose lease has ended, and the ones among them that have stopped working. */
  readonly #over = new Set<number>();
  readonly #dead = new Set<number>();
  readonly #deaths = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  /** The decisions that run, with their names. */
  readonly #running = new Map<number, { readonly at: number; readonly name: number }>();
  #decisions = 0;
  readonly delivered: Delivered[] = [];
  readonly holds: { readonly id: number; readonly at: number }[] = [];

  constructor(scheduler: fc.Scheduler, mutant: Mutant, { handles }: Shared) {
    this.#handles = handles;
    this.#scheduler = scheduler;
    this.#mutant = mutant;
  }

  async play({ requests, deaths, onCrash }: Plan): Promise<void> {
    const instances = [await this.#open(0), await this.#open(1)] as const;
    const work = requests.map((request) =>
      Promise.race([this.#serve(instances[request.at]!, request), this.#deaths[request.at]!.promise]),
    );
    const ends = deaths.map(async ({ at, after, isLate }) => {
      for (let step = 0; step < after; step++) await this.#scheduler.schedule(Promise.resolve());
      this.#over.add(at);
      if (isLate) return;
      this.#dead.add(at);
      this.#deaths[at]!.resolve();
    });
    await this.#scheduler.waitFor(Promise.all([...work, ...ends]));
    // What a dead instance has sent may still arrive.
    await answered();
    await this.#sweep(onCrash);
    for (const [name] of NAMES.entries()) {
      const at = this.#over.has(0) ? 1 : 0;
      await this.#scheduler.waitFor(
        this.#serve(instances[at]!, { at, name, cost: 7, how: 'answer' }).then((told) => expect(told).toBe('answered')),
      );
    }
    await this.#check();
  }

  /** Closes the holds of ended instances, as the sweep does. */
  async #sweep(rule: 'charge' | 'release'): Promise<void> {
    const left = this.holds.filter(({ at }) => this.#dead.has(at));
    for (const { id, at } of left) {
      const { books } = this.#handles[1 - at]!;
      if (await books.reservation(id)) await books.apply([{ kind: 'expire', id, at: NOON, rule }]);
    }
  }

  /** Checks that each delivered answer is booked at the price it reported, and that no name has two kept answers. */
  async #check(): Promise<void> {
    for (const { decision, charged, isKept } of this.delivered) {
      const booked = await this.#handles[0]!.books.reservation(decision);
      if (isKept) expect(booked).toMatchObject({ isOpen: false, charged, givenBack: 0 });
      else expect(booked).toMatchObject({ isOpen: false, charged });
    }
    for (const [name] of NAMES.entries()) {
      const kept = this.delivered.filter((one) => one.name === name && one.isKept);
      expect(new Set(kept.map(({ decision }) => decision)).size).toBeLessThanOrEqual(1);
    }
  }

  async #open(at: number) {
    const { options = (given) => given, books: mutate = (given) => given } = this.#mutant;
    const name = { slot: at, epoch: 1 };
    const names = [0, 1].map((slot) => ({ slot, epoch: 1 }));
    const lives = async (other: typeof name) =>
      names.some((one, i) => isSameInstance(one, other) && !this.#over.has(i));
    const { rows, books: own } = this.#handles[at]!;
    const books = mutate(own, rows);
    const ledger = await openLedger({
      books: this.#scheduled(at, books, ['apply', 'reservation']),
      terms: NO_TERMS,
      now: () => NOON,
      idsAbove: 0,
      timers: STILL,
      onAlarm: () => {},
    });
    const scheduled = this.#scheduled(at, rows, ['commit']);
    const idempotency = new Idempotency(
      options({
        store: {
          commit: (writes) => scheduled.commit(writes),
          append: (writes) => scheduled.append(writes),
          idempotency: this.#scheduled(at, rows.idempotency, ['head', 'find']),
        },
        instance: { ...loneInstance(() => NOON, name), lives },
        now: () => NOON,
        timers: STILL,
        isOpen: (id) => ledger.isOpen(id),
        giveBack: (id, note, instead) => ledger.giveBack(id, note, instead),
      }),
    );
    return { ledger, idempotency };
  }

  /**
   * Makes the calls of a part wait for the scheduler, before each call and before each answer. A dead instance makes no calls and gets no
   * answers.
   */
  #scheduled<Part extends object>(at: number, part: Part, names: readonly (keyof Part)[]): Part {
    const gone = () => new Promise<never>(() => {});
    const call = (value: CallableFunction, given: readonly unknown[]) => async () => {
      await this.#scheduler.schedule(Promise.resolve());
      if (this.#dead.has(at)) return gone();
      const settled = await Promise.allSettled([noted(Reflect.apply(value, part, given))]);
      await this.#scheduler.schedule(Promise.resolve());
      if (this.#dead.has(at)) return gone();
      const [result] = settled;
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    };
    return new Proxy(part, {
      get: (_, key) => {
        const value: unknown = Reflect.get(part, key);
        if (typeof value !== 'function') return value;
        if (names.some((name) => name === key)) return (...given: unknown[]) => call(value, given)();
        return (...given: unknown[]) => (this.#dead.has(at) ? gone() : noted(Reflect.apply(value, part, given)));
      },
    });
  }

  /** Runs a request from its arrival to its answer. */
  async #serve(
    { ledger, idempotency }: { readonly ledger: Ledger; readonly idempotency: Idempotency },
    { at, name, cost, how }: Request,
  ): Promise<'answered' | 'refused'> {
    const claim = await idempotency.claim({
      ...{ keyId: 'key', secret: 'secret', body: Buffer.from('body') },
      idempotencyKey: NAMES[name]!,
    });
    if (claim.kind === 'replay') {
      const [decision, charged] = bodyOf((await claim.open())!)
        .split(' ')
        .map(Number);
      this.delivered.push({ name, decision: decision!, charged: charged!, isKept: true });
      return 'answered';
    }
    if (claim.kind !== 'run') return claim.kind === 'in-flight' ? 'refused' : 'answered';
    const { run } = claim;
    const id = order(1).id + ++this.#decisions * 1_000;
    let hold: Awaited<ReturnType<typeof ledger.reserve>>;
    try {
      this.holds.push({ id, at });
      hold = await ledger.reserve({ ...order(RESERVED, { id }), also: [run.claim(id)] });
    } catch (cause) {
      if (!(cause instanceof StoreError) || cause.reason !== 'unmet') throw cause;
      await run.drop();
      return 'refused';
    }
    if ('why' in hold) throw new Error('nothing limits it');
    this.#begin(id, at, name);
    await this.#scheduler.schedule(Promise.resolve());
    const settling = hold.settle(how === 'nothing' ? null : line(cost), () => []);
    this.#running.delete(id);
    const { charged } = await settling;
    if (how === 'answer') await run.keep({ status: 200, headers: {}, body: `${id} ${charged}` });
    else if (how === 'loss') await run.lose();
    else await run.drop();
    // If the answer came late, a repeat may have got the charge refunded, and its caller knows.
    this.delivered.push({ name, decision: id, charged, isKept: how === 'answer' && !this.#over.has(at) });
    return 'answered';
  }

  /** Calls a provider. Each name may run on at most one living instance at a time. */
  #begin(id: number, at: number, name: number): void {
    const beside = [...this.#running.values()].filter((one) => one.name === name && !this.#dead.has(one.at));
    expect(beside).toEqual([]);
    this.#running.set(id, { at, name });
  }
}

/** A mutant that overwrites any existing row once the hold is granted. */
function unconditional(books: LedgerBooks, store: Rows): LedgerBooks {
  const { idempotency: table } = store;
  const rows = new WeakMap<Write, AnswerRow>();
  const { claim } = table;
  table.claim = (row, seen) => {
    const write = claim(row, seen);
    rows.set(write, row);
    return write;
  };
  const put = async (row: AnswerRow) => {
    const present = await table.find(row.name);
    await store.commit([present ? table.replace(present, row) : claim(row, null)]);
  };
  return new Proxy(books, {
    get: (_, key) => {
      const value: unknown = Reflect.get(books, key);
      if (typeof value !== 'function') return value;
      if (key !== 'apply') return value.bind(books);
      return async (ops: Parameters<LedgerBooks['apply']>[0], also: readonly Write[] = []) => {
        const results = await books.apply(ops);
        for (const write of also) await put(rows.get(write)!);
        return results;
      };
    },
  });
}

const MUTANTS: Readonly<Record<string, Mutant>> = {
  'a claim overwrites any existing row': { books: unconditional },
  'the owner of a running row is not checked': {
    options: (options) => ({ ...options, instance: { ...options.instance, lives: async () => false } }),
  },
  'an instance that has ended owns its rows forever': {
    options: (options) => ({ ...options, instance: { ...options.instance, lives: async () => true } }),
  },
  'an open hold counts as closed': {
    isRare: true,
    options: (options) => ({ ...options, isOpen: async () => false }),
  },
};

export const LAW = 'at most one of two instances runs a request of a name at a time, and its price is booked';

interface Place {
  readonly name: string;
  readonly lay: Lay;
  /** Decides which call or answer comes next. */
  readonly turns: fc.Arbitrary<fc.Scheduler>;
  readonly runs: ReturnType<typeof tries>;
  /** How many histories may be needed to find a mutant. */
  readonly mutantRuns: number;
  readonly mutants: (mutant: Mutant) => boolean;
}

/** Tests the law with two instances on a store. */
export function overNames({ name, lay, turns, runs, mutantRuns, mutants }: Place): void {
  const law = (mutant: Mutant = {}) =>
    fc.asyncProperty(plans, turns, async (plan, scheduler) => {
      await using shared = await lay();
      await new Race(scheduler, mutant, shared).play(plan);
    });

  test(`in ${name} ${LAW}`, async () => {
    await fc.assert(law(), { ...runs, endOnFailure: true });
  });

  for (const [what, mutant] of Object.entries(MUTANTS).filter(([, mutant]) => mutants(mutant))) {
    test(`in ${name} the law of request names fails if ${what}`, async () => {
      const { failed } = await fc.check(law(mutant), { numRuns: mutantRuns, seed: runs.seed, endOnFailure: true });
      expect(failed).toBe(true);
    });
  }
}
