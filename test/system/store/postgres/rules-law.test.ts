import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { LedgerBooks, LedgerOp } from '../../../../src/store/books.ts';
import { effort, isDeep, someOf } from '../../../deep/effort.ts';
import { figuresIn, plain, rare, step, Things } from '../../../store/books-steps.ts';
import { booksInMemory } from '../../../store/tested-books.ts';
import { DECIDE, emptyLedger, openBooksOn } from './stage.ts';

/**
 * The rules stand twice: in src/accounting, and in the function of the database. Over the same histories of any operations, in groups of
 * any size, both answer alike and have the same figures in the end.
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
        // A correction looks up what it corrects before it is asked for: it waits for what is under way.
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

/** Holds and funds whose figures are others than those of their entries. */
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
}, 600_000);

/** Each is another function, by a piece of its text that was changed. */
const MUTANTS: Readonly<Record<string, readonly [from: string, to: string]>> = {
  'grants the first fallback that there is once': ['wanted * 2 <= free', 'wanted <= free'],
  'takes an eighth from a fund that nobody holds': ['WHEN has_held THEN 8 ELSE 2', 'WHEN has_held THEN 8 ELSE 8'],
  'takes half beside others': ['WHEN has_held THEN 8 ELSE 2', 'WHEN has_held THEN 2 ELSE 2'],
  'forgets what is ample': ['least(given, ample)', 'given'],
  'calls the first fund exhausted': [
    'IF need > f_most[i] - f_spent[i] THEN',
    'IF need > f_most[i] - f_spent[i] - f_held[i] THEN',
  ],
  'does not hold in the last fund': [
    'f_held[i] := f_held[i] + need;',
    'IF i < 2 THEN f_held[i] := f_held[i] + need; END IF;',
  ],
  'charges beyond the hold': ['charge := least(cost, left_over);', 'charge := cost;'],
  'charges all for an unknown cost that is none': [
    'WHEN p_costs[nth] < 0 THEN left_over',
    'WHEN p_costs[nth] < 0 THEN 0',
  ],
  'keeps the rest of a settled hold': [
    "CASE kind WHEN 's' THEN h_amount[ref] - h_charged[ref] ELSE charge END",
    'charge',
  ],
  'charges an expired hold twice': ['lack := h.late + charge - h.charged;', 'lack := h.late + charge;'],
  'charges late what its funds no longer have': [
    'free := least(free, greatest(0, f_most',
    'free := greatest(free, least(0, f_most',
  ],
  'does not remember a post': ['ARRAY[p_steps[nth], 1, charge, excess]', "'{}'"],
  'looks for no repeated step': ['AND nth <> checked)', 'AND false)'],
  'takes a hold as it was before another operation': [
    'h_state[ref] := CASE WHEN h.id IS NULL THEN 0',
    'h_state[ref] := CASE WHEN true THEN h_state[ref]',
  ],
  'does not write what a run has charged': ['charged = h_charged[x.ref], ', ''],
  'forgets that a balance was opened': ['IF opens THEN', 'IF false THEN'],
  'lets a voided hold come': [
    "CASE h.state WHEN 'void' THEN '[\"exhausted\"]'",
    "CASE h.state WHEN 'none' THEN '[\"exhausted\"]'",
  ],
  'grants twice': [
    "SELECT jsonb_build_array('granted', d.amount) INTO answer FROM done_once AS d WHERE d.name = o.name;",
    'NULL;',
  ],
  'gives back more than was charged': ['least(coalesce(h.charged - h.given_back, 0), o.amount)', 'o.amount'],
  'leaves an older policy its limit': ['WHERE enforced.rank <= excluded.rank', 'WHERE true'],
  'counts a budget twice': ['AND counted.through = o.source', ''],
  'leaves the old funds their hold': [
    'f_held[i] := f_held[i] - left_over;\n          ELSE CONTINUE',
    'NULL; ELSE CONTINUE',
  ],
  'forgets what a payment was to bring': ['f_held[of_balance] := f_held[of_balance] + promised;', 'NULL;'],
};

for (const [name, [from, to]] of someOf(Object.entries(MUTANTS)))
  test(`a function that ${name} differs`, async () => {
    expect(DECIDE).toContain(from);
    await using ledger = await emptyLedger(DECIDE.replace(from, to));
    const { failed } = await fc.check(law(ledger), { numRuns: 400, seed: isDeep ? seed : 1, endOnFailure: true });
    expect(failed).toBe(true);
  }, 120_000);
