import { expect } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import type { FundRef } from '../../../src/core/accounting/fund.ts';
import type { LedgerBooks, LedgerOp } from '../../../src/store/books.ts';
import { STEP_MS } from '../../../src/store/traffic.ts';
import { waitFor } from '../../support/answers.ts';
import type { Cases } from '../support.ts';
import {
  applied,
  type BooksUnderTest,
  balanceOf,
  charged,
  depositOf,
  earmarkOf,
  enforceOf,
  entryOf,
  extendOf,
  figures,
  fundOf,
  granted,
  holdOf,
  NOON,
  nextId,
  postOf,
  settleOf,
  uncounted,
  WALLET,
} from './books.ts';

const at = NOON;
const expireOf = (id: number, rule: 'charge' | 'release'): LedgerOp => ({ kind: 'expire', id, at, rule });

/** Returns the part of a fund that other requests cannot use. */
const takenOf = (books: LedgerBooks, fund: FundRef): number =>
  books.standing([fund]).reduce((sum, { spent, held }) => sum + spent + held, 0);

/**
 * Incidents of budgets that happened in other systems, numbered as in the list where they were collected. Each case proves that the
 * incident cannot happen in Signalbox. Incidents about prices are in `test/routing/price.test.ts`; incidents about policies of different
 * instances are in `test/system/instances/two-policies.test.ts`.
 */
