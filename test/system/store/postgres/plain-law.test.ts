import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { FundRef } from '../../../../src/core/accounting/fund.ts';
import type { LedgerBooks, LedgerOp } from '../../../../src/store/books.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import type { BooksDatabase } from '../../../../src/store/postgres/books/books.ts';
import { Connection } from '../../../../src/store/postgres/connection.ts';
import { StoreError } from '../../../../src/store/store.ts';
import { effort } from '../../../deep/effort.ts';
import { plain, rare, type Step, step, Things } from '../../../store/books-steps.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { fundOf, holdOf, nextId, settleOf } from '../../../store/suites/books.ts';
import { waitFor } from '../../../support/answers.ts';

/**
 * Special statements decide most single holds and settlements and most groups of them; the function of the database decides all others. A
 * ledger that uses both and a ledger that uses only the function give the same answers, hold the same locks and have the same rows in all
 * tables after the same histories.
 */
const { runs, seed, proved } = effort('postgres', 12, 150);

type Ledger = Awaited<ReturnType<typeof emptyLedger>>;
type Decide = BooksDatabase['decide'];

interface Turn {
  /** Operations that are decided at once. */
  readonly steps: readonly Step[];
  /** Whether the lease of the server has ended. */
  readonly isLapsed: boolean;
  /** Whether a refused request waits for the fund. */
  readonly isPatient: boolean;
}

/** Holds and settlements that one statement decides together, if each is on another hold and the funds have enough free. */
const ordinary = step.filter(({ kind }) => kind === 'hold' || kind === 'settle');
const anyTurns: fc.Arbitrary<readonly Turn[]> = fc.array(
  fc.record({
    steps: fc.oneof(
      { weight: 6, arbitrary: fc.array(step, { minLength: 1, maxLength: 1 }) },
      { weight: 4, arbitrary: fc.array(ordinary, { minLength: 2, maxLength: 4 }) },
      { weight: 1, arbitrary: fc.array(step, { minLength: 2, maxLength: 5 }) },
      { weight: 2, arbitrary: rare },
    ),
    isLapsed: fc.integer({ min: 0, max: 19 }).map((chance) => chance === 0),
    isPatient: fc.boolean(),
  }),
  { minLength: 2, maxLength: 8 },
);

