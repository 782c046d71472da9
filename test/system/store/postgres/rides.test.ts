import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import type { LedgerBooks, OpResult } from '../../../../src/store/books.ts';
import { sqlPendingSettlements } from '../../../../src/store/sql/payment-extras.ts';
import { sql, write } from '../../../../src/store/sql/statement.ts';
import { StoreError, type Write } from '../../../../src/store/store.ts';
import { deeply } from '../../../deep/deeply.ts';
import { effort } from '../../../deep/effort.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { figures, fundOf, holdOf, nextId, settleOf } from '../../../store/suites/books.ts';
import { waitFor } from '../../../support/answers.ts';
import { claimOf, HOT } from './spender.ts';

/** A single statement of the database decides operations and writes the data attached to them. */
const { runs, seed, proved } = effort('postgres', 8, 1_000);

const reasonOf = (error: unknown): string => (error instanceof StoreError ? error.reason : String(error));
type Outcome = OpResult | string;
const outcomeOf = (
  books: LedgerBooks,
  id: number,
  amount: number,
  fund: Parameters<typeof figures>[1],
  also: Write[],
) => books.apply([holdOf(id, [fund], amount)], also).then<Outcome, Outcome>(([result]) => result!, reasonOf);

const calls = fc.array(
  fc.record({ at: fc.nat(1), name: fc.option(fc.nat(3)), amount: fc.integer({ min: 1, max: 60 }), both: fc.boolean() }),
  { minLength: 4, maxLength: 24 },
);

/**
 * Only one granted hold can have a name. A hold whose name belongs to another hold holds nothing, and does not affect other holds of its
 * group.
 */
const law = (ledger: Awaited<ReturnType<typeof emptyLedger>>) =>
  fc.asyncProperty(calls, async (plan) => {
    const opened = await Promise.all([1, 2].map((slot) => openBooksOn(ledger, slot)));
    const base = nextId();
    const fund = fundOf(120, 'one');
    try {
      const found = await Promise.all(
        plan.map(async ({ at, name, amount, both }) => {
          const id = nextId();
          const claims = name === null ? [] : [claimOf(base * 4 + name, id, at)];
          // A second attached statement, whose effect would remain if the condition of the first failed without a rollback.
          const noted = both ? [sqlPendingSettlements(ledger.store).put(`${id}`, `it's \\ "${name}"`, -id)] : [];
          const outcome = await outcomeOf(opened[at]!.books, id, amount, fund, [...claims, ...noted]);
          return { id, name, both, outcome };
        }),
      );
      const granted = found.filter(({ outcome }) => typeof outcome !== 'string' && outcome.kind === 'granted');
      for (const { outcome } of found) {
        if (typeof outcome === 'string') expect(outcome).toBe('unmet');
      }
      const claimed = new Map(
        (await ledger.run('SELECT decision, body FROM idempotency')).map(({ decision }) => [Number(decision), true]),
      );
      for (const { id, name, outcome } of found)
        expect(claimed.has(id)).toBe(name !== null && typeof outcome !== 'string' && outcome.kind === 'granted');
      const names = granted.flatMap(({ name }) => (name === null ? [] : [name]));
      expect(new Set(names).size).toBe(names.length);
      const notes = await ledger.run(`SELECT key, value FROM pending_settlements WHERE time <= ${-base}`);
      const written = new Map(notes.map(({ key, value }) => [Number(key), value]));
      for (const { id, name, both } of granted) expect(written.get(id)).toBe(both ? `it's \\ "${name}"` : undefined);
      for (const { id } of found.filter((one) => !granted.includes(one))) expect(written.has(id)).toBe(false);
      const [row] = await ledger.run(`SELECT held FROM funds WHERE budget = ${fund.budget}`);
      const sum = granted.reduce((all, { outcome }) => all + (outcome as { amount: number }).amount, 0);
      expect(Number(row?.held)).toBe(sum);
    } finally {
      for (const { close } of opened) await close();
    }
  });

