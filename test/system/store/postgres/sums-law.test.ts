import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { FundRef } from '../../../../src/core/accounting/fund.ts';
import { QUARTER_MS } from '../../../../src/core/accounting/window.ts';
import { idAt, idSpan } from '../../../../src/core/id.ts';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { auditLedger } from '../../../../src/ledger/audit/run.ts';
import type { LedgerBooks, LedgerOp } from '../../../../src/store/books.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { chargedBy, spentIn, usageOf } from '../../../../src/store/postgres/books/charges.ts';
import { foldCharges } from '../../../../src/store/postgres/books/fold.ts';
import type { BooksQuery } from '../../../../src/store/postgres/books/names.ts';
import { Horizon } from '../../../../src/store/postgres/horizon.ts';
import { postgresRepositories } from '../../../../src/store/postgres/repositories.ts';
import { PostgresSnapshot } from '../../../../src/store/postgres/snapshot.ts';
import { sql } from '../../../../src/store/sql/statement.ts';
import { effort } from '../../../deep/effort.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { extendOf, fundOf, holdOf, NOON, nextId, postOf, settleOf } from '../../../store/suites/books.ts';
import { waitFor } from '../../../support/answers.ts';

/**
 * Instances charge, refund, fold, count and delete at once. At every moment, the sums plus the rest of the journal equal the whole journal,
 * the audit finds nothing, and each charge is counted once in a budget.
 */
const { runs, seed, proved } = effort('postgres', 3, 200);

const INSTANCES = 3;
const amount = fc.integer({ min: 1, max: 120 });
const charge = fc.record({
  kind: fc.constant('charge' as const),
  key: fc.nat(2),
  quarter: fc.nat(2),
  held: amount,
  posted: fc.option(amount),
  cost: fc.option(amount),
  isBack: fc.boolean(),
});
const step = fc.oneof(
  { weight: 6, arbitrary: charge },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom<('fold' | 'count' | 'prune')[]>('fold', 'count', 'prune') }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
);
const plans = fc.array(fc.array(step, { minLength: 6, maxLength: 14 }), { minLength: INSTANCES, maxLength: INSTANCES });
type Charge = typeof charge extends fc.Arbitrary<infer One> ? One : never;

type Ledger = Awaited<ReturnType<typeof emptyLedger>>;

const PLAIN =
  sql(`SELECT a.key_id AS "key", j.reservation / ${idSpan(QUARTER_MS)} AS "span", count(*) AS charges, sum(j.amount) AS microcredits,
      coalesce(sum((j.bill::json ->> 'input')::bigint), 0) AS input, coalesce(sum((j.bill::json ->> 'output')::bigint), 0) AS output
    FROM journal AS j JOIN accounts AS a ON a.id = j.account
    WHERE j.kind IN ('post', 'settle', 'expire', 'correct') AND (j.amount <> 0 OR j.tariff IS NOT NULL) GROUP BY 1, 2 ORDER BY 1, 2`);
interface PlainSum {
  readonly key: string;
  readonly span: number;
  readonly charges: number;
  readonly microcredits: number;
  readonly input: number;
  readonly output: number;
}
const FIGURES = ['charges', 'microcredits', 'input', 'output'] as const;
const summed = (rows: readonly Pick<PlainSum, (typeof FIGURES)[number]>[]) =>
  FIGURES.map((figure) => rows.reduce((sum, row) => sum + row[figure], 0));

/** Returns the database's figures at one moment, from its sums and from the journal alone. */
async function look({ url }: Pick<Ledger, 'url'>, keyId: string): Promise<void> {
  const snapshot = await PostgresSnapshot.open(addressOf(url));
  try {
    const query: BooksQuery = (text, values) => snapshot.query(sql(text), values);
    const plain = await snapshot.query<PlainSum>(PLAIN);
    expect(await chargedBy(query)).toBe(summed(plain)[1]!);
    const first = Math.floor(idAt(NOON) / idSpan(QUARTER_MS));
    for (const hasRuns of [true, false]) {
      for (const at of [0, 1]) {
        const span = { from: NOON + at * QUARTER_MS, to: NOON + (at + 1) * QUARTER_MS };
        const used = await usageOf(query, { keyId: null, hasRuns, ...span });
        expect(summed(used)).toEqual(summed(plain.filter((row) => row.span === first + at)));
      }
    }
    const window = { starts: NOON, ends: Number.POSITIVE_INFINITY };
    const own = plain.filter(({ key }) => key === keyId);
    expect(await spentIn(query, keyId, window)).toBe(summed(own)[1]!);
    const used = await usageOf(query, { keyId, from: NOON, to: NOON + 3 * QUARTER_MS });
    expect(summed(used)).toEqual(summed(own));
    const { journal } = postgresRepositories(snapshot, null);
    expect((await auditLedger(journal, { idle: false })).findings).toEqual([]);
  } finally {
    await snapshot.close();
  }
}

const at = NOON;
async function spend(
  books: LedgerBooks,
  { key, quarter, held, posted, cost, isBack }: Charge,
  fund: FundRef,
  keys: readonly string[],
) {
  const id = nextId() + idSpan(quarter * QUARTER_MS);
  const dimensions = { key: keys[key]!, selector: 'auto', session: `s${held % 2}` };
  await books.apply([{ ...holdOf(id, [fund], held), dimensions } as LedgerOp]);
  await books.apply([extendOf(id, 1, 10)]);
  if (posted !== null) await books.append([postOf(id, 2, posted)]);
  const end: LedgerOp = isBack && cost === null ? { kind: 'expire', id, at, rule: 'charge' } : settleOf(id, cost);
  const [ended] = await books.append([end]);
  if (!isBack || ended?.kind !== 'charged') return;
  const back: LedgerOp = { kind: 'correct', id: `back ${id}`, at, reservation: id, amount: 7, note: '' };
  expect(await books.apply([back])).toEqual([{ kind: 'granted', amount: Math.min(7, ended.charged) }]);
}

