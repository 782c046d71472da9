import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { windowAt } from '../../src/core/accounting/window.ts';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import type { Caller, HolderKind } from '../../src/core/people/caller.ts';
import type { HolderBudgets, KeyLines } from '../../src/core/people/holder.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import { holderBudgets } from '../../src/ledger/holder-budgets.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { HoldOp, LedgerBooks } from '../../src/store/books.ts';
import { tries } from '../deep/effort.ts';
import { findingsIn, holdOn, ledgerOn, type SharedBooks, sharedBooks, swap } from '../instances/ledgers.ts';
import { caller, line, NOON, terms } from '../ledger/support.ts';
import { MemoryCharges } from '../store/memory/books/charges.ts';
import { booksOf } from '../store/memory/books/handle.ts';

/** A key with its parent keys, team and user. */
interface Member {
  readonly line: readonly string[];
  readonly team?: string;
  readonly user?: string;
}

const SEARCH = { team: 'search', user: 'ada' };
const MEMBERS: Readonly<Record<string, Member>> = {
  root: { line: [], ...SEARCH },
  child: { line: ['root'], ...SEARCH },
  grandchild: { line: ['child', 'root'], ...SEARCH },
  other: { line: [], team: 'search', user: 'bob' },
  lone: { line: [], team: 'ads' },
  free: { line: [] },
};
const KEYS = Object.keys(MEMBERS);
const LINES: KeyLines = {
  lineOf: (key) => MEMBERS[key]?.line ?? [],
  linesOf: async () => (key) => MEMBERS[key]?.line ?? [],
  descendantsOf: async (key) => KEYS.filter((one) => MEMBERS[one]!.line.includes(key)),
};
const CALLERS: Readonly<Record<string, Caller>> = Object.fromEntries(
  KEYS.map((key) => [key, { ...caller(key), ...MEMBERS[key]! }]),
);

const HOLDERS: readonly (readonly [HolderKind, string])[] = [
  ['organization', ''],
  ['team', 'search'],
  ['team', 'ads'],
  ['user', 'ada'],
  ['user', 'bob'],
  ...KEYS.map((key) => ['key', key] as const),
];

/** Whether the spending of a key counts for a level. The function shares no code with the ledger. */
function counts(key: string, [kind, id]: (typeof HOLDERS)[number]): boolean {
  const { line, team, user } = MEMBERS[key]!;
  if (kind === 'key') return key === id || line.includes(id);
  return kind === 'organization' || id === (kind === 'team' ? team : user);
}

/** The limits of the levels, by index; null for none. */
const limits = fc.array(fc.option(fc.constantFrom(60, 100, 150, 300), { freq: 2 }), {
  minLength: HOLDERS.length,
  maxLength: HOLDERS.length,
});
type Limits = readonly (number | null)[];
const asked = fc.record({
  who: fc.nat(1),
  key: fc.constantFrom(...KEYS),
  amount: fc.integer({ min: 10, max: 70 }),
});
const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('hold' as const), asked: fc.array(asked, { minLength: 1, maxLength: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(9), part: fc.constantFrom(0, 0.5, 1) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('change' as const), limits }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tomorrow' as const) }) },
);
type Action = typeof action extends fc.Arbitrary<infer Of> ? Of : never;

const budgetsOf = (limits: Limits): Budget[] => {
  const holders = HOLDERS.map(([kind, id], at): HolderBudgets => {
    const limit = limits[at] ?? null;
    return {
      kind,
      id,
      budgets: limit === null ? [] : [{ limit, window: 'day', timeZone: 'UTC', onExhausted: 'reject' }],
    };
  });
  return holderBudgets(holders, LINES);
};

/** Two servers that share one ledger, and an independent account of what was held and charged. */
class World {
  readonly shared: SharedBooks = sharedBooks();
  readonly #ledgers: Ledger[] = [];
  readonly #holds: { readonly hold: Hold; readonly key: string }[] = [];
  readonly #charges: { readonly id: number; readonly key: string; readonly amount: number }[] = [];
  #limits: Limits = [];
  #now = NOON;
  #ids = 0;

  async open(limits: Limits, books: (shared: SharedBooks) => { readonly books: LedgerBooks }): Promise<this> {
    this.#limits = limits;
    for (let at = 0; at < 2; at++) {
      this.#ledgers.push(await ledgerOn(books(this.shared), terms(...budgetsOf(limits)), () => this.#now));
    }
    return this;
  }

