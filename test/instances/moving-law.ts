import { expect } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { type Window, windowAt } from '../../src/core/accounting/window.ts';
import { idAt } from '../../src/core/id.ts';
import type { Caller, KeyBudget } from '../../src/core/people/caller.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import { holderBudgets } from '../../src/ledger/holder-budgets.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerBooks } from '../../src/store/books.ts';
import { randomFrom } from '../deep/effort.ts';
import { caller, line, terms } from '../ledger/support.ts';
import { holdOn, ledgerOn } from './ledgers.ts';

const DAY_MS = 86_400_000;
/**
 * A time far in the future, because the database uses its own clock, and the windows of the law must not end. It is shortly before
 * midnight, so that a new day begins within the time in which servers count their charges.
 */
const START = Date.UTC(2040, 10, 20, 23, 59, 50);
const OVER_MIDNIGHT_MS = 20_000;
const USERS = ['u0', 'u1'] as const;
/** The windows of the budgets that members of each team have; the last team has none. */
const WINDOWS = ['day', 'month', null] as const;
/** More than all holds together. */
const LIMIT = 1_000_000;

const who = fc.nat(1);
const user = fc.nat(USERS.length - 1);
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), user, team: fc.nat(WINDOWS.length - 1) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('learn' as const), who }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('hold' as const), who, user, amount: fc.integer({ min: 1, max: 90 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(9), part: fc.constantFrom(0, 0.4, 1) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refund' as const), who, which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('count' as const), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tomorrow' as const) }) },
);
type Action = typeof action extends fc.Arbitrary<infer Of> ? Of : never;
/** The actions of a turn run at the same time. */
const turns = fc.array(fc.array(action, { minLength: 1, maxLength: 6 }), { minLength: 3, maxLength: 14 });

/** Books of one or several servers. */
export interface MovingBooks extends AsyncDisposable {
  readonly books: readonly LedgerBooks[];
  /** The findings of the audit. Called once, at the end. */
  findings(): Promise<readonly string[]>;
}
/** @param random random numbers for the waits of the books, from the seed of the case */
export type LayMoving = (random: () => number) => Promise<MovingBooks>;

interface Server {
  readonly books: LedgerBooks;
  ledger: Ledger;
  /** The team of each user, as far as the server knows. */
  teams: readonly number[];
  /** Resolves when the server has learnt everything that it was told. */
  learning: Promise<void>;
  /** Holds that the server is making. */
  readonly holding: Set<Promise<void>>;
  /** True while another process takes the place of the server. */
  isDown: boolean;
}

/** Servers whose users move between teams, and a second record of what was charged. */
class World {
  readonly servers: Server[] = [];
  #holds: { readonly hold: Hold; readonly user: number; readonly server: Server }[] = [];
  readonly #charges: { readonly id: number; readonly user: number; amount: number; isRefunded: boolean }[] = [];
  readonly #laid: MovingBooks;
  #teams: readonly number[] = USERS.map(() => WINDOWS.length - 1);
  #evening = START;
  #now = START;
  #ids = 0;

  constructor(laid: MovingBooks) {
    this.#laid = laid;
  }

  async open(): Promise<this> {
    for (const books of this.#laid.books) {
      const ledger = await this.#ledgerOn(books);
      this.servers.push({
        books,
        ledger,
        teams: this.#teams,
        learning: Promise.resolve(),
        holding: new Set(),
        isDown: false,
      });
    }
    return this;
  }

