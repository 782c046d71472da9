import { OTHER } from '../host/telemetry/counts.ts';
import type { FundShortage } from './available-funds.ts';
import { BUDGETS_MAX, type BudgetSample } from './sample.ts';

/** The number of requests that each budget refused because too little was left of it. State: refusals. */
export class Refusals {
  readonly #counts = new Map<string, number>();

  /** Counts only refusals by budgets. Balances belong to their holders, and refused waits are counted by outcome. */
  count({ kind, why, name }: Pick<FundShortage, 'kind' | 'why' | 'name'>): void {
    if (kind !== 'budget' || why !== 'exhausted') return;
    const own = this.#counts.has(name) || this.#counts.size < BUDGETS_MAX ? name : OTHER;
    this.#counts.set(own, (this.#counts.get(own) ?? 0) + 1);
  }

  /** Returns the counts of the budgets in force, each once; 0 for no refusal. Budgets beyond the bound share one count. */
  of(budgets: readonly Pick<BudgetSample, 'name'>[]): ReadonlyMap<string, number> {
    const known = new Map(budgets.map(({ name }) => [name, this.#counts.get(name) ?? 0]));
    if (!known.has(OTHER)) return known;
    let others = 0;
    for (const [name, count] of this.#counts) if (name === OTHER || !known.has(name)) others += count;
    return known.set(OTHER, others);
  }
}