test('a name attached to holds of two instances goes to one granted hold, and others of the group are unaffected', async () => {
  await using ledger = await emptyLedger();
  await fc.assert(law(ledger), { numRuns: runs, seed });
  proved(
    'a name that rides with holds of two instances goes to one of them, which is granted, and spoils no other call',
  );
});

test('if a condition of a settlement’s attached writes fails, or another process locks the row, only its own call fails', async () => {
  await using ledger = await emptyLedger();
  const { books, close } = await openBooksOn(ledger);
  const fund = fundOf(1_000, 'one');
  const ids = [nextId(), nextId(), nextId()] as const;
  await books.apply([holdOf(ids[0], [fund], 10)], [claimOf(ids[0], ids[0], 1)]);
  // The second of two writes fails, so the first is rolled back with the hold.
  const [put, taken] = [sqlPendingSettlements(ledger.store).put('own', 'v', 1), claimOf(ids[0], ids[1], 1)];
  const settled = settleOf(ids[0], 4);
  const [unmet, first, other] = await Promise.all([
    outcomeOf(books, ids[1], 20, fund, [put, taken]),
    books.append([settled]),
    outcomeOf(books, ids[2], 30, fund, [claimOf(ids[2], ids[2], 1)]),
  ]);
  expect([unmet, first, other]).toEqual([
    'unmet',
    [{ kind: 'charged', charged: 4, overrun: 0 }],
    { kind: 'granted', amount: 30 },
  ]);
  expect(await ledger.run('SELECT * FROM pending_settlements')).toEqual([]);
  expect(figures(books, fund)).toEqual([[4, 30]]);
  // A settlement counts even if its attached writes fail.
  const unmetSequel = books.append([settleOf(ids[2], 5)], () => ({
    ops: [{ kind: 'count', budget: fund.budget, from: null, to: 0, sums: [{ fund, amount: 3 }] }],
    writes: [claimOf(ids[0], ids[2], 1)],
  }));
  expect(await unmetSequel.then(String, reasonOf)).toBe('unmet');
  await waitFor(() => books.written());
  expect(figures(books, fund)).toEqual([[12, 0]]);
  // The lock of a transaction that does not continue.
  const locking = ledger.run(
    `BEGIN; SELECT 1 FROM idempotency WHERE decision = ${ids[2]} FOR UPDATE; SELECT pg_sleep(20)`,
  );
  locking.catch(() => {});
  await waitFor(
    async () => (await ledger.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).length > 0,
  );
  const [late, free] = [nextId(), nextId()];
  expect(
    await Promise.all([
      outcomeOf(books, late, 5, fund, [claimOf(ids[2], late, 1)]),
      outcomeOf(books, free, 6, fund, []),
    ]),
  ).toEqual(['busy', { kind: 'granted', amount: 6 }]);
  await ledger.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
  await close();
});

test('a write that several settlements of a group bring is written once, together with other writes and operations', async () => {
  await using ledger = await emptyLedger();
  const { books, close } = await openBooksOn(ledger);
  const fund = fundOf(1_000, 'one');
  const ids = [nextId(), nextId(), nextId()] as const;
  const notes = sqlPendingSettlements(ledger.store);
  await books.apply([holdOf(ids[0], [fund], 10)], [notes.put('shared', '', 0)]);
  await books.apply([holdOf(ids[1], [fund], 20)]);
  const shared = write(sql("UPDATE pending_settlements SET time = time + 1 WHERE key = 'shared'"));
  const settle = (id: number, ...more: readonly Write[]) =>
    books.append([settleOf(id, 4)], () => ({ ops: [], writes: [shared, ...more] }));
  const settled = await Promise.all([settle(ids[0]), settle(ids[1], notes.put('own', '', 7))]);
  const hold = await books.apply([holdOf(ids[2], [fund], 30)]);
  expect([...settled.flat(), ...hold]).toEqual([
    { kind: 'charged', charged: 4, overrun: 0 },
    { kind: 'charged', charged: 4, overrun: 0 },
    { kind: 'granted', amount: 30 },
  ]);
  await waitFor(() => books.written());
  const rows = await ledger.run('SELECT key, time FROM pending_settlements ORDER BY key');
  expect(rows.map(({ key, time }) => [key, Number(time)])).toEqual([
    ['own', 7],
    ['shared', 1],
  ]);
  expect(figures(books, fund)).toEqual([[8, 30]]);
  await close();
});

