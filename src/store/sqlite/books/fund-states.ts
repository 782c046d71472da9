import { Fund, type FundRef, type FundStanding, type FundTitle, limitFor } from '../../../core/accounting/fund.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { isAddress } from '../../../core/money/holder-address.ts';
import type { CountOp, EnforcedBudget } from '../../books.ts';

/** A fund in memory, with the table row that represents it. */
export class BookedFund extends Fund {
  /** The generation number of the fund's budget; 0 for a balance. */
  readonly budget: number;
  /** The ID of the fund's row; 0 until the fund has a row. */
  rowId = 0;

  constructor(title: FundTitle, limit: Microcredits, spent: Microcredits, budget = 0) {
    super(title, limit, spent);
    this.budget = budget;
  }

  get isBalance(): boolean {
    return this.title.kind === 'balance';
  }
}

/** The funds that a reservation draws on, with the IDs of their rows. */
export interface FundDraw {
  readonly funds: readonly BookedFund[];
  /** IDs of the funds' rows in the format of the journal; null for no funds, undefined until all of them have a row. */
  ids: string | null | undefined;
}

/** How long after the end of a window a late operation can still refer to it, ms. */
const LATE_MS = 3_600_000;

/** The funds that operations have named, and all balances. State: funds. */
export class FundStates {
  readonly #byKey = new Map<string, BookedFund>();
  /** The funds of budgets, by the generation number of the budget. */
  readonly #byBudget = new Map<number, Set<BookedFund>>();
  readonly #byRef = new WeakMap<FundRef, BookedFund>();
  readonly #drawn = new WeakMap<readonly FundRef[], FundDraw>();
  /** The budgets of the newest policy, by generation number. */
  #enforced: ReadonlyMap<number, EnforcedBudget> = new Map();
  readonly #balances = new Map<string, BookedFund>();
  /**
   * The balances of holders that have not paid in yet. The balance of a holder that never paid exists only because a request named it, and
   * can be deleted.
   */
  readonly #blank = new Set<BookedFund>();

  /** Returns the funds that an operation names. */
  drawnBy(refs: readonly FundRef[]): FundDraw {
    return this.#drawn.get(refs) ?? this.#draw(refs);
  }

  /**
   * Returns the figures of funds. The method does not store funds that no operation has named, because any caller may request any figures.
   */
  look(refs: readonly FundRef[]): readonly FundStanding[] {
    return this.#drawn.get(refs)?.funds ?? this.#lookUp(refs);
  }

  /** Returns the windows of a budget that begin at a time, ms since 1970. */
  windowsOf(budget: number, starts: number): readonly FundStanding[] {
    const found: BookedFund[] = [];
    for (const fund of this.#byBudget.get(budget) ?? []) if (fund.title.starts === starts) found.push(fund);
    return found;
  }

  /**
   * Applies the limits of a policy, unless a newer policy has stated them. The next operation on a changed fund writes a new row. The
   * method deletes the funds of all other budgets. A deleted budget that becomes active again is counted again.
   */
  enforce(budgets: readonly EnforcedBudget[]): void {
    const before = this.#enforced;
    const newest = budgets.map((one) => [before.get(one.budget), one] as const);
    this.#enforced = new Map(
      newest.map(([known, one]) => [one.budget, known && known.rank > one.rank ? known : one] as const),
    );
    for (const [key, fund] of this.#byKey) {
      const enforced = this.#enforced.get(fund.budget);
      if (!enforced) this.#drop(key, fund);
      const limit = limitFor(enforced, fund.title, fund.limit);
      if (limit === fund.limit) continue;
      fund.limit = limit;
      fund.rowId = 0;
    }
  }

  /** Adds charges of holds that did not draw on the funds, and sets what subjects have spent that a budget begins to count. */
  count({ sums, opening }: CountOp): void {
    for (const { fund, amount } of sums) this.#named(fund).spent += amount;
    for (const { fund: ref, amount } of opening?.sums ?? []) {
      const fund = this.#named(ref);
      fund.spent = amount;
      fund.rowId = 0;
    }
  }

