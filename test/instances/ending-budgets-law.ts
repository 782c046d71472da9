import { expect } from 'bun:test';
import fc from 'fast-check';
import { idAt } from '../../src/core/id.ts';
import { budgetsAt, type KeyBudget } from '../../src/core/people/caller.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { caller, keyBudgets, terms } from '../ledger/support.ts';
import type { Lay } from './budgets-law.ts';
import { ledgerOn, spend } from './ledgers.ts';

/** Budgets with an end, of one key on the servers that share books. */
const MINUTE_MS = 60_000;
const KEY = 'a';
/** A time far in the future: the database uses its own clock, and the windows of the law must not end. */
const NOON = Date.UTC(2040, 10, 20, 12);

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
export const lawOf = (lay: Lay, renews = true) =>
  fc.asyncProperty(stated, steps, async (drawn, asked) => {
    const budgets = drawn.map(budgetOf);
    await using shared = await lay();
    let now = NOON;
    const termsAt = (at: number) => {
      const own = budgetsAt(budgets, at);
      const until = Math.min(Number.POSITIVE_INFINITY, ...own.flatMap((one) => one.until ?? []));
      return { ...terms(...keyBudgets([{ keyId: KEY, budgets: own }])), until, at };
    };
    const servers: Ledger[] = [];
    try {
      for (const books of shared.books) {
        const ledger = await ledgerOn({ books }, termsAt(now), () => now);
        if (renews) ledger.renewWith(async (at) => void (await (await ledger.prepare(termsAt(at)))()));
        servers.push(ledger);
      }
      let spent = 0;
      for (const [at, { server, wait, amount }] of asked.entries()) {
        now += wait * MINUTE_MS;
        const id = idAt(now) + at;
        const charged = await spend(servers[server % servers.length]!, amount, { id, caller: caller(KEY) });
        expect(charged).toBe(spent + amount <= limitAt(budgets, now) ? amount : 0);
        spent += charged;
      }
      for (const books of shared.books) await books.written();
      expect(await shared.findings()).toEqual([]);
    } finally {
      for (const server of servers) await server.close();
    }
  });

/**
 * Activates terms on one server while a request of another server has found that a budget has ended, and the late server still has the
 * budget.
 * @returns what the first server grants after that, of a key whose budget is 0 again
 */
export async function grantedAfterLateTerms(lay: Lay): Promise<number> {
  const budgets = [
    { limit: 0, window: 'day' as const },
    { limit: 100, window: 'day' as const, end: 1 },
  ].map(budgetOf);
  const termsAt = (at: number) => ({
    ...terms(...keyBudgets([{ keyId: KEY, budgets: budgetsAt(budgets, at) }])),
    at,
  });
  await using shared = await lay();
  const after = NOON + 2 * MINUTE_MS;
  let now = NOON;
  const [early, late] = await Promise.all(shared.books.map((books) => ledgerOn({ books }, termsAt(now), () => now)));
  if (!early || !late) throw new Error('two servers are needed');
  try {
    now = after;
    await (await early.prepare(termsAt(after)))();
    await (await late.prepare(termsAt(NOON)))();
    return await spend(early, 1, { id: idAt(after), caller: caller(KEY) });
  } finally {
    await early.close();
    await late.close();
  }
}

export const LAW =
  'the servers grant exactly what the budgets of that moment allow, from the first request after an end';
