import { bothAmounts, perWindow } from '../../core/money/budget-words.ts';
import { toCredits } from '../../core/money/credits.ts';
import { usdWriter } from '../../core/money/usd.ts';
import type { KeyBudget } from '../../core/people/caller.ts';
import type { LeastCost } from '../../routing/least-cost.ts';
import type { ModelLists } from '../../routing/model-name.ts';
import type { KeyInfo } from '../../store/keys.ts';

/** The parts of an active policy that tell whether a budget pays for any request. */
export interface BudgetAdvice {
  readonly usdPerCredit: string;
  /** Returns the cost of the cheapest request of a sender with these lists of models; null if it may use no model. */
  leastCost(lists: ModelLists, onExhausted: KeyBudget['onExhausted']): LeastCost | null;
}

type BudgetedKey = Pick<KeyInfo, 'id' | 'name' | 'models' | 'notModels' | 'budgets'>;

/** The most keys that are named. A header carries the warnings. */
const KEYS_MAX = 5;

/** Returns a warning for each key with a budget that fits no request. Budgets of 0 are meant for free requests. */
export function unusableBudgets(keys: readonly BudgetedKey[], advice: BudgetAdvice | null): readonly string[] {
  if (!advice) return [];
  const known = new Map<string, LeastCost | null>();
  // Most keys of a long list have the same lists of models.
  const leastCost: BudgetAdvice['leastCost'] = ({ models, notModels }, onExhausted) =>
    known.getOrInsertComputed(JSON.stringify([models && [...models], [...(notModels ?? [])], onExhausted]), () =>
      advice.leastCost({ models, ...(notModels && { notModels }) }, onExhausted),
    );
  const warnings = keys.flatMap((key) => warningOf(key, { ...advice, leastCost }) ?? []);
  const more = warnings.length - KEYS_MAX;
  return more > 0
    ? [...warnings.slice(0, KEYS_MAX), `${more} more keys have a budget that fits no request.`]
    : warnings;
}

function warningOf({ id, name, models, notModels, budgets }: BudgetedKey, advice: BudgetAdvice): string | null {
  const lists = { models: models && new Set(models), notModels: new Set(notModels ?? []) };
  const usd = usdWriter(advice.usdPerCredit);
  for (const { limit, window, onExhausted } of budgets) {
    const least = limit > 0 ? advice.leastCost(lists, onExhausted) : null;
    if (least === null || least.amount <= limit) continue;
    const [budget, needed] = [limit, least.amount].map((amount) => bothAmounts(toCredits(amount), usd(amount)));
    const who = name === '' ? `Key ${id}` : `Key ${name} (${id})`;
    return `${who} can send no usual request: its budget is ${budget} ${perWindow(window)}, and a short request without \`max_tokens\` needs ${needed} with \`${least.model}\`, the cheapest model that the key may use.`;
  }
  return null;
}
