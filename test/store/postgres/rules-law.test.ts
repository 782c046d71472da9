import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { FundRef, FundStanding } from '../../../src/accounting/fund.ts';
import type { LedgerBooks, LedgerOp, OpResult } from '../../../src/store/books.ts';
import { effort, someOf } from '../../deep/effort.ts';
import { balanceOf, entryOf, fundOf, NOON, nextId } from '../suites/books.ts';
import { booksInMemory } from '../tested-books.ts';
import { DECIDE, emptyLedger, openBooksOn } from './stage.ts';

/**
 * The rules stand twice: in src/accounting, and in the function of the database. Over the same histories of any operations, in groups of
 * any size, both answer alike and have the same figures in the end.
 */
const { runs, seed, proved } = effort('postgres', 10, 4_000);

const HOLDS = 5;
const amount = fc.integer({ min: 0, max: 120 });
const amounts = fc.array(amount, { minLength: 1, maxLength: 3 });
const who = fc.nat(HOLDS - 1);
/** An ID is that of a hold or of an earmark. */
const held = fc.nat(HOLDS - 3);
const earmarked = fc.integer({ min: HOLDS - 2, max: HOLDS - 1 });
/** 0 to 7: which of two budgets and a balance. */
const drawn = fc.nat(7);
const cost = fc.oneof({ weight: 5, arbitrary: amount }, fc.constantFrom(-1, 0.5, Number.NaN));
const most = fc.oneof({ weight: 4, arbitrary: fc.constant(Number.MAX_SAFE_INTEGER) }, amount);

