import { setImmediate } from 'node:timers/promises';
import { QUARTER_MS, windowOf } from '../core/accounting/window.ts';
import type { Budget, EntryOwner } from '../core/money/budget.ts';
import type { KeyLines } from '../core/people/holder.ts';
import type { LedgerBooks, QuarterCharges, UncountedCharges } from '../store/books.ts';
import { scopesOfEntries } from './accounts.ts';
import type { BudgetFund, CountedBudget } from './drawn-fund.ts';
import { BudgetWindows, chargedSubjectsOf } from './funds.ts';

/** How many accounts are matched in one turn of the event loop. Operators write the conditions of budgets, and a condition may be slow. */
const SLICE = 500;

/** The objects from which the ledger counts the spending of budgets. */
export interface CountedEntries {
  readonly books: Pick<LedgerBooks, 'uncounted' | 'countedOf' | 'apply' | 'append' | 'standing'>;
  /** Returns the parent keys of keys. */
  readonly lines: Pick<KeyLines, 'lineOf' | 'linesOf'>;
}

/**
 * Prepares the windows of budgets for a new policy. A budget whose generation was active before keeps its windows. For other budgets, the
 * function counts all charges in the current window, even if another budget limited these charges. It does the same for each subject that
 * a budget begins to limit.
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
      const fresh = new BudgetWindows(counted, kept?.windowAt(now) ?? windowOf(counted.budget, now));
      const joining = await joiningOf(counted, kept, entries);
      if (!kept || joining.size > 0) await countIn(fresh, entries, joining);
      return (swappedAt) => {
        const windows = kept?.under(counted, swappedAt) ?? fresh;
        // The window of a budget may have ended during the preparation.
        windows.windowAt(swappedAt);
        countNow(windows, entries);
        if (!kept) forgetReached(windows, entries);
        return windows;
      };
    }),
  );
  return (swappedAt) => drafts.map((draft) => draft(swappedAt));
}

/** Returns the subjects with separate limits that the budget does not count yet. */
async function joiningOf(
  { budget, generation }: CountedBudget,
  kept: BudgetWindows | undefined,
  { books }: CountedEntries,
): Promise<ReadonlySet<string>> {
  const stated = [...(budget.limits?.keys() ?? [])].filter((subject) => !kept?.budget.limits?.has(subject));
  if (stated.length === 0) return NOBODY;
  return new Set(stated).difference(await books.countedOf(generation, stated));
}

/**
 * Counts the charges that a budget has not counted yet: all charges of its window, or only charges of holds that did not draw on it.
 *
 * @param joining subjects that the budget begins to count, with all their charges in its window
 * @returns the funds that the charges count in, or null if there was nothing to count
 */
export async function countIn(
  windows: BudgetWindows,
  entries: CountedEntries,
  joining: ReadonlySet<string> = NOBODY,
): Promise<readonly BudgetFund[] | null> {
  const { books, lines } = entries;
  const owners = await ownersOf(windows.budget, joining);
  // If the books refuse a count, another caller has counted the same charges at the same time, so this caller reads them again.
  for (;;) {
    const found = books.uncounted(windows.generation, windows.window, owners);
    const uncounted = found instanceof Promise ? await found : found;
    if (joining.size === 0 && isCounted(uncounted)) return null;
    const { from, to, charges, ofOwners } = uncounted;
    const lineOf = await lines.linesOf(keysOf([...charges, ...ofOwners]));
    const since = new SubjectSums(windows);
    await since.addAll(charges, lineOf);
    const all = new SubjectSums(windows);
    await all.addAll(from === null ? charges : ofOwners, lineOf);
    const counted = await books.countedOf(windows.generation, since.withoutLimit);
    const sums = since.sums((subject) => !joining.has(subject) && since.isCounted(subject, counted));
    const opened = all.sums((subject) => joining.has(subject));
    const opening = joining.size > 0 && { opening: { subjects: [...joining], sums: opened } };
    const [result] = await books.apply([{ kind: 'count', budget: windows.generation, from, to, sums, ...opening }]);
    if (result?.kind === 'granted') return [...sums, ...opened].map(({ fund }) => fund);
  }
}

/**
 * Counts charges like `countIn`, but in this turn of the event loop. If the books cannot be read without waiting, this method counts
 * nothing.
 */
