import { setImmediate } from 'node:timers/promises';
import { QUARTER_MS, windowAt } from '../core/accounting/window.ts';
import type { EntryOwner } from '../core/budget.ts';
import type { KeyLines } from '../core/holder.ts';
import type { CountOp, LedgerBooks, UncountedCharges } from '../store/books.ts';
import { scopesOfEntries } from './accounts.ts';
import { BudgetFund, type CountedBudget } from './drawn-fund.ts';
import { BudgetWindows, subjectsOf } from './funds.ts';

/** How many accounts are matched in one turn of the event loop. Operators write the conditions of budgets, and a condition may be slow. */
const SLICE = 500;

/** The objects from which the ledger counts the spending of budgets. */
export interface CountedEntries {
  readonly books: Pick<LedgerBooks, 'uncounted' | 'apply' | 'append' | 'standing' | 'usage'>;
  /** Returns the parent keys of keys. */
  readonly lines: Pick<KeyLines, 'lineOf' | 'linesOf'>;
}

/**
 * Prepares the windows of budgets for a new policy. A budget whose generation was active before keeps its windows. For other budgets, the
 * function counts all charges in the current window, even if another budget limited these charges.
 *
 * @param now ms since 1970
 * @returns a function that counts the charges since the preparation. The caller must call that function in the same turn of the event loop
 * in which the policy is swapped.
 */
export async function prepareWindows(
  budgets: readonly CountedBudget[],
  before: readonly BudgetWindows[],
  entries: CountedEntries,
  now: number,
): Promise<(now: number) => BudgetWindows[]> {
  const drafts = await Promise.all(
    budgets.map(async (counted): Promise<(swappedAt: number) => BudgetWindows> => {
      const kept = before.find(({ generation }) => generation === counted.generation);
      if (kept) {
        await join(kept, counted, entries);
        return (swappedAt) => {
          const windows = kept.under(counted, swappedAt);
          countNow(windows, entries);
          return windows;
        };
      }
      const { window, timeZone } = counted.budget;
      const windows = new BudgetWindows(counted, windowAt(window, timeZone, now));
      await countIn(windows, entries);
      return (swappedAt) => {
        // The window of a budget may have ended during the preparation.
        windows.windowAt(swappedAt);
        countNow(windows, entries);
        forgetReached(windows, entries);
        return windows;
      };
    }),
  );
  return (swappedAt) => drafts.map((draft) => draft(swappedAt));
}

/**
 * Counts the charges that a budget has not counted yet: all charges of its window, or only charges of holds that did not draw on it.
 *
 * @returns the funds that the charges count in, or null if there was nothing to count
 */
export async function countIn(windows: BudgetWindows, entries: CountedEntries): Promise<readonly BudgetFund[] | null> {
  // If the books refuse a count, another caller has counted the same charges at the same time, so this caller reads them again.
  for (;;) {
    const found = entries.books.uncounted(windows.generation, windows.window);
    const uncounted = found instanceof Promise ? await found : found;
    if (isCounted(uncounted)) return null;
    const sums = new SumsBySubject(windows, await entries.lines.linesOf(keysOf(uncounted.charges)));
    for (const [at, charge] of uncounted.charges.entries()) {
      sums.add(charge);
      if (at % SLICE === SLICE - 1) await setImmediate();
    }
    const [result] = await entries.books.apply([sums.opOf(uncounted)]);
    if (result?.kind === 'granted') return sums.funds;
  }
}

/**
 * Counts charges like `countIn`, but in this turn of the event loop. If the books cannot be read without waiting, this method counts
 * nothing.
 */
function countNow(windows: BudgetWindows, entries: CountedEntries): void {
  const uncounted = entries.books.uncounted(windows.generation, windows.window);
  if (uncounted instanceof Promise) {
    // If the books must be waited for, the regular count, which runs every second, counts the charges after the swap of the policy. The
    // regular count also repeats a failed query.
    uncounted.catch(() => {});
  } else if (!isCounted(uncounted)) {
    const sums = new SumsBySubject(windows, entries.lines.lineOf);
    for (const charge of uncounted.charges) sums.add(charge);
    entries.books.append([sums.opOf(uncounted)]);
  }
}

