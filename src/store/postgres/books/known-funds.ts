import {
  budgetKey,
  type FundRef,
  type FundStanding,
  type FundTitle,
  isSuperseded,
  limitFor,
} from '../../../core/accounting/fund.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { EnforcedBudget } from '../../books.ts';

/**
 * A fund in an answer of the database: its ID, its limit, the amounts spent and held, and whether a balance was ever granted or paid
 * anything.
 */
export type FundAnswer = readonly [
  id: number,
  most: Microcredits,
  spent: Microcredits,
  held: Microcredits,
  isOpened: boolean,
];

/** The database row of a window of a budget. */
export interface FundWindowRow extends Pick<FundTitle, 'name' | 'subject' | 'definition' | 'starts'> {
  readonly id: number;
  readonly ends: number | null;
  readonly budget: number;
  readonly most: Microcredits;
  readonly spent: Microcredits;
  readonly held: Microcredits;
}

/**
 * A fund with a lower ID may become visible this much later than a fund with a higher ID, ms. Every database transaction of Signalbox ends
 * within this time.
 */
const UNSEEN_MS = 30_000;

/** The figures of a fund that this process read last. */
class KnownFund {
  title: FundTitle;
  readonly budget: number;
  most: Microcredits;
  spent: Microcredits = 0;
  held: Microcredits = 0;
  isOpened = false;
  /** When the figures were read, by the clock of `KnownFunds`, ms. */
  at = Number.NEGATIVE_INFINITY;

  constructor({ title, budget, limit }: FundRef, terms: EnforcedBudget | undefined) {
    this.title = title;
    this.budget = budget;
    this.most = title.kind === 'balance' ? 0 : limitFor(terms, title, limit);
  }
}

/** The funds that an answer of the database changed. */
export interface FigureChanges {
  /** The funds that have more free money than this process knew. */
  readonly freed: readonly FundStanding[];
  /** The holders whose balance was opened. */
  readonly opened: readonly string[];
}

/**
 * The latest figures of funds that this process has read. Each answer of the database contains the funds that its operations used, so only
 * funds that no operation of this process uses become outdated between polls. State: known funds.
 */
export class KnownFunds {
  readonly #byId = new Map<number, KnownFund>();
  readonly #byKey = new Map<string, KnownFund>();
  readonly #byHolder = new Map<string, KnownFund>();
  /** The newest limits that this process has activated, by budget. These limits apply to funds that have no row in the database yet. */
  readonly #enforced = new Map<number, EnforcedBudget>();
  /** The IDs of the budgets of the active policy. */
  #budgets: readonly number[] = [];
  /**
   * The search for funds that other instances have created: `greatest` is the highest fund ID found so far, `settling` was the highest at
   * the time `at`, and `settled` was the highest at least `UNSEEN_MS` before. No new fund can appear with an ID up to `settled`.
   */
  #found = { greatest: 0, settling: 0, settled: 0, at: 0 };
  readonly #clock: () => number;

  /** @param clock returns ms, never goes back */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The IDs of all known funds. */
  get ids(): readonly number[] {
    return [...this.#byId.keys()];
  }

  /** The IDs of funds. The method compares titles of funds by identity, so it finds only titles that came from this object. */
  idsOf(funds: readonly FundStanding[]): readonly number[] {
    if (funds.length === 0) return [];
    const titles = new Set(funds.map(({ title }) => title));
    return [...this.#byId].flatMap(([id, { title }]) => (titles.has(title) ? [id] : []));
  }

  /** Remembers a fund to which the database has given an ID. If the fund is already known, the fund gets the title of `ref`. */
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

  /** The parameters for the search for new funds: the budgets, and the ID above which a fund may be new. */
  get wanted(): { readonly budgets: readonly number[]; readonly above: number } {
    return { budgets: this.#budgets, above: this.#found.settled };
  }

  /** Adds funds that other instances have created. */
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

  /** Removes a fund whose window has ended. */
  forget(id: number): void {
    const fund = this.#byId.get(id);
    if (!fund) return;
    this.#byId.delete(id);
    this.#byKey.delete(budgetKey(fund.budget, fund.title.starts, fund.title.subject));
  }

  /** The current time by the clock of the figures, ms. A caller reads this time before a poll starts, and passes the time to `take`. */
  get now(): number {
    return this.#clock();
  }

  /**
   * Stores the figures that the database returned.
   * @param at when the read started, ms. Figures of a poll that started before the latest answer are ignored.
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
      if (!known || !isSuperseded(one, known)) this.#enforced.set(one.budget, one);
    }
    const before = this.#budgets;
    this.#budgets = budgets.map(({ budget }) => budget);
    if (this.#budgets.every((budget) => before.includes(budget))) return;
    this.#found = { greatest: 0, settling: 0, settled: 0, at: this.#clock() };
  }

  /** Returns the figures of funds. A fund that the database does not have yet has spent nothing. */
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