test('a hold is granted although the writes of another call of its group fail', async () => {
  await using ledger = await emptyLedger();
  let isAway = false;
  const sent = (text: string): string => {
    if (!isAway || !text.includes('ledger_decide')) return text;
    isAway = false;
    throw new StoreError('no connection', { reason: 'broken' });
  };
  const { books, close } = await openBooksOn(ledger, 1, { sent });
  const fund = fundOf(1_000, 'one');
  const [settled, ...held] = [nextId(), nextId(), nextId()] as const;
  await books.apply([holdOf(settled, [fund], 10)]);
  const refused = write(sql("INSERT INTO pending_settlements (key, value, time) VALUES ('own', NULL, 0)"));
  const later: Promise<readonly OpResult[]>[] = [];
  await books.append([settleOf(settled, 4)], () => {
    isAway = true;
    for (const id of held) later.push(books.apply([holdOf(id, [fund], 30)]));
    return { ops: [], writes: [refused] };
  });
  const granted = { kind: 'granted', amount: 30 } as const;
  expect(await Promise.all(later)).toEqual([[granted], [granted]]);
  await waitFor(() => books.written());
  expect(isAway).toBe(false);
  expect(figures(books, fund)).toEqual([[4, 60]]);
  await close();
});

const SPENDER = join(import.meta.dir, 'spender.ts');

/**
 * Stops a process in the middle of its groups again and again. @returns the longest time of another process's hold, ms
 * @param way `slow` for groups that are transactions of several round trips
 */
async function stopping(ledger: Awaited<ReturnType<typeof emptyLedger>>, stops: number, way: string): Promise<number> {
  await using child = Bun.spawn([process.execPath, SPENDER, ledger.url, '2', '400', way], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  await child.stdout.getReader().read();
  const { books, close } = await openBooksOn(ledger);
  const hold = () => books.apply([holdOf(nextId(), [HOT], 10)], [claimOf(nextId(), 1, 1)]);
  await hold();
  let longest = 0;
  for (let stop = 0; stop < stops; stop++) {
    await Bun.sleep(7 + stop * 3);
    child.kill('SIGSTOP');
    const began = performance.now();
    await Promise.race([hold(), Bun.sleep(4_500)]);
    longest = Math.max(longest, performance.now() - began);
    child.kill('SIGCONT');
    if (longest > 4_000) break;
  }
  child.kill('SIGKILL');
  await child.exited;
  await close();
  return longest;
}

test('an instance that stops in the middle of a group keeps no locks that block others', async () => {
  await using ledger = await emptyLedger();
  // We promise 1 s on an idle machine.
  expect(await stopping(ledger, 12, 'usual')).toBeLessThan(4_000);
  // One statement, because the database may still be finishing the last group of the killed process.
  const [row] = await ledger.run(
    'SELECT (SELECT (spent, held)::text FROM funds) AS counted,' +
      ' (SELECT (sum(charged), sum(amount - charged) FILTER (WHERE state = $$open$$))::text FROM holds) AS summed',
  );
  expect(row?.counted).toBe(row?.summed);
  expect(row?.summed).toBeString();
});

deeply('one whose groups are transactions of several round trips keeps them', async () => {
  await using ledger = await emptyLedger();
  expect(await stopping(ledger, 12, 'slow')).toBeGreaterThan(4_000);
});