/** All holds are older than this time. */
const LATER = NOON + 86_400_000;

/** Counts the entries that a budget has not counted. Another instance may have counted them first. */
async function count(books: LedgerBooks, fund: FundRef): Promise<void> {
  const window = { starts: NOON, ends: Number.POSITIVE_INFINITY };
  const { from, to, charges } = await books.uncounted(fund.budget, window);
  const sum = charges.reduce((all, { microcredits }) => all + microcredits, 0);
  await books.apply([{ kind: 'count', budget: fund.budget, from, to, sums: [{ fund, amount: sum }] }]);
}

const law = (ledger: Ledger) =>
  fc.asyncProperty(plans, async (plan) => {
    const opened = await Promise.all(plan.map((_, lane) => openBooksOn(ledger, lane + 1)));
    // Keys that were never charged use a budget that was never counted.
    const keys = [0, 1, 2].map((key) => `key-${nextId()}-${key}`);
    const horizon = () => new Horizon(ledger.query, processTimers, { entries: 'journal_seq' });
    const { ledger: table } = postgresRepositories(ledger.store, processTimers);
    const [fund, counted] = [fundOf(1e9, `of ${keys[0]}`), fundOf(1e12, `counted ${keys[0]}`)];
    const fold = () => foldCharges(ledger.query, horizon(), false);
    try {
      const ends = plan.map(async (steps, lane) => {
        const { books } = opened[lane]!;
        for (const step of steps) {
          if (step.kind === 'charge') await spend(books, step, fund, keys);
          else if (step.kind === 'fold') await Promise.all([fold(), fold()]);
          else if (step.kind === 'count') await count(books, counted);
          else if (step.kind === 'prune') await table.prune(LATER);
          else await look(ledger, keys[1]!);
        }
      });
      const failed = (await Promise.allSettled(ends)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
      await look(ledger, keys[1]!);
      const [{ books }] = opened as [(typeof opened)[number]];
      await count(books, counted);
      const [row] = await ledger.run(`SELECT spent FROM funds WHERE budget = ${counted.budget}`);
      expect(Number(row?.spent)).toBe(await books.charged());
      await fold();
      await look(ledger, keys[1]!);
    } finally {
      for (const { close } of opened) await close();
    }
  });

test('the sums plus the rest of the journal equal the journal, even while instances fold and count', async () => {
  await using ledger = await emptyLedger();
  await fc.assert(law(ledger), { numRuns: runs, seed, endOnFailure: true });
  proved(
    'the sums of charges and the rest of the journal add up, at any moment, while instances charge, fold and count',
  );
});

const LOOKS = `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%FROM pg_locks%' AND pid <> pg_backend_pid()`;

test('a fold waits for entries that have a number but are not visible yet', async () => {
  await using ledger = await emptyLedger();
  await using opened = await openBooksOn(ledger);
  const { books } = opened;
  const [first, late] = [nextId(), nextId()];
  await books.apply([holdOf(first, [], 10), holdOf(late, [], 10)]);
  const connection = await ledger.store.open();
  await connection.script('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
  await connection.run(
    `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff) VALUES (nextval('journal_seq'), 'settle', $1, 1, 4, $2, 1)`,
    [late, at],
  );
  await books.append([settleOf(first, 5)]);
  let isFolded = false;
  const folding = books.checkpoint().then(() => {
    isFolded = true;
  });
  // The fold has polled once, and polls again.
  await waitFor(async () => (await ledger.run(LOOKS)).length > 0);
  expect([isFolded, await books.charged()]).toEqual([false, 5]);
  await connection.script('COMMIT');
  await folding;
  expect(await books.charged()).toBe(9);
  expect(await ledger.run('SELECT sum(microcredits)::int AS folded FROM spend')).toEqual([{ folded: 9 }]);
  await connection.close();
});

test('a checkpoint leaves the sums to a fold that ran a moment ago', async () => {
  await using ledger = await emptyLedger();
  await using opened = await openBooksOn(ledger);
  const { books } = opened;
  const folded = async () => {
    const id = nextId();
    await books.apply([holdOf(id, [], 10)]);
    await books.append([settleOf(id, 5)]);
    await books.checkpoint();
    return (await ledger.run('SELECT charged FROM folded')).map(({ charged }) => Number(charged));
  };
  expect([await folded(), await folded(), await books.charged()]).toEqual([[5], [5], 10]);
  await ledger.run('UPDATE folded SET at = 0');
  expect(await folded()).toEqual([15]);
});

test('a budget that all holds use is counted from its last count, not from the beginning of the journal', async () => {
  await using ledger = await emptyLedger();
  await using opened = await openBooksOn(ledger);
  const { books } = opened;
  const fund = fundOf(1_000, 'all');
  const look = () => books.uncounted(fund.budget, { starts: NOON, ends: Number.POSITIVE_INFINITY });
  const spend = async (funds: FundRef[]) => {
    const id = nextId();
    await books.apply([holdOf(id, funds, 10)]);
    await books.append([settleOf(id, 4)]);
    await ledger.run(`SELECT nextval('journal_seq') FROM generate_series(1, 600)`);
  };
  await count(books, fund);
  const { from: first } = await look();
  await spend([fund]);
  await look();
  const { from: second, charges } = await look();
  expect([second!.through > first!.through, charges]).toEqual([true, []]);
  // A budget that the holds do not use stays uncounted.
  await spend([]);
  await look();
  expect(await look()).toMatchObject({ from: second, charges: [{ microcredits: 4 }] });
});