type HoldStep = Extract<Step, { readonly kind: 'hold' }>;
const holdBy = (who: number, ...amounts: number[]): HoldStep => ({
  ...{ kind: 'hold', who, drawn: 3, amounts, least: null, ample: null },
});
const settleBy = (who: number, cost: number, most = Number.MAX_SAFE_INTEGER): Step => ({
  ...{ kind: 'settle', who, cost, most },
});
const turnOf = (one: Step, isLapsed = false): Turn => ({ steps: [one], isLapsed, isPatient: true });
const groupOf = (...steps: readonly Step[]): Turn => ({ steps, isLapsed: false, isPatient: true });
/** Histories that random generation rarely finds, with two budgets of 90 and 150. The function decides the first hold in a window. */
const KEEN: readonly (readonly Turn[])[] = [
  // The second amount fits once but not twice.
  [turnOf(holdBy(0, 0)), turnOf(holdBy(1, 10, 60))],
  // A request waits for an amount that another request holds.
  [turnOf(holdBy(0, 60)), turnOf(holdBy(1, 60)), turnOf(holdBy(2, 10))],
  // A window needs a new row after a change of its limit: before a hold, and before a settlement.
  ...[turnOf(holdBy(1, 20)), turnOf(settleBy(0, 20))].map((last) => [
    ...[turnOf(holdBy(0, 20)), turnOf({ kind: 'enforce', rank: 4, limit: 200, isOwn: false }), last],
  ]),
  // A settlement of more than the held amount, and of a hold that has ended.
  [turnOf(holdBy(0, 20)), turnOf(settleBy(0, 30)), turnOf(settleBy(0, 10))],
  // A second settlement of a hold that has something left.
  [turnOf(holdBy(0, 20)), turnOf(settleBy(0, 10)), turnOf(settleBy(0, 5))],
  // A settlement and a hold together, in both orders; the second hold also draws on a window that entries cannot name yet.
  [turnOf(holdBy(0, 20)), groupOf(settleBy(0, 5), holdBy(1, 10)), groupOf(holdBy(2, 10), settleBy(1, 10))],
  [turnOf({ ...holdBy(0, 20), drawn: 1 }), groupOf(holdBy(1, 10), holdBy(2, 10))],
  // The funds have enough for each hold of a group, but not for all.
  [turnOf(holdBy(0, 0)), groupOf(holdBy(1, 50), holdBy(2, 50))],
  // Each hold of a group gets its second amount, or only the first hold does.
  [turnOf(holdBy(0, 0)), groupOf(holdBy(1, 5, 20), holdBy(2, 5, 20))],
  [turnOf(holdBy(0, 0)), groupOf(holdBy(1, 5, 40), holdBy(2, 5, 40))],
  // A settlement in a group costs more than its hold or than the most that it may charge, or its hold has ended.
  [turnOf(holdBy(0, 20)), groupOf(settleBy(0, 30), holdBy(1, 10))],
  [turnOf(holdBy(0, 20)), groupOf(settleBy(0, 15, 10), holdBy(1, 10))],
  [turnOf(holdBy(0, 20)), groupOf(settleBy(0, 10), holdBy(1, 10)), groupOf(settleBy(0, 5), holdBy(2, 10))],
  // A hold that gets less than a group needs, although a settlement of the group frees enough.
  [turnOf(holdBy(0, 80)), groupOf(settleBy(0, 0), holdBy(1, 20), holdBy(2, 20))],
  // A group after a change of a limit, and a group under a lease that has ended.
  [
    ...[turnOf(holdBy(0, 20)), turnOf({ kind: 'enforce', rank: 4, limit: 200, isOwn: false })],
    groupOf(holdBy(1, 10), settleBy(0, 10)),
  ],
  [turnOf(holdBy(0, 20)), { ...groupOf(holdBy(1, 20), settleBy(0, 20)), isLapsed: true }],
  // A hold under a lease that has ended.
  [turnOf(holdBy(0, 20)), turnOf(holdBy(1, 20), true), turnOf(settleBy(0, 20), true)],
];
const turns = fc.tuple(fc.constantFrom(...KEEN), anyTurns).map((parts) => parts.flat());

/** The numbers of the journal, by table. An attempt that is rolled back may use a number, so only their order counts. */
const NUMBERS: Readonly<Record<string, string>> = { journal: 'seq', fund_rows: 'after_seq', counted: 'through' };
const place = (column: string) =>
  `jsonb_build_object('${column}', (SELECT count(*) FROM numbers AS n WHERE n.number <= t.${column}))`;
/** All rows of the ledger. */
const TABLES = ['funds', 'holds', 'journal', 'fund_rows', 'enforced', 'counted', 'counted_subjects', 'done_once'].map(
  (table) => {
    const number = NUMBERS[table];
    return `SELECT '${table}' AS of, (to_jsonb(t)${number === undefined ? '' : ` || ${place(number)}`})::text AS row FROM ${table} AS t`;
  },
);
const ROWS = `WITH numbers AS (SELECT seq AS number FROM journal UNION SELECT after_seq FROM fund_rows)
  ${TABLES.join(' UNION ALL ')} ORDER BY 1, 2`;

/** The function decides a group with an operation that is neither a hold nor a settlement. */
const byFunction = (decide: Decide): Decide => {
  return (owner, calls, awaited) => decide(owner, [...calls, { ops: [[{ kind: 'write' }]], also: [] }], awaited);
};

/** A side of the comparison: a ledger, its books, and the observed results. */
class Side implements AsyncDisposable {
  readonly books: LedgerBooks;
  readonly #ledger: Ledger;
  readonly #close: () => Promise<void>;
  /** The funds for which requests wait. */
  readonly awaited = new Set<FundRef>();
  /** The number of statements for holds that were sent. */
  holds = 0;

  private constructor(ledger: Ledger, opened: Awaited<ReturnType<typeof openBooksOn>>, funds: readonly FundRef[]) {
    this.#ledger = ledger;
    this.books = opened.books;
    this.#close = opened.close;
    const freed = () => void this.books.standing([...this.awaited]);
    this.books.watch({ freed, opened: () => {}, adjusted: () => {}, fundsOf: () => funds });
  }

