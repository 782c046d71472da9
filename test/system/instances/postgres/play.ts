import { closeOrphans } from '../../../../src/ledger/orphans.ts';
import type { LedgerBooks, LedgerOp, OpResult } from '../../../../src/store/books.ts';
import { type InstanceName, nameOf } from '../../../../src/store/instance.ts';
import type { LeaseChange } from '../../../../src/store/lease.ts';
import { type RateDemand, rateOrder } from '../../../../src/store/rates.ts';
import { StoreError, type Write } from '../../../../src/store/store.ts';
import { type Step as BookStep, plain, Things } from '../../../store/books-steps.ts';
import { VirtualClock } from '../../../store/hostile/clock.ts';
import { FRIENDLY } from '../../../store/hostile/faults.ts';
import { type HostileStore, World } from '../../../store/hostile/world.ts';
import { NOON } from '../../../store/suites/books.ts';
import { type Fate, madeBy, type OwnWrite, type Size, type Step } from './steps.ts';

/** The calls in the order in which they arrive at the store. */
export type Asked =
  | {
      readonly what: 'apply' | 'append';
      readonly ops: readonly LedgerOp[];
      readonly also: Riders | null;
      /** Operations on the same thing may go to the database together. */
      readonly on: number;
    }
  | { readonly what: 'commit'; readonly writes: Riders }
  | { readonly what: 'rates'; readonly demands: readonly RateDemand[] }
  | { readonly what: 'lead' | 'orphans' }
  | { readonly what: 'lease'; readonly change: LeaseChange }
  | { readonly what: 'revoke'; readonly slot: number; readonly until: number };

/** Writes with the functions that make them, and the instance for which they are made. */
export interface Riders {
  readonly makers: readonly OwnWrite[];
  readonly owner: InstanceName;
}

export type Arrival = Asked & {
  /** The store's time, ms since 1970. */
  readonly at: number;
  readonly by: InstanceName;
  /** The answer of the world. */
  answer: unknown;
};

/** Operations that cannot be refused. An instance sends these operations until the store has them. */
const SURE: ReadonlySet<LedgerOp['kind']> = new Set([
  ...(['post', 'settle', 'expire', 'void', 'release', 'attach', 'waive', 'count', 'enforce'] as const),
]);

export const answerOf = (ops: readonly LedgerOp[], results: Promise<readonly OpResult[]>): Promise<unknown> =>
  results.then((all) => all.map((result, at) => plain(ops[at]!, result)), reasonOf);
export const reasonOf = (error: unknown): string => {
  if (error instanceof StoreError) return error.reason;
  if (error instanceof RangeError) return error.name;
  throw error;
};
const nobody: InstanceName = { slot: 0, epoch: 0 };

