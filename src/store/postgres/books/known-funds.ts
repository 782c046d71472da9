import { budgetKey, type FundRef, type FundStanding, type FundTitle, limitFor } from '../../../core/accounting/fund.ts';
import type { Microcredits } from '../../../core/credits.ts';
import type { EnforcedBudget } from '../../books.ts';

/** A fund as the database answers with it: its number, its limit, what is spent and held, and whether a balance was ever granted anything. */
export type FundAnswer = readonly [
  id: number,
  most: Microcredits,
  spent: Microcredits,
  held: Microcredits,
  isOpened: boolean,
];

/** A window of a budget as the database has it. */
export interface FundWindowRow extends Pick<FundTitle, 'name' | 'subject' | 'definition' | 'starts'> {
  readonly id: number;
  readonly ends: number | null;
  readonly budget: number;
  readonly most: Microcredits;
  readonly spent: Microcredits;
  readonly held: Microcredits;
}

/** So long a number of a fund may stay unseen behind a greater one, ms: a transaction is ended before. */
const UNSEEN_MS = 30_000;

/** What this process knows of a fund. */
class KnownFund {
  title: FundTitle;
  readonly budget: number;
  most: Microcredits;
  spent: Microcredits = 0;
  held: Microcredits = 0;
  isOpened = false;
  /** When its figures were read, by the clock of the readings. */
  at = Number.NEGATIVE_INFINITY;

  constructor({ title, budget, limit }: FundRef, terms: EnforcedBudget | undefined) {
    this.title = title;
    this.budget = budget;
    this.most = title.kind === 'balance' ? 0 : limitFor(terms, title, limit);
  }
}

/** Funds that changed by an answer. */
export interface FigureChanges {
  /** Those in which more is free than was known. */
  readonly freed: readonly FundStanding[];
  /** Holders that have a balance from now on. */
  readonly opened: readonly string[];
}

/**
 * The figures of funds as this process has heard of them last. Each answer of the database brings those that it looked at, so that
 * only funds which others alone draw on grow old. State: known funds.
 */
export class KnownFunds {
  readonly #byId = new Map<number, KnownFund>();
  readonly #byKey = new Map<string, KnownFund>();
  readonly #byHolder = new Map<string, KnownFund>();
  /** The newest limits that this process has put in force, for funds that the database was not asked about yet. */
  readonly #enforced = new Map<number, EnforcedBudget>();
  /** The generations of the budgets in force here. */
  #budgets: readonly number[] = [];
  /** The greatest number of their funds that was found; the one at a moment; and the one of `UNSEEN_MS` before, below which none is new. */
  #found = { greatest: 0, settling: 0, settled: 0, at: 0 };
  readonly #clock: () => number;

