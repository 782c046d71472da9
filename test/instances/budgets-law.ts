import { expect } from 'bun:test';
import fc from 'fast-check';
import { windowOf } from '../../src/core/accounting/window.ts';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerBooks } from '../../src/store/books.ts';
import { budget, caller, line, terms } from '../ledger/support.ts';
import { holdOn, ledgerOn } from './ledgers.ts';

const DAY_MS = 86_400_000;
/** A time far in the future: the database uses its own clock, and the windows of the law must not end. */
const START = Date.UTC(2040, 10, 20, 12);
const each = ({ key }: { readonly key: { readonly id: string } }): string => key.id;
const isOfA = ({ key }: { readonly key: { readonly id: string } }): boolean => key.id === 'a';

/** The budgets of the random policies: one budget under two names, a budget with a window for each key, and a budget of a single key. */
const BUDGETS: Readonly<Record<string, (limit: number) => Budget>> = {
  all: (limit) => budget(limit, { name: 'all', window: 'day' }),
  renamed: (limit) => budget(limit, { name: 'renamed', window: 'day' }),
  each: (limit) => budget(limit, { name: 'each', window: 'day', each }),
  ofA: (limit) => budget(limit, { name: 'ofA', window: 'total', match: isOfA }),
};

type Policy = Readonly<Record<string, number>>;