  async play(one: Action): Promise<void> {
    if (one.do === 'tomorrow') this.#now += 86_400_000;
    else if (one.do === 'settle') await this.#settle(one.which, one.part);
    else if (one.do === 'hold') {
      const granted = await Promise.all(one.asked.map((ask) => this.#hold(ask)));
      if (granted.some((isGranted) => isGranted))
        this.#proveRoom(one.asked.filter((_, at) => granted[at]).map(({ key }) => key));
    } else {
      this.#limits = one.limits;
      for (const ledger of this.#ledgers) await swap(ledger, ...budgetsOf(one.limits));
    }
  }

  async prove(): Promise<void> {
    // Refused holds leave nothing reserved, and granted holds count for each level.
    const { funds } = await this.#ledgers[0]!.status();
    for (const { title, spent, held } of funds) {
      const [holder] = HOLDERS.filter(([kind, id]) => title.name.startsWith(`${kind}-`) && title.subject === id);
      expect([title.name, title.subject, spent, held]).toEqual([title.name, title.subject, ...this.#sumsOf(holder!)]);
    }
    while (this.#holds.length > 0) await this.#settle(0, 1);
    await this.#proveUsage();
    const others = (await findingsIn(this.shared)).filter((message) => !message.includes('was counted as'));
    expect(others).toEqual([]);
  }

  async #hold({ who, key, amount }: Extract<Action, { do: 'hold' }>['asked'][number]): Promise<boolean> {
    const id = idAt(this.#now) + ++this.#ids;
    const hold = await holdOn(this.#ledgers[who]!, amount, { id, caller: CALLERS[key]! });
    if (hold) this.#holds.push({ hold, key });
    return hold !== null;
  }

  /** Expects that no budget of any level of these keys is overspent. */
  #proveRoom(keys: readonly string[]): void {
    for (const [at, holder] of HOLDERS.entries()) {
      const limit = this.#limits[at] ?? null;
      if (limit === null || !keys.some((key) => counts(key, holder))) continue;
      const [spent, held] = this.#sumsOf(holder);
      expect([holder, spent + held <= limit]).toEqual([holder, true]);
    }
  }

  async #settle(which: number, part: number): Promise<void> {
    const [one] = this.#holds.splice(which, 1);
    if (!one) return;
    const { charged } = await one.hold.settle(line(Math.ceil(one.hold.reserved * part)), () => []);
    this.#charges.push({ id: one.hold.id, key: one.key, amount: charged });
  }

  /** Returns the microcredits that a level has spent and holds today. */
  #sumsOf(holder: (typeof HOLDERS)[number]): [spent: number, held: number] {
    const { starts, ends } = windowAt('day', 'UTC', this.#now);
    const isIn = (id: number, key: string) => id >= idAt(starts) && id < idAt(ends) && counts(key, holder);
    const spent = this.#charges.reduce((sum, { id, key, amount }) => (isIn(id, key) ? sum + amount : sum), 0);
    const held = this.#holds.reduce((sum, { hold, key }) => (isIn(hold.id, key) ? sum + hold.reserved : sum), 0);
    return [spent, held];
  }

  /** Expects that the usage of a team or a user is the sum of its keys' usage. */
  async #proveUsage(): Promise<void> {
    const period = { from: 0, to: this.#now + 86_400_000 };
    const sumOf = async (owner: { keyId?: string; team?: string; user?: string }) => {
      const charges = await this.#ledgers[1]!.usage({ keyId: null, ...owner, ...period });
      return charges.reduce((sum, { microcredits }) => sum + microcredits, 0);
    };
    for (const [kind, id] of HOLDERS) {
      if (kind !== 'team' && kind !== 'user') continue;
      let sum = 0;
      for (const key of KEYS) if (MEMBERS[key]![kind] === id) sum += await sumOf({ keyId: key });
      expect([kind, id, await sumOf({ [kind]: id })]).toEqual([kind, id, sum]);
    }
  }
}

const lawOn = (books: (shared: SharedBooks) => { readonly books: LedgerBooks }) =>
  fc.asyncProperty(limits, fc.array(action, { minLength: 5, maxLength: 40 }), async (first, actions) => {
    const world = await new World().open(first, books);
    for (const one of actions) await world.play(one);
    await world.prove();
  });

const LAW = lawOn((shared) => shared);

test('no budget of any level is ever overspent, a hold that one level refuses leaves nothing reserved at the others, and the usage of a team is the usage of its keys', async () => {
  await fc.assert(LAW, tries('levels', 30, 10_000));
});

/** A wrong ledger that reserves money fund by fund: if the last fund refuses, the first keeps its hold. */
function inSteps({ books }: SharedBooks): { readonly books: LedgerBooks } {
  let steps = 1;
  const apply: LedgerBooks['apply'] = async (ops, also) => {
    const [op] = ops;
    if (op?.kind !== 'hold' || op.funds.length < 2) return books.apply(ops, also);
    const first: HoldOp = { ...op, id: op.id - 1_000_000 - steps++, funds: op.funds.slice(0, 1) };
    const [result] = await books.apply([first]);
    if (result?.kind !== 'granted') return [result!];
    const results = await books.apply(ops, also);
    if (results[0]?.kind === 'granted')
      await books.append([{ kind: 'expire', id: first.id, at: op.at, rule: 'release' }]);
    return results;
  };
  return { books: booksOf(books, { slot: 2, epoch: 1 }, { apply }) };
}

test('the law detects a hold that is made fund by fund', async () => {
  await expectFailure(lawOn(inSteps));
});

test('the law detects a ledger that counts only the first level', async () => {
  const first = ({ books }: SharedBooks) => {
    const apply: LedgerBooks['apply'] = (ops, also) =>
      books.apply(
        ops.map((op) => (op.kind === 'hold' ? { ...op, funds: op.funds.slice(0, 1) } : op)),
        also,
      );
    return { books: booksOf(books, { slot: 2, epoch: 1 }, { apply }) };
  };
  await expectFailure(lawOn(first));
});

test('the law detects a team whose usage includes other teams', async () => {
  const { usage } = MemoryCharges.prototype;
  MemoryCharges.prototype.usage = function (filter) {
    return usage.call(this, { ...filter, team: null });
  };
  try {
    await expectFailure(LAW);
  } finally {
    MemoryCharges.prototype.usage = usage;
  }
});

async function expectFailure(law: typeof LAW): Promise<void> {
  const { failed } = await fc.check(law, { ...tries('levels', 300, 300), endOnFailure: true });
  expect(failed).toBe(true);
}