  /** All balances to which an amount was ever granted or paid. */
  get balances(): BookedFund[] {
    const all = [...this.#balances.values()];
    return this.#blank.size === 0 ? all : all.filter((fund) => !this.#blank.has(fund));
  }

  balanceOf(holder: string): BookedFund | null {
    const fund = this.#balances.get(holder);
    return fund && !this.#blank.has(fund) ? fund : null;
  }

  /** Adds to the balance of a holder, or deducts a negative amount. A key has a balance from its first grant on. */
  grant(
    holder: string,
    amount: Microcredits,
    spent: Microcredits = 0,
  ): { readonly fund: BookedFund; readonly isNew: boolean } {
    const known = this.#balances.get(holder);
    if (known) {
      known.limit += amount;
      return { fund: known, isNew: this.#blank.delete(known) };
    }
    const fund = new BookedFund(balanceTitle(holder), amount, spent);
    this.#balances.set(holder, fund);
    return { fund, isNew: true };
  }

  /** Deletes windows that have ended at `latest` (ms since 1970) and balances of holders that never paid, except funds that are in use. */
  forget(latest: number, used: ReadonlySet<BookedFund>): void {
    for (const [key, fund] of this.#byKey) {
      if (fund.title.ends + LATE_MS < latest && fund.held === 0) this.#drop(key, fund);
    }
    for (const fund of this.#blank) {
      if (used.has(fund) || fund.rowId !== 0) continue;
      this.#blank.delete(fund);
      this.#balances.delete(fund.title.name);
    }
  }

  #draw(refs: readonly FundRef[]): FundDraw {
    const funds = refs.map((ref) => this.#named(ref));
    const drawn = { funds, ids: funds.length === 0 ? null : undefined };
    // A balance that can be deleted must not be cached.
    if (!funds.some((fund) => this.#blank.has(fund))) this.#drawn.set(refs, drawn);
    return drawn;
  }

  #lookUp(refs: readonly FundRef[]): BookedFund[] {
    return refs.map((ref) => this.#find(ref) ?? this.#newFund(ref));
  }

  #find(ref: FundRef): BookedFund | undefined {
    if (ref.title.kind === 'balance') return this.#balances.get(ref.title.name);
    return this.#byRef.get(ref) ?? this.#byKey.get(ref.key);
  }

  #named(ref: FundRef): BookedFund {
    let fund = this.#find(ref);
    if (ref.title.kind === 'balance') return fund ?? this.#blankOf(ref.title.name);
    fund ??= this.#newFund(ref);
    this.#byRef.set(ref, fund);
    this.#byKey.set(ref.key, fund);
    this.#byBudget.getOrInsertComputed(fund.budget, () => new Set()).add(fund);
    return fund;
  }

  #drop(key: string, fund: BookedFund): void {
    this.#byKey.delete(key);
    this.#byBudget.get(fund.budget)?.delete(fund);
  }

  #newFund({ title, limit, budget }: FundRef): BookedFund {
    return new BookedFund(title, limitFor(this.#enforced.get(budget), title, limit), 0, budget);
  }

  /** Creates an empty balance. A wallet address always has a balance, so a request that names a wallet can never run without a balance. */
  #blankOf(holder: string): BookedFund {
    if (!isAddress(holder)) throw new RangeError(`${holder} has no balance to draw on`);
    const blank = new BookedFund(balanceTitle(holder), 0, 0);
    this.#balances.set(holder, blank);
    this.#blank.add(blank);
    return blank;
  }
}

const balanceTitle = (name: string): FundTitle => ({
  kind: 'balance',
  name,
  subject: '',
  definition: '',
  starts: 0,
  ends: Number.POSITIVE_INFINITY,
});
