import { setImmediate } from 'node:timers/promises';
import type { Dimensions } from '../accounting/entry.ts';
import { quarterOf, type Window, windowAt } from '../accounting/window.ts';
import type { Budget } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Count } from '../store/books.ts';
import { scopeOfEntries } from './accounts.ts';
import { BudgetWindows, subjectOf } from './funds.ts';

/** Accounts matched in one turn of the event loop. The conditions of budgets are the operator's, and may be slow. */
const SLICE = 500;

/**
 * Prepares the windows of other budgets. A budget of the same name and definition keeps its counts; the others
 * are counted from what their windows hold already, whatever limited it then.
 *
 * @returns a function that adds the charges since, to be called in one step with the swap
 */
export async function countAnew(
  budgets: readonly Budget[],
  before: readonly BudgetWindows[],
  count: Pick<Count, 'charges' | 'late'>,
  now: number,
): Promise<(now: number) => BudgetWindows[]> {
  const drafts = await Promise.all(
    budgets.map(async (budget): Promise<Draft> => {
      const kept = before.find(({ budget: old }) => old.name === budget.name && old.definition === budget.definition);
      return kept ? (_, swappedAt) => kept.under(budget, swappedAt) : await draftOf(budget, count, now);
    }),
  );
  return (swappedAt) => {
    const late = count.late();
    return drafts.map((draft) => draft(late, swappedAt));
  };
}

type LateCharges = ReturnType<Count['late']>;
type Draft = (late: LateCharges, now: number) => BudgetWindows;

async function draftOf(budget: Budget, count: Pick<Count, 'charges'>, now: number): Promise<Draft> {
  const window = windowAt(budget.window, budget.timeZone, now);
  const spent = new Map<string, number>();
  const add = (dimensions: Dimensions, microcredits: Microcredits) => {
    const subject = subjectOf(budget, scopeOfEntries(dimensions));
    if (subject !== null) spent.set(subject, (spent.get(subject) ?? 0) + microcredits);
  };
  for (const [at, { dimensions, microcredits }] of (await count.charges(window.starts)).entries()) {
    add(dimensions, microcredits);
    if (at % SLICE === SLICE - 1) await setImmediate();
  }
  return (late, swappedAt) => {
    // The window may have ended meanwhile. Then all charges of the next window are among `late`.
    const present = swappedAt < window.ends ? window : windowAt(budget.window, budget.timeZone, swappedAt);
    if (present !== window) spent.clear();
    for (const { quarter, dimensions, microcredits } of late) {
      if (isWithin(quarter, present)) add(dimensions, microcredits);
    }
    return new BudgetWindows(budget, present, spent);
  };
}

const isWithin = (quarter: number, { starts, ends }: Window): boolean =>
  quarter >= quarterOf(starts) && quarter < quarterOf(ends);