  static async open(ledger: Ledger, funds: readonly FundRef[], spoil: (decide: Decide) => Decide, change: Change) {
    const sent = (text: string) => {
      if (text.includes("'reserve'")) side.holds++;
      return change(text);
    };
    const side: Side = new Side(ledger, await openBooksOn(ledger, 1, { spoil, sent }), funds);
    return side;
  }

  async answers(ops: readonly LedgerOp[], { isLapsed, isPatient }: Omit<Turn, 'steps'>): Promise<readonly unknown[]> {
    const lease = (until: number) => this.#ledger.run(`UPDATE instances SET until = ${until} WHERE slot = 1`);
    if (isLapsed) await lease(0);
    const answers = await Promise.all(ops.map((op) => this.#answer(op, isPatient)));
    if (!isLapsed) return answers;
    await lease(Number.MAX_SAFE_INTEGER);
    // A settlement is sent again until the database has it.
    await waitFor(() => this.books.written());
    return answers;
  }

  async #answer(op: LedgerOp, isPatient: boolean): Promise<unknown> {
    const isBlocked = op.kind === 'hold' && op.funds.some((fund) => this.awaited.has(fund));
    const before = this.holds;
    try {
      const [result] = await this.books.apply([op]);
      if (isBlocked) expect(this.holds).toBe(before);
      if (isPatient && op.kind === 'hold' && result?.kind === 'refused' && result.why === 'contended') {
        const { title } = result.fund!;
        this.awaited.add(op.funds.find((fund) => fund.title.name === title.name)!);
      }
      return plain(op, result!);
    } catch (error) {
      if (error instanceof StoreError || error instanceof RangeError) return error.message;
      throw error;
    }
  }

  /** @returns the funds that are free while operations wait for the last of their funds, and the answers of the operations */
  async freeMeanwhile(ops: readonly LedgerOp[], budgets: readonly number[]): Promise<readonly unknown[]> {
    const blocker = await Connection.open(addressOf(this.#ledger.url));
    const select = `SELECT id FROM funds WHERE budget IN (${budgets.join(',')}) ORDER BY id`;
    try {
      await blocker.script('BEGIN');
      await blocker.script(`${select} DESC LIMIT 1 FOR NO KEY UPDATE`);
      const answers = Promise.all(ops.map((op) => this.books.apply([op])));
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await waitFor(async () => (await this.#ledger.run(waiting)).length > 0);
      const free = await this.#ledger.run(`${select} FOR NO KEY UPDATE SKIP LOCKED`);
      await blocker.script('ROLLBACK');
      return [free.length, ...(await answers)];
    } finally {
      await blocker.close();
    }
  }

  rows = () => this.#ledger.run(ROWS);

  [Symbol.asyncDispose] = () => this.#close();
}

type Change = (text: string) => string;

/** A change of the ledger with both ways. The law itself is unchanged. */
interface Mutant {
  readonly change?: Change;
  readonly spoil?: (decide: Decide) => Decide;
}

const law = (
  both: Ledger,
  one: Ledger,
  { change = (text) => text, spoil = (decide) => decide }: Mutant,
  seen: { holds: number },
) =>
  fc.asyncProperty(turns, fc.boolean(), async (plan, isReversed) => {
    const things = new Things();
    await using left = await Side.open(both, things.funds, spoil, change);
    await using right = await Side.open(one, things.funds, byFunction, (text) => text);
    for (const turn of plan) {
      const isMeant = ({ kind }: Step) => !turn.isLapsed || kind === 'hold' || kind === 'settle';
      const ops = turn.steps
        .filter(isMeant)
        .map((one) => things.op(one))
        .filter((op) => op !== null);
      const sets =
        ops.some(({ kind }) => kind === 'correct') || turn.steps.length === 1 ? ops.map((op) => [op]) : [ops];
      for (const set of sets) expect(await left.answers(set, turn)).toEqual(await right.answers(set, turn));
    }
    const funds = [fundOf(1_000, 'first'), fundOf(1_000, 'second')];
    const ids = [nextId(), nextId(), nextId()] as const;
    const drawn = isReversed ? funds.toReversed() : funds;
    const locked = async (side: Side) => {
      const budgets = funds.map(({ budget }) => budget);
      await side.books.apply([holdOf(ids[0], funds, 10)]);
      return [
        await side.freeMeanwhile([holdOf(ids[1], drawn, 10)], budgets),
        await side.freeMeanwhile([settleOf(ids[1], 5)], budgets),
        await side.freeMeanwhile([settleOf(ids[0], 5), holdOf(ids[2], drawn, 10)], budgets),
      ];
    };
    expect(await locked(left)).toEqual(await locked(right));
    expect(await left.rows()).toEqual(await right.rows());
    seen.holds += left.holds;
  });

test('a statement for holds and settlements and the function give the same answers, locks and rows', async () => {
  await using both = await emptyLedger();
  await using one = await emptyLedger();
  const seen = { holds: 0 };
  await fc.assert(law(both, one, {}, seen), { numRuns: runs, seed });
  expect(seen.holds).toBeGreaterThan(runs);
  proved('a statement for holds and settlements gives the answers, locks and rows of the function, over any history');
});

const hasHolds = (text: string) => text.includes("'reserve'");
const hasSettlements = (text: string) => text.includes("'settle'");
const isHold = (text: string) => hasHolds(text) && !hasSettlements(text);
const isSettlement = (text: string) => hasSettlements(text) && !hasHolds(text);
const isGroup = (text: string) => hasHolds(text) && hasSettlements(text);
const changed = (isMeant: (text: string) => boolean, part: string | RegExp, by: string): Mutant => ({
  change: (text) => {
    if (!isMeant(text)) return text;
    expect(text).toMatch(part);
    return text.replace(part, by);
  },
});
const LEASE = /EXISTS \(SELECT 1 FROM instances[^)]*\([^)]*\([^)]*\)\)[^)]*\)[^)]*\)/;