/** A history in the hostile world. The history records what arrives at the store; each call finishes before the next call. */
export class Play {
  readonly clock = new VirtualClock(NOON);
  readonly world = new World({ clock: this.clock });
  readonly arrivals: Arrival[] = [];
  readonly things: readonly Things[];
  /** Steps after which nothing arrives at the store. */
  events = 0;
  readonly #stores = new Map<
    number,
    { readonly store: HostileStore; readonly books: LedgerBooks; over: InstanceName }
  >();
  readonly #riders = new WeakMap<readonly Write[], Riders>();
  readonly #commits = new WeakMap<readonly Write[], InstanceName>();
  readonly #on = new WeakMap<LedgerOp, number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ things }: Size) {
    // The holds on some things expire soon.
    this.things = Array.from({ length: things }, (_, at) => new Things(at % 4 === 3 ? NOON + 5_000 : undefined));
    // The step of a call determines what happens to it, not chance.
    Object.assign(this.world, { random: () => 0.999_999 });
    const { books } = this.world;
    books.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: (of) => this.fundsOf(of.holder) });
    this.#note();
  }

  fundsOf(wallet: string | undefined): Things['funds'] {
    return this.things.find((one) => one.wallet === wallet)?.funds ?? [];
  }

  async run(history: readonly Step[]): Promise<void> {
    for (const step of history) {
      await this.#step(step);
      await this.clock.pass(0);
    }
    await this.clock.pass(1_000);
    await this.#turn;
  }

  async #step(step: Step): Promise<void> {
    if (step.kind === 'pass') {
      this.events++;
      return this.clock.pass(step.ms);
    }
    const known = this.#stores.get(step.by);
    const handle = known ?? (await this.#open(step.by));
    if (handle === null) return;
    const { store } = handle;
    if ('fate' in step) {
      this.world.faults = faultsOf(step.fate);
      this.#call(step, handle);
      this.world.faults = FRIENDLY;
      return;
    }
    this.events++;
    if (step.kind === 'pause') store.connection.pause(step.ms);
    else if (step.kind === 'lose') store.connection.loseStore(step.ms);
    else if (step.kind === 'revoke') this.#revoke(store.instance.slot);
    else {
      this.#stores.delete(step.by);
      if (step.kind === 'crash') store.connection.crash();
      else void store.close().catch(() => {});
    }
  }

  async #open(by: number) {
    const store = await this.world.open(`instance ${by}`).catch(() => null);
    if (!store) return null;
    const handle = { store, books: await store.openBooks(this.clock.now), over: nobody };
    const { connection, instance } = store;
    const { fence } = connection;
    connection.fence = () => {
      const isOver = fence();
      if (isOver) handle.over = nameOf(instance);
      return isOver;
    };
    this.#stores.set(by, handle);
    return handle;
  }

  #call(
    step: Extract<Step, { fate: Fate }>,
    handle: { store: HostileStore; books: LedgerBooks; over: InstanceName },
  ): void {
    const { store, books } = handle;
    const ridersOf = (makers: readonly OwnWrite[]) => {
      const riders = { makers, owner: nameOf(store.instance) };
      const made = madeBy(makers, { ...tablesOf(store), leaders: store.leaders! }, riders.owner);
      this.#riders.set(made, riders);
      return made;
    };
    /** A call of an instance whose lease has ended never reaches the store, and every store would refuse it. */
    const call = (asked: Asked, answer: Promise<unknown>) =>
      void answer.catch((error) => {
        if (reasonOf(error) !== 'fenced') return;
        this.#push(asked, handle.over, 'fenced');
      });
    if (step.kind === 'commit') {
      const made = ridersOf(step.writes);
      this.#commits.set(made, store.instance);
      call({ what: 'commit', writes: this.#riders.get(made)! }, store.commit(made));
    } else if (step.kind === 'ops' || step.kind === 'ride') {
      const { on } = step;
      const also = step.kind === 'ride' ? ridersOf([step.also]) : undefined;
      for (const one of step.kind === 'ride' ? [step.hold] : step.ops) {
        const op = this.#opOf(on, one);
        if (op === null) continue;
        const asked = { what: 'apply', ops: [op], also: (also && this.#riders.get(also)) ?? null, on } as const;
        if (SURE.has(op.kind)) books.append([op]).catch(() => {});
        else call(asked, books.apply([op], also));
      }
    } else if (step.kind === 'rates') {
      const asked = step.demands.toSorted(rateOrder);
      store.rates!.take(asked).catch(() => {});
    } else if (step.kind === 'lead') store.leaders!.take().catch(() => {});
    else closeOrphans(books, step.rule, this.clock.now()).catch(() => {});
  }

  #opOf(on: number, step: BookStep): LedgerOp | null {
    const op = this.things[on]!.op(step);
    if (op) this.#on.set(op, on);
    return op;
  }

  #revoke(slot: number): void {
    const row = this.world.leases.revoke(slot);
    if (row) this.#push({ what: 'revoke', slot, until: row.until }, nobody, null);
  }

  #push(asked: Asked, by: InstanceName, answer: unknown): Arrival {
    const arrival = { ...asked, at: this.clock.now(), by, answer };
    this.arrivals.push(arrival);
    return arrival;
  }

  #inTurn<R>(deed: () => Promise<R>): Promise<R> {
    const done = this.#turn.then(deed);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** Intercepts the calls of the world's store. */
  #note(): void {
    const { books, store, rates, leaders, leases } = this.world;
    const [apply, append, orphans] = [books.apply.bind(books), books.append.bind(books), books.orphans.bind(books)];
    const commit = store.commit.bind(store);
    const [take, lead] = [rates.take.bind(rates), leaders.take.bind(leaders)];
    const decided = (what: 'apply' | 'append', ops: readonly LedgerOp[], also: readonly Write[] = []) => {
      const by = books.asking;
      return this.#inTurn(async () => {
        books.asking = by;
        const riders = this.#riders.get(also) ?? null;
        const arrival = this.#push({ what, ops, also: riders, on: this.#on.get(ops[0]!) ?? 0 }, by, null);
        const results = what === 'apply' ? apply(ops, also) : append(ops);
        arrival.answer = await answerOf(ops, results);
        return results;
      });
    };
    Object.assign(books, {
      apply: (ops: readonly LedgerOp[], also: readonly Write[]) => decided('apply', ops, also),
      append: (ops: readonly LedgerOp[]) => decided('append', ops),
      orphans: (now: number) =>
        this.#inTurn(async () => {
          const found = await orphans(now);
          const [asker] = leases.held;
          if (asker)
            this.#push(
              { what: 'orphans' },
              nameOf(asker),
              found.toSorted((a, b) => a.id - b.id),
            );
          return found;
        }),
    });
    Object.assign(store, {
      commit: (writes: readonly Write[]) => {
        const by = this.#commits.get(writes);
        if (!by) return commit(writes);
        return this.#inTurn(async () => {
          const riders = this.#riders.get(writes)!;
          const arrival = this.#push({ what: 'commit', writes: riders }, nameOf(by), null);
          const committed = commit(writes);
          arrival.answer = await committed.then(() => null, reasonOf);
          return committed;
        });
      },
    });
    const told = async (asked: Asked, by: InstanceName, answer: () => unknown) =>
      this.#inTurn(async () => this.#push(asked, by, answer()).answer);
    Object.assign(rates, {
      take: (by: InstanceName, demands: readonly RateDemand[]) =>
        told({ what: 'rates', demands }, by, () => take(by, demands)),
    });
    Object.assign(leaders, {
      take: (by: InstanceName) => told({ what: 'lead' }, nameOf(by), () => lead(by).toSorted()),
    });
    Object.assign(leases, {
      write: (change: LeaseChange) => told({ what: 'lease', change }, nobody, () => leases.put(change)),
    });
  }
}

const faultsOf = (fate: Fate) => ({
  ...FRIENDLY,
  refused: fate === 'refused' ? 1 : 0,
  lostAnswer: fate === 'lost' ? 1 : 0,
  ...(typeof fate === 'number' && { slowBefore: 1, delayMs: fate }),
});

/** Returns the tables that commands use. */
export const tablesOf = <Of extends Omit<Parameters<OwnWrite>[0], 'leaders'>>(of: Of) => {
  const {
    keys,
    people,
    trail,
    payments,
    alerts,
    brokenDeclarations,
    subjects,
    threads,
    conversations,
    cache,
    idempotency,
  } = of;
  return {
    keys,
    people,
    trail,
    payments,
    alerts,
    brokenDeclarations,
    subjects,
    threads,
    conversations,
    cache,
    idempotency,
  };
};