const step = fc.oneof(
  fc.record({
    kind: fc.constant('hold' as const),
    who: held,
    drawn,
    amounts,
    least: fc.option(amount),
    ample: fc.option(amount),
  }),
  fc.record({
    kind: fc.constant('earmark' as const),
    who: earmarked,
    drawn,
    amounts,
    expected: amount,
    least: fc.option(amount),
  }),
  fc.record({ kind: fc.constant('capture' as const), who: earmarked, paid: amount, fee: fc.nat(20) }),
  fc.record({ kind: fc.constant('extend' as const), who, step: fc.nat(3), amounts, least: fc.option(amount) }),
  fc.record({ kind: fc.constant('post' as const), who, step: fc.nat(3), cost, most }),
  fc.record({ kind: fc.constant('settle' as const), who, cost: fc.option(cost), most }),
  fc.record({
    kind: fc.constant('expire' as const),
    who,
    rule: fc.constantFrom<('charge' | 'release')[]>('charge', 'release'),
  }),
  fc.record({ kind: fc.constant('void' as const), who }),
  fc.record({ kind: fc.constant('release' as const), who: earmarked }),
  fc.record({ kind: fc.constant('attach' as const), who, drawn }),
  fc.record({ kind: fc.constant('grant' as const), name: fc.nat(3), amount: fc.integer({ min: -60, max: 120 }) }),
  fc.record({ kind: fc.constant('deposit' as const), name: fc.nat(3), paid: amount, fee: fc.nat(20) }),
  fc.record({ kind: fc.constant('waive' as const), name: fc.nat(3), fee: fc.nat(20) }),
  fc.record({ kind: fc.constant('correct' as const), name: fc.nat(3), who, amount }),
  fc.record({
    kind: fc.constant('enforce' as const),
    rank: fc.integer({ min: 2, max: 4 }),
    limit: fc.integer({ min: 0, max: 400 }),
    isOwn: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('join' as const), amount }),
  fc.record({ kind: fc.constant('count' as const), from: fc.option(fc.nat(2)), to: fc.nat(2), amount }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const ofOne = { who: 0, drawn: 1, ample: null, most: Number.MAX_SAFE_INTEGER } as const;
/**
 * Histories that chance finds seldom: money that was released and is another's by now, what is repeated, a hold that
 * may be less beside another, and a cost that is not known.
 */
const rare = fc.oneof(
  fc.tuple(amount, amount, amount).map(([own, others, cost]): Step[] => [
    { kind: 'hold', ...ofOne, amounts: [own], least: 0 },
    { kind: 'expire', who: 0, rule: 'release' },
    { kind: 'hold', ...ofOne, who: 1, amounts: [others + 60], least: 0 },
    { kind: 'settle', who: 0, cost, most: ofOne.most },
  ]),
  fc.tuple(amount, amount).map(([held, cost]): Step[] => [
    { kind: 'hold', ...ofOne, amounts: [held], least: 0 },
    { kind: 'post', who: 0, step: 0, cost, most: ofOne.most },
    { kind: 'post', who: 0, step: 0, cost, most: ofOne.most },
  ]),
  fc.tuple(fc.oneof(fc.constant(0), amount), fc.nat(20)).map(([others, ample]): Step[] => [
    { kind: 'hold', ...ofOne, amounts: [others], least: 0 },
    { kind: 'hold', ...ofOne, who: 1, amounts: [160], least: 0, ample },
  ]),
  amount.map((counted): Step[] => [
    { kind: 'count', from: null, to: 0, amount: counted },
    { kind: 'count', from: null, to: 0, amount: counted },
    { kind: 'hold', ...ofOne, amounts: [90], least: 0, ample: null },
    { kind: 'settle', who: 0, cost: Number.NaN, most: ofOne.most },
  ]),
);
const groupsOf = fc.array(
  fc.oneof({ weight: 4, arbitrary: fc.array(step, { minLength: 1, maxLength: 8 }) }, { weight: 1, arbitrary: rare }),
  { minLength: 1, maxLength: 6 },
);

let worlds = 0;

/** The things of one history: two budgets, one of them of a subject, and the balance of a wallet. */
class Things {
  readonly wallet = `0x${(++worlds).toString(16).padStart(40, '0')}`;
  readonly #ids = Array.from({ length: HOLDS }, nextId);
  readonly #captured = new Set<number>();
  readonly #world = nextId();
  readonly funds: readonly FundRef[];

  constructor() {
    const [one, other] = [fundOf(150, 'one'), fundOf(90, 'other')];
    this.funds = [one, { ...other, title: { ...other.title, subject: 'own' } }, balanceOf(this.wallet)];
  }

  drawnBy(bits: number): readonly FundRef[] {
    return this.funds.filter((_, at) => (bits >> at) % 2 === 1);
  }

  /** @returns null for an earmark under the ID of one whose payment has come */
  op(step: Step): LedgerOp | null {
    const at = NOON;
    const dimensions = { key: 'key', selector: 'auto', holder: this.wallet };
    const rest = { at, dimensions, expiresAt: Number.POSITIVE_INFINITY, note: null };
    const id = 'who' in step ? this.#ids[step.who]! : 0;
    const named = 'name' in step ? `${this.#world}/${step.name}` : '';
    switch (step.kind) {
      case 'hold': {
        const { least, ample } = step;
        const [first, ...others] = step.amounts as [number, ...number[]];
        const bounds = { ...(least !== null && { least: Math.min(least, first) }), ...(ample !== null && { ample }) };
        return { kind: 'hold', id, funds: this.drawnBy(step.drawn), amounts: [first, ...others], ...bounds, ...rest };
      }
      case 'earmark': {
        if (this.#captured.has(id)) return null;
        const [first, ...others] = step.amounts as [number, ...number[]];
        const bounds = step.least === null ? {} : { least: Math.min(step.least, first) };
        const { expected } = step;
        // A payment always comes to a balance.
        const funds = this.drawnBy(step.drawn | 4);
        return { kind: 'earmark', id, funds, amounts: [first, ...others], expected, ...bounds, ...rest };
      }
      case 'capture':
        this.#captured.add(id);
        return {
          kind: 'capture',
          id,
          at,
          deposit: { paid: step.paid, fee: Math.min(step.paid, step.fee), note: `${id}` },
        };
      case 'extend': {
        const [first, ...others] = step.amounts as [number, ...number[]];
        const bounds = step.least === null ? {} : { least: Math.min(step.least, first) };
        return { kind: 'extend', id, at, step: step.step, amounts: [first, ...others], ...bounds };
      }
      case 'post':
        return { kind: 'post', id, at, step: step.step + 10, entry: entryOf(step.cost), most: step.most };
      case 'settle':
        return { kind: 'settle', id, at, entry: step.cost === null ? null : entryOf(step.cost), most: step.most };
      case 'expire':
        return { kind: 'expire', id, at, rule: step.rule };
      case 'void':
        return { kind: 'void', id, at };
      case 'release':
        return { kind: 'release', id };
      case 'attach':
        return { kind: 'attach', id, at, funds: this.drawnBy(step.who < HOLDS - 2 ? step.drawn : step.drawn | 4) };
      case 'grant':
        return { kind: 'grant', id: this.#world + step.name, at, holder: this.wallet, amount: step.amount, note: '' };
      case 'deposit': {
        const deposit = { paid: step.paid + 1, fee: Math.min(step.paid, step.fee), note: named };
        return { kind: 'deposit', id: named, at, holder: this.wallet, deposit };
      }
      case 'waive':
        return { kind: 'waive', id: named, at, holder: this.wallet, fee: step.fee, note: named };
      case 'correct':
        return { kind: 'correct', id: named, at, reservation: id, amount: step.amount, note: '' };
      case 'enforce': {
        const { budget } = this.funds[1]!;
        const limits = step.isOwn ? { limits: new Map([['own', step.limit]]) } : {};
        return { kind: 'enforce', budgets: [{ budget, rank: step.rank, limit: step.limit, ...limits }] };
      }
      case 'join':
        return { kind: 'join', sums: [{ fund: this.funds[0]!, amount: step.amount }] };
      case 'count': {
        const { budget } = this.funds[0]!;
        return {
          kind: 'count',
          budget,
          from: step.from,
          to: step.to,
          sums: [{ fund: this.funds[0]!, amount: step.amount }],
        };
      }
    }
  }
}

/** An answer. A refused capture has its deposit in the figures or not: it counts once it is durable. */
const plain = ({ kind }: LedgerOp, result: OpResult) =>
  result.kind === 'refused' && result.fund
    ? [result.why, result.fund.title.name, ...(kind === 'capture' ? [] : figuresIn(result.fund))]
    : result;
const figuresIn = ({ limit, spent, held }: FundStanding) => [limit, spent, held];
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
    const { failed } = await fc.check(law(ledger), { numRuns: 400, seed, endOnFailure: true });
    expect(failed).toBe(true);
  }, 120_000);