export const INCIDENT_CASES: Cases<BooksUnderTest> = {
  '1: a hold frees its funds on every way in which it can end': async ({ books }) => {
    const funds = [fundOf(1_000), balanceOf(WALLET)];
    await applied(books, depositOf('pay_1', 1_000));
    const endings: ((id: number) => LedgerOp[])[] = [
      (id) => [settleOf(id, 30)],
      (id) => [settleOf(id, null)],
      (id) => [settleOf(id, 90)],
      (id) => [postOf(id, 1, 20), settleOf(id, null)],
      (id) => [extendOf(id, 1, 50), settleOf(id, 70)],
      (id) => [extendOf(id, 1, 5_000), settleOf(id, 10)],
      (id) => [{ kind: 'attach', id, at, funds: funds.slice(0, 1) }, settleOf(id, 10)],
      (id) => [expireOf(id, 'charge')],
      (id) => [postOf(id, 1, 20), expireOf(id, 'release')],
    ];
    for (const ending of endings) {
      const id = nextId();
      await books.apply([holdOf(id, funds, 40), ...ending(id)]);
    }
    const [left, paid] = [nextId(), nextId()];
    await books.apply([earmarkOf(left, funds, 40, 40), { kind: 'release', id: left }]);
    const deposit = { paid: 40, fee: 0, note: 'pay_2' };
    await books.apply([earmarkOf(paid, funds, 40, 40), { kind: 'capture', id: paid, at, deposit }, settleOf(paid, 40)]);
    expect(books.standing(funds).map(({ held }) => held)).toEqual([0, 0]);
    expect(books.open()).toEqual({ count: 0, held: 0 });
  },
  '2: if several servers initialize a counter, earlier spending is still counted once': async ({ books }) => {
    const fund = fundOf(100);
    const { from, to } = await books.uncounted(fund.budget, { starts: 0, ends: Number.POSITIVE_INFINITY });
    const count = { kind: 'count', budget: fund.budget, from, to, sums: [{ fund, amount: 40 }] } as const;
    for (let maker = 0; maker < 3; maker++) {
      expect(await applied(books, count)).toMatchObject(maker === 0 ? granted(0) : { kind: 'refused' });
    }
    for (let maker = 0; maker < 3; maker++) {
      const id = nextId();
      expect(await books.apply([holdOf(id, [{ ...fund }], 10), settleOf(id, 5)])).toEqual([granted(10), charged(5)]);
    }
    expect(figures(books, fund)).toEqual([[55, 0]]);
  },
  '3: a decision never uses an outdated reading of a fund': async ({ books }) => {
    const fund = fundOf(100);
    const [{ free } = { free: 0 }] = books.standing([fund]);
    expect(await applied(books, holdOf(nextId(), [fund], free - 40))).toEqual(granted(60));
    expect(await applied(books, holdOf(nextId(), [fund], free - 40))).toMatchObject({ kind: 'refused' });
  },
  '4: a settlement is counted even if other operations of its batch could not be written': async (box) => {
    const { books, fails } = box;
    const fund = fundOf(100);
    const id = nextId();
    await applied(books, holdOf(id, [fund], 50));
    fails(true);
    await expect(books.apply([settleOf(id, 30), holdOf(nextId(), [fund], 50)])).rejects.toThrow();
    expect(takenOf(books, fund)).toBeGreaterThanOrEqual(30);
    fails(false);
    expect(await waitFor(() => books.written())).toBe(true);
    expect(figures(books, fund)).toEqual([[30, 0]]);
    expect(await (await box.reopened()).charged()).toBe(30);
  },
  '5: holds on the same funds in different orders neither deadlock nor lose amounts': async ({ books }) => {
    const [one, other] = [fundOf(1_000), fundOf(1_000)];
    const run = async (_: unknown, turn: number) => {
      const id = nextId();
      await applied(books, holdOf(id, turn % 2 === 0 ? [one, other] : [other, one], 10));
      await applied(books, settleOf(id, 7));
    };
    await Promise.all(Array.from({ length: 50 }, run));
    expect(figures(books, one, other)).toEqual([
      [350, 0],
      [350, 0],
    ]);
  },
  '6: a burst of requests on one fund uses it up exactly': async ({ books }) => {
    const fund = fundOf(300);
    const one = async (_: unknown, at: number) => {
      // The requests arrive in several groups, so that groups of two instances overlap.
      for (let turn = 0; turn < at % 20; turn++) await setImmediate();
      return await applied(books, holdOf(nextId(), [fund], 1));
    };
    const results = await Promise.all(Array.from({ length: 500 }, one));
    expect(results.filter(({ kind }) => kind === 'granted')).toHaveLength(300);
    expect(figures(books, fund)).toEqual([[0, 300]]);
  },
  '7: a restart does not forget what was spent': async (box) => {
    const id = nextId();
    const funds = [balanceOf(WALLET)];
    await applied(box.books, depositOf('pay_3', 100));
    await box.books.apply([holdOf(id, funds, 60), settleOf(id, 45)]);
    const books = await box.reopened();
    expect(figures(books, ...funds)).toEqual([[45, 0]]);
    expect((await uncounted(books)).charges).toMatchObject([{ microcredits: 45 }]);
  },
  '8: a budget counts spent money once, not twice': async ({ books }) => {
    const fund = fundOf(100);
    const id = nextId();
    await books.apply([holdOf(id, [fund], 60), postOf(id, 1, 20), settleOf(id, 35)]);
    expect(await applied(books, holdOf(nextId(), [fund], 46))).toMatchObject({ kind: 'refused' });
    expect(await applied(books, holdOf(nextId(), [fund], 45))).toEqual(granted(45));
  },
  '10: large fallback amounts do not keep other requests out': async ({ books }) => {
    const fund = fundOf(100);
    const results = [];
    for (let i = 0; i < 10; i++) results.push(await applied(books, holdOf(nextId(), [fund], 10, 60)));
    expect(results).toEqual(Array.from({ length: 10 }, () => granted(10)));
  },
  '11: a caller who disconnects before usage is known still pays': async ({ books }) => {
    const fund = fundOf(100);
    const [counted, unknown] = [nextId(), nextId()];
    await books.apply([holdOf(counted, [fund], 40), holdOf(unknown, [fund], 40)]);
    const entry = { ...entryOf(25), estimated: true };
    const most = Number.MAX_SAFE_INTEGER;
    expect(await applied(books, { kind: 'settle', id: counted, at, entry, most })).toEqual(charged(25));
    expect(await applied(books, expireOf(unknown, 'charge'))).toEqual(charged(40));
    expect(figures(books, fund)).toEqual([[65, 0]]);
  },
  '12: negative usage does not refill a budget': async ({ books }) => {
    const fund = fundOf(200);
    for (const cost of [-50, Number.NaN, Number.NEGATIVE_INFINITY, 0.5]) {
      const id = nextId();
      await books.apply([holdOf(id, [fund], 40), settleOf(id, cost)]);
    }
    const id = nextId();
    await books.apply([holdOf(id, [fund], 40), postOf(id, 1, -50), settleOf(id, null)]);
    expect(figures(books, fund)).toEqual([[200, 0]]);
  },
  '14: a settlement whose write fails is counted later, and its money is not held forever': async (box) => {
    const { books, fails } = box;
    const fund = fundOf(100);
    const ids = [nextId(), nextId(), nextId()];
    for (const id of ids) await applied(books, holdOf(id, [fund], 30));
    fails(true);
    books.append([settleOf(ids[0]!, 10)]);
    books.append([postOf(ids[1]!, 1, 20), settleOf(ids[1]!, null)]);
    books.append([expireOf(ids[2]!, 'charge')]);
    // A new hold is refused, because nothing may be granted that cannot be written.
    await expect(applied(books, holdOf(nextId(), [fund], 5))).rejects.toThrow();
    expect(takenOf(books, fund)).toBeGreaterThanOrEqual(60);
    fails(false);
    expect(await waitFor(() => books.written())).toBe(true);
    expect(figures(books, fund)).toEqual([[60, 0]]);
    const again = await box.reopened();
    expect([await again.charged(), again.open().count, await again.orphans()]).toEqual([60, 0, []]);
  },
  '15: a settlement that is repeated or arrives after an expiry is counted once': async ({ books }) => {
    const fund = fundOf(100);
    const [settled, expired] = [nextId(), nextId()];
    await books.apply([holdOf(settled, [fund], 40), holdOf(expired, [fund], 40)]);
    for (let turn = 0; turn < 3; turn++) {
      expect(await applied(books, settleOf(settled, 25 + turn))).toEqual(charged(25));
      expect(await applied(books, expireOf(expired, 'release'))).toEqual(charged(0));
      expect(await applied(books, settleOf(expired, 40))).toEqual(charged(40));
      books.append([postOf(settled, 7 + turn, 10), settleOf(expired, 40)]);
    }
    expect(figures(books, fund)).toEqual([[65, 0]]);
  },
  '15: after a restart, a settlement that arrives after an expiry counts for its whole account': async (box) => {
    const id = nextId();
    await applied(box.books, holdOf(id, [fundOf(100)], 40));
    const books = await box.reopened();
    await applied(books, expireOf(id, 'release'));
    expect(await applied(books, settleOf(id, 40))).toEqual(charged(40));
    const usage = await books.usage({ keyId: null, from: NOON, to: NOON + STEP_MS.day });
    expect(usage).toMatchObject([
      { dimensions: { key: 'key', selector: 'auto', 'label:team': 'red' }, microcredits: 40 },
    ]);
  },
  '13: a changed limit also applies to callers that do not know of it': async ({ books }) => {
    const fund = fundOf(100);
    await applied(books, holdOf(nextId(), [fund], 10));
    await applied(books, enforceOf(fund, 50));
    expect(await applied(books, holdOf(nextId(), [{ ...fund }], 41))).toMatchObject({ kind: 'refused' });
    expect(await applied(books, holdOf(nextId(), [fund], 40))).toEqual(granted(40));
  },
};