function countNow(windows: BudgetWindows, { books, lines }: CountedEntries): void {
  const uncounted = books.uncounted(windows.generation, windows.window);
  if (uncounted instanceof Promise) {
    // If the books must be waited for, the regular count, which runs every second, counts the charges after the swap of the policy. It also
    // repeats a failed query.
    uncounted.catch(() => {});
  } else if (!isCounted(uncounted)) {
    const { from, to, charges } = uncounted;
    const since = new SubjectSums(windows);
    for (const charge of charges) since.add(charge, lines.lineOf);
    const counted = books.countedOf(windows.generation, since.withoutLimit);
    if (counted instanceof Promise) throw new Error('books that are read at once must name their subjects at once');
    const sums = since.sums((subject) => since.isCounted(subject, counted));
    books.append([{ kind: 'count', budget: windows.generation, from, to, sums }]);
  }
}

/** Marks fractions that were reached earlier as reported, so that they cause no alert. */
function forgetReached(windows: BudgetWindows, entries: CountedEntries): void {
  const funds = [...windows.funds];
  for (const [at, { spent }] of entries.books.standing(funds).entries()) funds[at]?.reached(spent);
}

const NOBODY: ReadonlySet<string> = new Set();
const isCounted = ({ from, charges }: UncountedCharges): boolean => from !== null && charges.length === 0;

/** For up to this many owners of budgets, entries are read for each owner. For more owners, all entries of the window are read once. */
const ASKED_ALONE = 8;
const ALL_OWNERS: readonly EntryOwner[] = [{}];

/** Returns the owners of all entries that may belong to the subjects. */
async function ownersOf({ entriesOf }: Budget, subjects: ReadonlySet<string>): Promise<readonly EntryOwner[]> {
  if (subjects.size > ASKED_ALONE) return ALL_OWNERS;
  const ofEach = [...subjects].map(async (one) => (await entriesOf?.(one, ASKED_ALONE)) ?? ALL_OWNERS);
  const owners = (await Promise.all(ofEach)).flat();
  return owners.length > ASKED_ALONE ? ALL_OWNERS : owners;
}

/** @returns the keys of charges, each once */
export const keysOf = (
  charges: readonly Pick<UncountedCharges['charges'][number], 'dimensions'>[],
): ReadonlySet<string> => new Set(charges.map(({ dimensions }) => dimensions.key ?? ''));

/** Adds up charges by the subjects of a budget that they concern, limited or not. */
class SubjectSums {
  readonly #windows: BudgetWindows;
  /** Microcredits by subject and quarter of an hour. */
  readonly #sums = new Map<string, Map<number, number>>();

  constructor(windows: BudgetWindows) {
    this.#windows = windows;
  }

  /** The subjects for which the budget states no limit, although it has separate limits. */
  get withoutLimit(): string[] {
    const { limits } = this.#windows.budget;
    return limits ? [...this.#sums.keys()].filter((subject) => !limits.has(subject)) : [];
  }

  /** @param counted the subjects without limit that the budget counts */
  isCounted(subject: string, counted: ReadonlySet<string>): boolean {
    const { limits } = this.#windows.budget;
    return !limits || limits.has(subject) || counted.has(subject);
  }

  async addAll(charges: QuarterCharges, lineOf: KeyLines['lineOf']): Promise<void> {
    for (const [at, charge] of charges.entries()) {
      this.add(charge, lineOf);
      if (at % SLICE === SLICE - 1) await setImmediate();
    }
  }

  add({ dimensions, quarter, microcredits }: QuarterCharges[number], lineOf: KeyLines['lineOf']): void {
    for (const subject of chargedSubjectsOf(this.#windows.budget, scopesOfEntries(dimensions, lineOf))) {
      const quarters = this.#sums.getOrInsertComputed(subject, () => new Map());
      quarters.set(quarter, (quarters.get(quarter) ?? 0) + microcredits);
    }
  }

  /** @returns the sums of the funds of these subjects */
  sums(isWanted: (subject: string) => boolean): readonly { readonly fund: BudgetFund; readonly amount: number }[] {
    const sums = new Map<string, { readonly fund: BudgetFund; amount: number }>();
    for (const [subject, quarters] of this.#sums) {
      if (!isWanted(subject)) continue;
      for (const [quarter, amount] of quarters) {
        const fund = this.#windows.countingAt(subject, quarter * QUARTER_MS);
        sums.getOrInsertComputed(fund.key, () => ({ fund, amount: 0 })).amount += amount;
      }
    }
    return [...sums.values()];
  }
}
