import { type FundRef, type FundStanding, type FundTitle, limitFor } from '../../../accounting/fund.ts';
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

/** What this process knows of a fund. */
class KnownFund {
  readonly title: FundTitle;
  readonly budget: number;
  most: Microcredits;
  spent: Microcredits = 0;
  held: Microcredits = 0;
  isOpened = false;
  /** When its figures were read, by the clock of the readings. */
  at = Number.NEGATIVE_INFINITY;

  constructor({ title, budget, limit, rank }: FundRef, terms: EnforcedBudget | undefined) {
    this.title = title;
    this.budget = budget;
    const stated = terms && terms.rank > rank ? limitFor(terms, title, limit) : limit;
    this.most = title.kind === 'balance' ? 0 : stated;
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
    const titles = new Set(funds.map(({ title }) => title));
    return [...this.#byId].flatMap(([id, { title }]) => (titles.has(title) ? [id] : []));
  }

  /** Takes in a fund that has got its number. */
  name(ref: FundRef, id: number): void {
    if (this.#byId.has(id)) return;
    const fund = this.#newFund(ref);
    this.#byId.set(id, fund);
    this.#byKey.set(ref.key, fund);
    if (ref.title.kind === 'balance') this.#byHolder.set(ref.title.name, fund);
  }

  /** Takes in what the database has answered. */
  take(figures: readonly FundAnswer[]): FigureChanges {
    const freed: FundStanding[] = [];
    const opened: string[] = [];
    const at = this.#clock();
    for (const [id, most, spent, held, isOpened] of figures) {
      const fund = this.#byId.get(id);
      if (!fund) continue;
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
