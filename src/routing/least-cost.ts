import { servesChats } from '../core/kinds/operations.ts';
import type { ExhaustedAction } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';
import { costBound } from '../core/money/price.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { taskUseful } from './estimate.ts';
import { type ModelLists, mayUse } from './model-name.ts';

/** The most input tokens of a prompt of a few words, with the tokens that dialects add around it. */
const SHORT_PROMPT_TOKENS = 48;

/** What a short chat request costs at most with the cheapest model. */
export interface LeastCost {
  readonly amount: Microcredits;
  readonly model: string;
}

/**
 * Returns the least amount that a budget must have for a short chat request that states no limit on its output: with `reject`, the worst
 * case; otherwise the cost of the shortest useful answer
 * of a chat.
 * @param lists the models that the sender may use
 * @returns null if the sender may use no chat model
 */
export function leastCost(
  { models, wildcards, tasks }: Pick<PolicySnapshot, 'models' | 'wildcards' | 'tasks'>,
  lists: ModelLists,
  onExhausted: ExhaustedAction,
): LeastCost | null {
  // A prompt of a few words is read as `chat`. Answers of other tasks, such as a class, can be useful with fewer tokens.
  const usual = tasks.find(({ name }) => name === 'chat') ?? tasks[0]!;
  let least: LeastCost | null = null;
  for (const model of [...models, ...(wildcards?.listed() ?? [])]) {
    if (!servesChats(model) || !mayUse(lists, model)) continue;
    const output = onExhausted === 'reject' ? model.defaultMaxOutput : taskUseful(model, usual);
    for (const endpoint of model.endpoints) {
      const amount = costBound(endpoint, SHORT_PROMPT_TOKENS, Math.min(output, model.maxOutput), undefined, 0);
      if (least === null || amount < least.amount) least = { amount, model: model.id };
    }
  }
  return least;
}