const who = fc.nat(1);
const key = fc.constantFrom('a', 'b');
/** Random policies: the names and limits of their budgets. */
const policy = fc.constantFrom<Policy>(
  {},
  { all: 100 },
  { all: 400 },
  { renamed: 100 },
  { all: 100, each: 100 },
  { all: 400, each: 200 },
  { each: 100, ofA: 200 },
  { all: 100, ofA: 400 },
);
const action = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('prepare' as const), who, policy }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('swap' as const), who }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('hold' as const), who, key, amount: fc.integer({ min: 20, max: 90 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(9), part: fc.constantFrom(0, 0.4, 1) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prepare at both' as const), policy }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('recount' as const), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refresh' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tomorrow' as const) }) },
);
type Action = typeof action extends fc.Arbitrary<infer Of> ? Of : never;
interface Server {
  readonly books: LedgerBooks;
  readonly ledger: Ledger;
  policy: Policy;
  /** The policy that is prepared and not active yet; null if there is none. */
  next: { readonly policy: Policy; readonly rank: number; readonly put: () => void } | null;
  rank: number;
}

/** The shared books of two servers. */
interface Shared extends AsyncDisposable {
  readonly books: readonly LedgerBooks[];
  /** The findings of the audit. */
  findings(): Promise<readonly string[]>;
}
export type Lay = () => Promise<Shared>;

/** Two servers that share books, and a second record of what was charged. */
class World {
  readonly servers: Server[] = [];
  readonly holds: { readonly hold: Hold; readonly key: string }[] = [];
  readonly charges: { readonly id: number; readonly key: string; readonly amount: number }[] = [];
  readonly #shared: Shared;
  #now = START;
  #ids = 0;
  /** The policy that was accepted last, with its rank (`#newest`), and the newest limits that were activated (`#limits`). */
  #newest = { text: textOf({}), rank: 1 };
  readonly #limits = new Map<string, { readonly rank: number; readonly limit: number }>();

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  async open(): Promise<this> {
    for (const books of this.#shared.books) {
      const ledger = await ledgerOn({ books }, terms(), () => this.#now);
      this.servers.push({ books, ledger, policy: {}, next: null, rank: 1 });
    }
    return this;
  }

  async play(one: Action): Promise<void> {
    if (one.do === 'tomorrow') this.#now += DAY_MS;
    else if (one.do === 'settle') await this.#settle(one.which, one.part);
    else if (one.do === 'prepare at both')
      await Promise.all(this.servers.map((server) => this.#prepare(server, one.policy)));
    else if (one.do === 'refresh') await Promise.all(this.servers.map(({ ledger }) => ledger.refresh()));
    else {
      const server = this.servers[one.who]!;
      if (one.do === 'recount') await this.#prepare(server, server.policy);
      else if (one.do === 'prepare') await this.#prepare(server, one.policy);
      else if (one.do === 'swap') await this.#swap(server);
      else await this.#hold(server, one.key, one.amount);
    }
  }

  /** Checks that each active budget has counted every charge of its window exactly once. */
  async prove(): Promise<void> {
    for (const server of this.servers) await this.#swap(server);
    for (let which = this.holds.length; which > 0; which--) await this.#settle(0, 1);
    // The second refresh sees what the other server has counted after the first.
    for (let looks = 0; looks < 2; looks++) await Promise.all(this.servers.map(({ ledger }) => ledger.refresh()));
    for (const { ledger, policy } of this.servers) {
      const { funds } = await ledger.status();
      for (const name of Object.keys(policy)) {
        const own = funds.filter(({ title }) => title.name === name && title.kind === 'budget');
        const spent = Object.fromEntries(
          own.flatMap(({ title, spent }) => (spent === 0 ? [] : [[title.subject, spent]])),
        );
        expect([name, spent]).toEqual([name, this.#spentOf(BUDGETS[name]!(1))]);
      }
    }
    // The books add a row for a window when it is first drawn on. Charges of servers with other policies are counted after that.
    const others = (await this.#shared.findings()).filter((message) => !message.includes('was counted as'));
    expect(others).toEqual([]);
  }

  async #prepare(server: Server, policy: Policy): Promise<void> {
    await this.#swap(server);
    const text = textOf(policy);
    const isSame = text === textOf(server.policy);
    if (!isSame && text !== this.#newest.text) this.#newest = { text, rank: this.#newest.rank + 1 };
    const rank = isSame ? server.rank : this.#newest.rank;
    const put = await server.ledger.prepare(terms(...budgetsOf(policy)));
    server.next = { policy, rank, put };
  }

  async #swap(server: Server): Promise<void> {
    if (!server.next) return;
    server.next.put();
    // After the books are written, the limits of the server apply to both servers.
    await server.books.written();
    const { policy, rank } = server.next;
    Object.assign(server, { policy, rank, next: null });
    for (const [name, limit] of Object.entries(policy)) {
      if ((this.#limits.get(name)?.rank ?? 0) <= rank) this.#limits.set(name, { rank, limit });
    }
  }

  async #hold({ ledger, policy }: Server, key: string, amount: number): Promise<void> {
    const id = idAt(this.#now) + ++this.#ids;
    const hold = await holdOn(ledger, amount, { id, caller: caller(key) });
    if (!hold) return;
    this.holds.push({ hold, key });
    const { funds } = await ledger.status();
    for (const { title, spent, held } of funds) {
      const isDrawn = title.name in policy && (title.subject === '' || title.subject === key);
      const matches = title.name !== 'ofA' || key === 'a';
      if (isDrawn && matches) expect(spent + held).toBeLessThanOrEqual(this.#limits.get(title.name)!.limit);
    }
  }

  async #settle(which: number, part: number): Promise<void> {
    const [one] = this.holds.splice(which, 1);
    if (!one) return;
    const { charged } = await one.hold.settle(line(Math.ceil(one.hold.reserved * part)), () => []);
    this.charges.push({ id: one.hold.id, key: one.key, amount: charged });
  }

  #spentOf({ match, each, ...budget }: Budget): Record<string, number> {
    const { starts, ends } = windowOf(budget, this.#now);
    const spent: Record<string, number> = {};
    for (const { id, key, amount } of this.charges) {
      const isInside = id >= idAt(starts) && (!Number.isFinite(ends) || id < idAt(ends));
      if (!isInside || amount === 0 || (match && key !== 'a')) continue;
      const subject = each ? key : '';
      spent[subject] = (spent[subject] ?? 0) + amount;
    }
    return spent;
  }
}

const budgetsOf = (policy: Policy): Budget[] =>
  Object.keys(BUDGETS).flatMap((name) => (name in policy ? [BUDGETS[name]!(policy[name]!)] : []));
const textOf = (policy: Policy): string => JSON.stringify(budgetsOf(policy).map(({ name, limit }) => [name, limit]));

export const lawOf = (...lays: readonly Lay[]) =>
  fc.asyncProperty(
    fc.array(action, { minLength: 5, maxLength: 60 }),
    fc.constantFrom(...lays),
    async (actions, lay) => {
      await using shared = await lay();
      const world = await new World(shared).open();
      try {
        for (const one of actions) await world.play(one);
        await world.prove();
      } finally {
        for (const { ledger } of world.servers) await ledger.close();
      }
    },
  );

export const LAW =
  'whatever two servers swap, charge and rename, each budget counts the charges of its window, and no hold exceeds the newest limit';
