import { OTHER } from '../host/telemetry/counts.ts';
import type { FundShortage } from './available-funds.ts';
import { BUDGETS_MAX, type BudgetSample } from './sample.ts';

/** Counts the requests that each budget refused because too little of it was left. State: refusals. */
export class Refusals {
  readonly #counts = new Map<string, number>();

  /** Counts refusals by budgets only. Balances belong to their holders, and refused waits are counted by their outcome. */
  count({ kind, why, name }: Pick<FundShortage, 'kind' | 'why' | 'name'>): void {
    if (kind !== 'budget' || why !== 'exhausted') return;
    const own = this.#counts.has(name) || this.#counts.size < BUDGETS_MAX ? name : OTHER;
    this.#counts.set(own, (this.#counts.get(own) ?? 0) + 1);
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
