import { setImmediate } from 'node:timers/promises';
import type { Budget } from '../core/budget.ts';
import { quarterOf, type Sum } from '../store/sqlite/books/sums.ts';
import { type AccountSpend, SELECT_SPEND_BY_ACCOUNT } from '../store/sqlite/books/tables.ts';
import type { Store } from '../store/store.ts';
import { labelsOf, scopeOf } from './accounts.ts';
import { Counter, openFund, subjectOf } from './funds.ts';
import { type Window, windowAt } from './rules/window.ts';

/** Accounts that are judged before others get a turn: conditions are the operator's, and take their time. */
const SLICE = 500;

/**
 * Prepares the counters of other budgets. One of the same name and definition keeps its counts; the others
 * are counted from what their windows hold already, whoever was limited by what then. The function that this
 * resolves with adds what was charged since, and is to be called in one step with the swap.
 */
export async function countAnew(
  budgets: readonly Budget[],
  before: readonly Counter[],
  store: Store,
  now: number,
): Promise<(since: Iterable<Sum>, now: number) => Counter[]> {
  const drafts = await Promise.all(
    budgets.map(async (budget): Promise<Draft> => {
      const kept = before.find(({ budget: old }) => old.name === budget.name && old.definition === budget.definition);
      return kept ? (_, swappedAt) => kept.under(budget, swappedAt) : await draftOf(budget, store, now);
    }),
  );
  return (since, swappedAt) => {
    const late = [...since];
    return drafts.map((draft) => draft(late, swappedAt));
  };
}

type Draft = (since: readonly Sum[], now: number) => Counter;

async function draftOf(budget: Budget, store: Store, now: number): Promise<Draft> {
  const window = windowAt(budget.window, budget.timeZone, now);
  const spent = new Map<string, number>();
  const add = (subject: string | null, microcredits: number) => {
    if (subject !== null) spent.set(subject, (spent.get(subject) ?? 0) + microcredits);
  };
  const rows = await store.query<AccountSpend>(SELECT_SPEND_BY_ACCOUNT, [quarterOf(window.starts)]);
  for (const [at, row] of rows.entries()) {
    add(subjectOf(budget, scopeOf(row.keyId, labelsOf(row), row.selector)), row.microcredits);
    if (at % SLICE === SLICE - 1) await setImmediate();
  }
  return (since, swappedAt) => {
    // The window may have ended meanwhile; then all that the next one holds came since.
    const present = swappedAt < window.ends ? window : windowAt(budget.window, budget.timeZone, swappedAt);
    if (present !== window) spent.clear();
    for (const sum of since) if (isWithin(sum, present)) add(subjectOf(budget, sum.scope), sum.microcredits);
    const funds = [...spent].map(([subject, amount]) => [subject, openFund(budget, present, subject, amount)] as const);
    return new Counter(budget, present, new Map(funds));
  };
}

const isWithin = ({ quarter }: Sum, { starts, ends }: Window): boolean =>
  quarter >= quarterOf(starts) && quarter < quarterOf(ends);
