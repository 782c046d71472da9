import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { LedgerBooks, LedgerOp } from '../../../../src/store/books.ts';
import { effort } from '../../../deep/effort.ts';
import { figuresIn, plain, rare, step, Things } from '../../../store/books-steps.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { booksInMemory } from '../../../store/tested-books.ts';

/**
 * The rules of money exist twice: in src/core/accounting, and in a function of the database. After the same histories of operations, in
 * groups of any size, both give the same answers and have the same figures.
 */
const { runs, seed, proved } = effort('postgres', 10, 4_000);

const groupsOf = fc.array(
  fc.oneof({ weight: 4, arbitrary: fc.array(step, { minLength: 1, maxLength: 8 }) }, { weight: 1, arbitrary: rare }),
  { minLength: 1, maxLength: 6 },
);

const answerOf = (books: LedgerBooks, op: LedgerOp) =>
  books.apply([op]).then(
    ([result]) => plain(op, result!),
    (error: unknown) => (error instanceof Error ? error.name : error),
  );
const figuresOf = (books: LedgerBooks, { funds, wallet }: Things) => [
  ...books.standing(funds).map(figuresIn),
  books.balanceOf(wallet)?.limit ?? null,
];

const law = (ledger: Pick<Awaited<ReturnType<typeof emptyLedger>>, 'store'>) =>
  fc.asyncProperty(groupsOf, async (groups) => {
    await using memory = await booksInMemory();
    const { books, close } = await openBooksOn(ledger);
    const things = new Things();
    for (const one of [memory.books, books])
      one.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => things.funds });
    try {
      for (const group of groups) {
        const ops = group.map((one) => things.op(one)).filter((op) => op !== null);
        // A correction first reads the entry that it corrects, so it waits for operations in progress.
        const sets = ops.some(({ kind }) => kind === 'correct') ? ops.map((op) => [op]) : [ops];
        for (const set of sets) {
          const found = await Promise.all(set.map((op) => answerOf(books, op)));
          const right: unknown[] = [];
          for (const op of set) right.push(await answerOf(memory.books, op));
          expect(found).toEqual(right as typeof found);
        }
      }
      expect(figuresOf(books, things)).toEqual(figuresOf(memory.books, things));
    } finally {
      await close();
    }
  });

/** Finds holds and funds whose figures differ from the sums of their entries. */
const UNLIKE_ENTRIES = `
  SELECT 'hold' AS what, h.id FROM holds AS h LEFT JOIN journal AS j ON j.reservation = h.id
    WHERE h.state IN ('open', 'closed') GROUP BY h.id
    HAVING h.amount <> coalesce(sum(j.amount) FILTER (WHERE j.kind IN ('reserve', 'raise')), 0)
      OR h.charged <> coalesce(sum(j.amount) FILTER (WHERE j.kind IN ('post', 'settle', 'expire')), 0)
      OR (h.state = 'closed')::integer <> count(*) FILTER (WHERE j.kind IN ('settle', 'expire'))
      OR (h.late IS NULL AND h.corrected IS NULL AND h.overrun <> coalesce(sum(j.amount) FILTER (WHERE j.kind = 'overrun'), 0))
      OR bool_or(j.account <> h.account)
  UNION ALL
  SELECT 'fund', f.id FROM funds AS f JOIN fund_rows AS r ON r.id = f.row_id
    WHERE f.spent <> r.opening + (SELECT coalesce(sum(j.amount), 0) FROM journal AS j WHERE j.seq > r.after_seq AND f.id = ANY (j.drawn))
  UNION ALL
  SELECT 'entry', j.seq FROM journal AS j JOIN holds AS h ON h.id = j.reservation
    WHERE j.kind = 'reserve' AND (j.funds IS NULL AND h.first > 0 AND cardinality(h.funds) > 0 AND NOT EXISTS
      (SELECT 1 FROM journal AS a WHERE a.reservation = h.id AND a.kind = 'attach') OR j.owner <> h.owner OR j.expires <> h.expires)`;

test('the function of the database decides as the rules do', async () => {
  await using ledger = await emptyLedger();
  await fc.assert(law(ledger), { numRuns: runs, seed });
  expect(await ledger.run(UNLIKE_ENTRIES)).toEqual([]);
  proved('the function of the database decides any history of operations, in groups of any size, as the rules do');
});
