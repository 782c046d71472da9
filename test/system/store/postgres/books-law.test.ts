import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { FundRef } from '../../../../src/core/accounting/fund.ts';
import type { LedgerBooks, OpResult } from '../../../../src/store/books.ts';
import { StoreError } from '../../../../src/store/store.ts';
import { effort } from '../../../deep/effort.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { fundOf, holdOf, nextId, settleOf } from '../../../store/suites/books.ts';

/**
 * Several instances on one database spend two budgets at once, while their connections break at random. No budget has more spent and held
 * than its limit, each caller received the booked price, and the rest of a budget can be spent.
 */
const { runs, seed, proved } = effort('postgres', 6, 100);

const INSTANCES = 4;
const LIMIT = 20_000;
const requests = fc.array(
  fc.record({ hold: fc.integer({ min: 1, max: 400 }), cost: fc.nat(500), both: fc.boolean() }),
  {
    minLength: 60,
    maxLength: 120,
  },
);

/** The number of cut connections. */
let cutOff = 0;

interface Told {
  readonly id: number;
  readonly charged: number | null;
}

/** Holds and settles as a request does, and repeats an unanswered call with the same ID. */
async function spend(books: LedgerBooks, funds: readonly FundRef[], hold: number, cost: number): Promise<Told> {
  const id = nextId();
  const first = await again(() => books.apply([holdOf(id, funds, hold)]));
  if (first.kind !== 'granted') return { id, charged: null };
  const [last] = await books.append([settleOf(id, cost)]);
  return { id, charged: last?.kind === 'charged' ? last.charged : Number.NaN };
}

async function again(ask: () => Promise<readonly OpResult[]>): Promise<OpResult> {
  for (;;) {
    try {
      return (await ask())[0]!;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      await Bun.sleep(20);
    }
  }
}

const law = (ledger: Awaited<ReturnType<typeof emptyLedger>>, cuts: number) =>
  fc.asyncProperty(requests, async (plan) => {
    const opened = await Promise.all(Array.from({ length: INSTANCES }, (_, at) => openBooksOn(ledger, at + 1)));
    const funds = [fundOf(LIMIT, 'one'), fundOf(LIMIT / 2, 'other')];
    let isOver = false;
    const cutting = (async () => {
      for (let cut = 0; cut < cuts && !isOver; cut++) {
        await Bun.sleep(30);
        const ended = await ledger.run(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ~ 'ledger_decide|nextval'
            AND pid <> pg_backend_pid() AND random() < 0.5`,
        );
        cutOff += ended.length;
      }
    })();
    try {
      const told = await Promise.all(
        plan.map(({ hold, cost, both }, at) =>
          spend(opened[at % INSTANCES]!.books, both ? funds : funds.slice(0, 1), hold, cost),
        ),
      );
      isOver = true;
      await cutting;
      const rows = await ledger.run(`SELECT h.id, h.state, h.charged FROM holds AS h WHERE h.id >= ${told[0]!.id}`);
      const booked = new Map(rows.map((row) => [Number(row.id), row]));
      for (const { id, charged } of told) {
        const row = booked.get(id);
        if (charged === null) expect(row === undefined || row.state === 'void' || Number(row.charged) === 0).toBe(true);
        else expect([row?.state, Number(row?.charged)]).toEqual(['closed', charged]);
      }
      const figures = await ledger.run(
        `SELECT name, most, spent, held FROM funds WHERE budget IN (${funds.map(({ budget }) => budget).join(',')}) ORDER BY name`,
      );
      const sum = (isWanted: (at: number) => boolean) =>
        told.reduce((all, { charged }, at) => all + (isWanted(at) ? (charged ?? 0) : 0), 0);
      expect(figures.map(({ spent, held }) => [Number(spent), Number(held)])).toEqual([
        [sum(() => true), 0],
        ...(plan.some(({ both }) => both) ? [[sum((at) => plan[at]!.both), 0]] : []),
      ]);
      for (const { most, spent } of figures) expect(Number(spent)).toBeLessThanOrEqual(Number(most));
    } finally {
      isOver = true;
      for (const { close } of opened) await close();
    }
  });

test('four instances spend exactly what a budget has while their connections break', async () => {
  await using ledger = await emptyLedger();
  await fc.assert(law(ledger, 40), { numRuns: runs, seed });
  expect(cutOff).toBeGreaterThan(runs);
  proved(
    'instances of one database spend its budgets exactly while connections are cut: told = booked, and never beyond a limit',
  );
});
