import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { idAt } from '../../src/core/id.ts';
import { budgetsAt, type KeyBudget } from '../../src/core/people/caller.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { tries } from '../deep/effort.ts';
import { caller, keyBudgets, NOON, terms } from '../ledger/support.ts';
import { findingsIn, ledgerOn, sharedBooks, spend } from './ledgers.ts';

/** Budgets with an end, of one key on two servers that share their books. */
const MINUTE_MS = 60_000;
const KEY = 'a';

const limits = fc.integer({ min: 0, max: 100 });
const ends = fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined });
const stated = fc.array(
  fc.record({ limit: limits, window: fc.constantFrom('day' as const, 'month' as const), end: ends }),
  { minLength: 1, maxLength: 5 },
);
const steps = fc.array(
  fc.record({ server: fc.nat(1), wait: fc.constantFrom(0, 0, 1, 5), amount: fc.integer({ min: 1, max: 40 }) }),
  { minLength: 5, maxLength: 20 },
);

const budgetOf = ({ limit, window, end }: { limit: number; window: 'day' | 'month'; end?: number | undefined }) => ({
  ...{ limit, window, timeZone: 'UTC', onExhausted: 'reject' as const },
  ...(end !== undefined && { until: NOON + end * MINUTE_MS }),
});

/**
 * The limit for all charges of the key so far, in words of the documentation: a budget with an end counts until its end, and until then no
 * budget of the same window without an end counts. All steps are within one day.
 */
function limitAt(budgets: readonly KeyBudget[], now: number): number {
  const isNow = ({ until }: KeyBudget) => until !== undefined && now < until;
  const counting = budgets.filter(
    (one) =>
      isNow(one) || (one.until === undefined && !budgets.some((other) => isNow(other) && other.window === one.window)),
  );
  return Math.min(Number.POSITIVE_INFINITY, ...counting.map(({ limit }) => limit));
}

/** @param renews whether a server renews its terms, as every server does */
const lawOf = (renews: boolean) =>
  fc.asyncProperty(stated, steps, async (drawn, asked) => {
    const budgets = drawn.map(budgetOf);
    const shared = sharedBooks();
    let now = NOON;
    const termsAt = (at: number) => {
      const own = budgetsAt(budgets, at);
      const until = Math.min(Number.POSITIVE_INFINITY, ...own.flatMap((one) => one.until ?? []));
      return { ...terms(...keyBudgets([{ keyId: KEY, budgets: own }])), until };
    };
    const open = async (): Promise<Ledger> => {
      const ledger = await ledgerOn(shared, termsAt(now), () => now);
      if (renews) ledger.renewWith(async (at) => void (await (await ledger.prepare(termsAt(at)))()));
      return ledger;
    };
    const servers = [await open(), await open()] as const;
    let spent = 0;
    for (const [at, { server, wait, amount }] of asked.entries()) {
      now += wait * MINUTE_MS;
      const id = idAt(now) + at;
      const charged = await spend(servers[server]!, amount, { id, caller: caller(KEY) });
      expect(charged).toBe(spent + amount <= limitAt(budgets, now) ? amount : 0);
      spent += charged;
    }
    expect(await findingsIn(shared)).toEqual([]);
    for (const server of servers) await server.close();
  });

test('two servers grant exactly what the budgets of that moment allow, from the first request after an end', async () => {
  await fc.assert(lawOf(true), tries('budgets with an end', 60, 5_000));
});

test('the law of budgets with an end fails for servers that keep their terms', async () => {
  const { failed } = await fc.check(lawOf(false), { ...tries('budgets with an end', 300, 300), endOnFailure: true });
  expect(failed).toBe(true);
});