  async #play(one: Action): Promise<void> {
    switch (one.do) {
      case 'move':
        this.#teams = this.#teams.with(one.user, one.team);
        return;
      case 'tomorrow':
        this.#now = this.#evening + OVER_MIDNIGHT_MS;
        return;
      case 'learn':
        return await this.#learn(this.#server(one.who));
      case 'hold':
        return await this.#holdOn(this.#server(one.who), one.user, one.amount);
      case 'settle':
        return await this.#settle(one.which, one.part);
      case 'refund':
        return await this.#refund(this.#server(one.who), one.which);
      case 'kill':
        return await this.#kill(this.#server(one.who));
      case 'count':
        return await this.#server(one.who).ledger.refresh();
    }
  }

  /** Plays actions at the same time. If a new day began, the servers count their charges, and the next turn begins in the evening. */
  async turn(actions: readonly Action[]): Promise<void> {
    await Promise.all(actions.map((one) => this.#play(one)));
    if (this.#now === this.#evening) return;
    await Promise.all(this.servers.map(({ ledger }) => ledger.refresh()));
    this.#evening += DAY_MS;
    this.#now = this.#evening;
  }

  /** Checks that each budget of each user has counted exactly the charges of the user in its window. */
  async prove(): Promise<void> {
    while (this.#holds.length > 0) await this.#settle(0, 1);
    for (const [team, window] of WINDOWS.entries()) {
      if (window === null) continue;
      this.#teams = USERS.map(() => team);
      await Promise.all(this.servers.map((server) => this.#learn(server)));
      // The second look sees what the other server has counted after the first.
      for (let looks = 0; looks < 2; looks++) await Promise.all(this.servers.map(({ ledger }) => ledger.refresh()));
      for (const { ledger } of this.servers) {
        // A hold makes the books write down how they opened the fund, for the audit.
        for (const user of USERS.keys()) await this.#holdOn(this.servers[0]!, user, 1);
        while (this.#holds.length > 0) await this.#settle(0, 0);
        const { funds } = await ledger.status();
        const spent = funds.flatMap(({ title, spent }) => (title.kind === 'budget' ? [[title.subject, spent]] : []));
        const due = this.#spentIn(windowAt(window, 'UTC', this.#now));
        expect([window, Object.fromEntries(spent)]).toEqual([window, due]);
      }
    }
    expect(await this.#laid.findings()).toEqual([]);
  }

  #server(who: number): Server {
    return this.servers[who % this.servers.length]!;
  }

  #ledgerOn(books: LedgerBooks): Promise<Ledger> {
    return ledgerOn({ books }, terms(), () => this.#now);
  }

  /** The server reads the teams of the users, and puts their budgets in force. */
  #learn(server: Server): Promise<void> {
    server.learning = server.learning.then(async () => {
      const { ledger } = server;
      const teams = this.#teams;
      const put = await ledger.prepare(terms(...holderBudgets(holdersIn(teams))));
      if (server.ledger !== ledger) return;
      await put();
      server.teams = teams;
    });
    return server.learning;
  }

  async #holdOn(server: Server, user: number, amount: number): Promise<void> {
    if (server.isDown) return;
    const holding = this.#hold(server, user, amount);
    server.holding.add(holding);
    await holding.finally(() => server.holding.delete(holding));
  }

  async #hold(server: Server, user: number, amount: number): Promise<void> {
    const id = idAt(this.#now) + ++this.#ids;
    const { ledger, teams } = server;
    const hold = await holdOn(ledger, amount, { id, caller: callerIn(teams, user) });
    if (hold === null) throw new Error(`a hold of ${amount} was refused`);
    if (server.ledger === ledger) this.#holds.push({ hold, user, server });
    else await this.#expire(server, hold, user);
  }

  async #settle(which: number, part: number): Promise<void> {
    const [one] = this.#holds.splice(which, 1);
    if (!one) return;
    const { hold, user } = one;
    const { charged } = await hold.settle(line(Math.ceil(hold.reserved * part)), () => []);
    this.#charges.push({ id: hold.id, user, amount: charged, isRefunded: false });
  }

  async #refund({ ledger }: Server, which: number): Promise<void> {
    const charge = this.#charges[which];
    if (!charge) return;
    const back = await ledger.giveBack(charge.id, 'test');
    // A second refund returns the result of the first.
    if (charge.isRefunded) return;
    charge.amount -= back;
    charge.isRefunded = back > 0;
  }

  /**
   * Another process takes the place of the server, and ends its holds. A process that is alone does so before it serves; the holds of one of
   * several servers may end later.
   */
  async #kill(server: Server): Promise<void> {
    if (server.isDown) return;
    server.isDown = true;
    if (this.servers.length === 1) await Promise.all(server.holding);
    const left = this.#holds.filter((one) => one.server === server);
    this.#holds = this.#holds.filter((one) => one.server !== server);
    await server.learning;
    await server.ledger.close();
    server.ledger = await this.#ledgerOn(server.books);
    server.teams = USERS.map(() => WINDOWS.length - 1);
    for (const { hold, user } of left) await this.#expire(server, hold, user);
    await this.#learn(server);
    server.isDown = false;
  }

  async #expire({ books }: Server, { id }: Hold, user: number): Promise<void> {
    const [ended] = await books.append([{ kind: 'expire', id, at: this.#now, rule: 'charge' }]);
    if (ended?.kind !== 'charged') throw new Error('the hold was not ended');
    this.#charges.push({ id, user, amount: ended.charged, isRefunded: false });
  }

  #spentIn({ starts, ends }: Window): Record<string, number> {
    const spent: Record<string, number> = Object.fromEntries(USERS.map((user) => [user, 0]));
    for (const { id, user, amount } of this.#charges)
      if (id >= idAt(starts) && id < idAt(ends)) spent[USERS[user]!]! += amount;
    return spent;
  }
}

const budgetOf = (window: 'day' | 'month'): KeyBudget => ({
  ...{ window, limit: LIMIT, timeZone: 'UTC', onExhausted: 'reject' },
});
const holdersIn = (teams: readonly number[]) =>
  USERS.map((id, at) => {
    const window = WINDOWS[teams[at]!];
    return { kind: 'user' as const, id, budgets: window ? [budgetOf(window)] : [] };
  });
const callerIn = (teams: readonly number[], user: number): Caller => ({
  ...caller(`key of ${USERS[user]}`),
  user: USERS[user]!,
  team: `team ${teams[user]}`,
});

export const lawOf = (...lays: readonly LayMoving[]) =>
  fc.asyncProperty(turns, fc.constantFrom(...lays), fc.nat(), async (all, lay, seed) => {
    await using laid = await lay(randomFrom(seed));
    const world = await new World(laid).open();
    try {
      for (const turn of all) await world.turn(turn);
      await world.prove();
    } finally {
      for (const { ledger } of world.servers) await ledger.close();
    }
  });

export const LAW =
  'for any interleaving of moves, holds, settlements, refunds and kills, each budget of a user counts the charges of the user in its window';

/** Returns books in which some methods are replaced. */
export const replacing = (books: LedgerBooks, other: Partial<LedgerBooks>): LedgerBooks =>
  new Proxy(books, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in other ? other : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/**
 * Books whose answers take a random time.
 * @param isRemote true if callers must await each query, as over a network
 * @param tick the step of these times
 */
export function slow(
  books: LedgerBooks,
  random: () => number,
  isRemote: boolean,
  tick: () => Promise<void> = setImmediate,
): LedgerBooks {
  const wait = async () => {
    for (let ticks = Math.floor(random() * 5); ticks > 0; ticks--) await tick();
  };
  const slowly = <Args extends readonly unknown[], Result>(call: (...args: Args) => Result | Promise<Result>) => {
    const later = async (found: () => Result | Promise<Result>) => {
      await wait();
      const result = await found();
      await wait();
      return result;
    };
    return (...args: Args): Result | Promise<Result> => {
      if (isRemote) return later(() => call(...args));
      const found = call(...args);
      return found instanceof Promise ? later(() => found) : found;
    };
  };
  return replacing(books, {
    uncounted: slowly(books.uncounted.bind(books)),
    countedOf: slowly(books.countedOf.bind(books)),
    apply: async (...asked) => await slowly(books.apply.bind(books))(...asked),
  });
}

/** A mutant: the books open the fund of a user with sums that were read before they lock it. */
export const openingUnlocked = (books: LedgerBooks): LedgerBooks =>
  replacing(books, {
    async apply(ops, also) {
      const [op] = ops;
      if (op?.kind !== 'count' || !op.opening) return await books.apply(ops, also);
      const { from } = await books.uncounted(op.budget, { starts: START, ends: Number.POSITIVE_INFINITY });
      return await books.apply([{ ...op, from }], also);
    },
  });

/** A mutant: a server counts only users that it limits itself. */
export const countingLimitedOnly = (books: LedgerBooks): LedgerBooks =>
  replacing(books, {
    async apply(ops, also) {
      const limited = ops.map((op) =>
        op.kind === 'count' ? { ...op, sums: op.sums.filter(({ fund }) => fund.limit > 0) } : op,
      );
      return await books.apply(limited, also);
    },
  });