/** Marks fractions that were reached earlier as reported, so that they cause no alert. */
function forgetReached(windows: BudgetWindows, entries: CountedEntries): void {
  const funds = [...windows.funds];
  for (const [at, { spent }] of entries.books.standing(funds).entries()) funds[at]?.reached(spent);
}

const isCounted = ({ from, charges }: UncountedCharges): boolean => from !== null && charges.length === 0;

/** For up to this many owners of budgets, entries are read for each owner. For more owners, all entries of the window are read once. */
const ASKED_ALONE = 8;

/**
 * When holders get a budget that other holders already have, counts the amounts that these holders have already spent. A new holder has
 * spent nothing.
 */
async function join(windows: BudgetWindows, counted: CountedBudget, entries: CountedEntries): Promise<void> {
  const { budget, window } = windows;
  const { limits, entriesOf } = counted.budget;
  const joining = [...(limits?.keys() ?? [])].filter((subject) => !budget.limits?.has(subject));
  if (joining.length === 0) return;
  // Charges are counted under the old limits first, because charges that drew on no fund would otherwise be counted again after the sums
  // that are read next.
  await countIn(windows, entries);
  const isMany = joining.length > ASKED_ALONE;
  const ofEach = isMany ? [] : joining.map(async (one) => (await entriesOf?.(one, ASKED_ALONE)) ?? [{}]);
  const owners: readonly EntryOwner[] = isMany ? [{}] : (await Promise.all(ofEach)).flat();
  const spent = new Map(joining.map((subject) => [subject, 0]));
  const period = { from: window.starts, to: Math.min(window.ends, Number.MAX_SAFE_INTEGER) };
  // The owners of one budget share no entry, so each journal entry is counted once.
  for (const { keyId = null, ...owner } of owners.length > ASKED_ALONE ? [{}] : owners) {
    const charges = await entries.books.usage({ keyId, ...owner, ...period });
    const lineOf = await entries.lines.linesOf(keysOf(charges));
    for (const { dimensions, microcredits } of charges) {
      const [subject = ''] = subjectsOf(counted.budget, scopesOfEntries(dimensions, lineOf));
      const before = spent.get(subject);
      if (before !== undefined) spent.set(subject, before + microcredits);
    }
  }
  const funds = [...spent.keys()].map((subject) => new BudgetFund(counted, window, subject));
  // A holder that had this budget before may have spent money of the budget at that time, and this amount is subtracted. The amount is read
  // together with the sums, because a later charge counts in both.
  const sums = entries.books.standing(funds).flatMap(({ title, spent: known }, at) => {
    const amount = spent.get(title.subject)! - known;
    return amount > 0 ? [{ fund: funds[at]!, amount }] : [];
  });
  await entries.books.apply([{ kind: 'join', sums }]);
}

/** @returns the keys of charges, each once */
export const keysOf = (
  charges: readonly Pick<UncountedCharges['charges'][number], 'dimensions'>[],
): ReadonlySet<string> => new Set(charges.map(({ dimensions }) => dimensions.key ?? ''));

/** Adds up charges by the funds of a budget that they count in. */
class SumsBySubject {
  readonly #windows: BudgetWindows;
  readonly #lineOf: KeyLines['lineOf'];
  readonly #sums = new Map<string, { readonly fund: BudgetFund; amount: number }>();

  constructor(windows: BudgetWindows, lineOf: KeyLines['lineOf']) {
    this.#windows = windows;
    this.#lineOf = lineOf;
  }

  get funds(): readonly BudgetFund[] {
    return [...this.#sums.values()].map(({ fund }) => fund);
  }

  add({ dimensions, quarter, microcredits }: UncountedCharges['charges'][number]): void {
    for (const subject of subjectsOf(this.#windows.budget, scopesOfEntries(dimensions, this.#lineOf))) {
      const fund = this.#windows.countingAt(subject, quarter * QUARTER_MS);
      this.#sums.getOrInsertComputed(fund.key, () => ({ fund, amount: 0 })).amount += microcredits;
    }
  }

  opOf({ from, to }: UncountedCharges): CountOp {
    return { kind: 'count', budget: this.#windows.generation, from, to, sums: [...this.#sums.values()] };
  }
}