/** Mutants that each omit one condition. */
const MUTANTS: Readonly<Record<string, Mutant>> = {
  'locks the funds of a hold in another order': changed(isHold, 'ORDER BY f.id FOR', 'ORDER BY f.id DESC FOR'),
  'locks the funds of a settlement in another order': changed(
    isSettlement,
    'ORDER BY f.id FOR',
    'ORDER BY f.id DESC FOR',
  ),
  'locks the funds of a group in another order': changed(isGroup, 'ORDER BY f.id FOR', 'ORDER BY f.id DESC FOR'),
  'looks for no room for a group': changed(isGroup, 'c.need > l.free', 'false'),
  'grants twice more than is free in a group': changed(isGroup, 'n.need FROM', 'n.held FROM'),
  'decides a group after the end of its lease': changed(isGroup, LEASE, '$1::bigint > 0'),
  'draws on a window that entries cannot name in a group': changed(isGroup, 'count(l.row_id)', 'count(*)'),
  'settles a hold that has ended in a group': changed(isGroup, "h.state = 'open'", 'true'),
  'charges more than the hold has in a group': changed(isGroup, 'least(o.rest, o.most)', 'o.most + 1000'),
  'enters a group in another order': changed(isGroup, 'ORDER BY place\n', 'ORDER BY place DESC\n'),
  'looks for room in one of the funds': changed(isHold, 'coalesce(min(l.free) >=', 'coalesce(max(l.free) >='),
  'grants twice more than is free': changed(isHold, 'm * 2 <=', 'm <='),
  'holds after the end of its lease': changed(isHold, LEASE, '$1::bigint > 0'),
  'settles after the end of its lease': changed(isSettlement, LEASE, '$1::bigint > 0'),
  'passes a request that waits': { spoil: (decide) => (owner, calls) => decide(owner, calls, new Set()) },
  'holds in a window that entries cannot name': changed(isHold, 'count(l.row_id)', 'count(*)'),
  'settles in a window that entries cannot name': changed(isSettlement, 'count(l.row_id)', 'count(*)'),
  'settles a hold that has ended': changed(isSettlement, "h.state = 'open'", 'true'),
  'charges more than the hold has': changed(isSettlement, 'least(o.rest, $4::bigint)', '$4::bigint + 1000'),
};

describe('the law rejects a statement that', () => {
  test.each(Object.entries(MUTANTS))('%s', async (_, mutant) => {
    await using both = await emptyLedger();
    await using one = await emptyLedger();
    const examples = KEEN.map((history): [readonly Turn[], boolean] => [history, true]);
    const effort = { examples, numRuns: KEEN.length + 20, seed, endOnFailure: true };
    const found = await fc.check(law(both, one, mutant, { holds: 0 }), effort);
    expect(found.failed).toBe(true);
  });
});
