import { type FundStanding, fundName } from '../core/accounting/fund.ts';
import type { Microcredits } from '../core/money/credits.ts';
import { OTHER } from '../host/telemetry/counts.ts';
import type { FundShortage } from './available-funds.ts';
import { BUDGETS_MAX, type BudgetSample } from './sample.ts';

/** The most funds whose last refusal is kept. */
const FUNDS_MAX = 10_000;

/** Why a fund refuses requests although it is not used up: too little of it is left for the last request that this process refused. */
export interface FundRefusal {
  /** When the fund began to refuse requests, ms since 1970. */
  readonly since: number;
  /** The least amount that the last refused request needed, microcredits. */
  readonly needed: Microcredits;
}

/** A refusal, with the figures of the fund at that time in microcredits. */
interface KeptRefusal extends FundRefusal {
  readonly spent: Microcredits;
  readonly held: Microcredits;
}

type CountedShortage = Pick<FundShortage, 'kind' | 'why' | 'name'>;
type KeptShortage = Pick<FundShortage, 'why' | 'title' | 'limit' | 'spent' | 'held' | 'needed'>;

/** The requests that funds refused because too little of them was left. State: refusals. */
export class Refusals {
  readonly #counts = new Map<string, number>();
  readonly #last = new Map<string, KeptRefusal>();

  /** Counts refusals by budgets only. Balances belong to their holders, and refused waits are counted by their outcome. */
  count({ kind, why, name }: CountedShortage): void {
    if (kind !== 'budget' || why !== 'exhausted') return;
    const own = this.#counts.has(name) || this.#counts.size < BUDGETS_MAX ? name : OTHER;
    this.#counts.set(own, (this.#counts.get(own) ?? 0) + 1);
  }

  /**
   * Keeps the last refusal of a fund. A request that costs more than the whole fund does not show that the fund is nearly empty.
   * @param now ms since 1970
   * @returns whether it is kept
   */
  keep({ why, title, limit, spent, held, needed }: KeptShortage, now: number): boolean {
    if (why !== 'exhausted' || needed > limit) return false;
    const name = fundName(title);
    const since = this.current({ title, spent, unspent: limit - spent })?.since ?? now;
    this.#last.delete(name);
    this.#last.set(name, { since, needed, spent, held });
    const [oldest] = this.#last.keys();
    if (this.#last.size > FUNDS_MAX && oldest !== undefined) this.#last.delete(oldest);
    return true;
  }

  /**
   * Returns the last refusal of a fund if it still describes the fund: a request that needs as much would be refused again, and no request
   * was paid since, except those that were running then. Other processes that share the fund keep their own refusals.
   */
  current({ title, spent, unspent }: Pick<FundStanding, 'title' | 'spent' | 'unspent'>): FundRefusal | null {
    const last = this.#last.get(fundName(title)) ?? null;
    return last && last.needed > unspent && spent <= last.spent + last.held ? last : null;
  }

  /** Returns the counts of the active budgets; 0 for a budget without refusals. Budgets beyond `BUDGETS_MAX` share one count. */
  of(budgets: readonly Pick<BudgetSample, 'name'>[]): ReadonlyMap<string, number> {
    const known = new Map(budgets.map(({ name }) => [name, this.#counts.get(name) ?? 0]));
    if (!known.has(OTHER)) return known;
    let others = 0;
    for (const [name, count] of this.#counts) if (name === OTHER || !known.has(name)) others += count;
    return known.set(OTHER, others);
  }
}