  /** @param clock ms, never goes back */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The numbers of all funds that are known. */
  get ids(): readonly number[] {
    return [...this.#byId.keys()];
  }

  /** The numbers of funds, by their titles as this process knows them. */
  idsOf(funds: readonly FundStanding[]): readonly number[] {
    if (funds.length === 0) return [];
    const titles = new Set(funds.map(({ title }) => title));
    return [...this.#byId].flatMap(([id, { title }]) => (titles.has(title) ? [id] : []));
  }

  /** Takes in a fund that has got its number, or that this process names from now on. */
  name(ref: FundRef, id: number): void {
    const known = this.#byId.get(id);
    if (known) {
      known.title = ref.title;
      return;
    }
    const fund = this.#newFund(ref);
    this.#byId.set(id, fund);
    this.#byKey.set(ref.key, fund);
    if (ref.title.kind === 'balance') this.#byHolder.set(ref.title.name, fund);
  }

  /** The budgets whose funds are looked for, and the number behind which that may be new. */
  get wanted(): { readonly budgets: readonly number[]; readonly above: number } {
    return { budgets: this.#budgets, above: this.#found.settled };
  }

  /** Takes in funds that others draw on. */
  find(rows: readonly FundWindowRow[]): void {
    const known = this.#found;
    for (const { id, budget, most, spent, held, ...row } of rows) {
      known.greatest = Math.max(known.greatest, id);
      if (this.#byId.has(id)) continue;
      const title: FundTitle = { ...row, kind: 'budget', ends: row.ends ?? Number.POSITIVE_INFINITY };
      this.name({ key: budgetKey(budget, row.starts, row.subject), title, budget, limit: most }, id);
      this.take([[id, most, spent, held, false]]);
    }
    const at = this.#clock();
    if (at - known.at >= UNSEEN_MS) this.#found = { ...known, settling: known.greatest, settled: known.settling, at };
  }

  /** Lets go of a fund whose window is over. */
  forget(id: number): void {
    const fund = this.#byId.get(id);
    if (!fund) return;
    this.#byId.delete(id);
    this.#byKey.delete(budgetKey(fund.budget, fund.title.starts, fund.title.subject));
  }

  /** By the clock of the readings, ms. */
  get now(): number {
    return this.#clock();
  }

  /**
   * Takes in what the database has answered.
   * @param at `now` as a look began: it may be of before an operation that was answered meanwhile
   */
  take(figures: readonly FundAnswer[], at = this.#clock()): FigureChanges {
    const freed: FundStanding[] = [];
    const opened: string[] = [];
    for (const [id, most, spent, held, isOpened] of figures) {
      const fund = this.#byId.get(id);
      if (!fund || fund.at > at) continue;
      const isFreer = most - spent - held > fund.most - fund.spent - fund.held || held < fund.held;
      if (isOpened && !fund.isOpened) opened.push(fund.title.name);
      Object.assign(fund, { most, spent, held, isOpened, at });
      if (isFreer) freed.push(this.#standingOf(fund));
    }
    return { freed, opened };
  }

  enforce(budgets: readonly EnforcedBudget[]): void {
    for (const one of budgets) {
      const known = this.#enforced.get(one.budget);
      if (!known || known.rank <= one.rank) this.#enforced.set(one.budget, one);
    }
    const before = this.#budgets;
    this.#budgets = budgets.map(({ budget }) => budget);
    if (this.#budgets.every((budget) => before.includes(budget))) return;
    this.#found = { greatest: 0, settling: 0, settled: 0, at: this.#clock() };
  }

  /** One that no operation has named has spent nothing. */
  standing(refs: readonly FundRef[]): readonly FundStanding[] {
    return refs.map((ref) => this.#standingOf(this.#byKey.get(ref.key) ?? this.#newFund(ref)));
  }

  standingOfId(
    id: number,
    [most, spent, held]: readonly [Microcredits, Microcredits, Microcredits],
  ): FundStanding | null {
    const fund = this.#byId.get(id);
    return fund ? standingOf(fund.title, most, spent, held, 0) : null;
  }

  windowsOf(budget: number, starts: number): readonly FundStanding[] {
    const found: FundStanding[] = [];
    for (const fund of this.#byId.values())
      if (fund.budget === budget && fund.title.starts === starts) found.push(this.#standingOf(fund));
    return found;
  }

  balanceOf(holder: string): FundStanding | null {
    const fund = this.#byHolder.get(holder);
    return fund?.isOpened ? this.#standingOf(fund) : null;
  }

  balances(): readonly FundStanding[] {
    return [...this.#byHolder.values()].filter(({ isOpened }) => isOpened).map((fund) => this.#standingOf(fund));
  }

  #newFund(ref: FundRef): KnownFund {
    return new KnownFund(ref, this.#enforced.get(ref.budget));
  }

  #standingOf({ title, most, spent, held, at }: KnownFund): FundStanding {
    return standingOf(title, most, spent, held, Math.max(0, this.#clock() - at));
  }
}

const standingOf = (
  title: FundTitle,
  limit: Microcredits,
  spent: Microcredits,
  held: Microcredits,
  ageMs: number,
): FundStanding => ({ title, limit, spent, held, free: limit - spent - held, unspent: limit - spent, ageMs });
