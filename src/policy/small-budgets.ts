import type { ExhaustedAction } from '../core/budget.ts';
import { OPERATIONS } from '../core/operation.ts';
import { type Constraint, hasBit } from '../core/rules.ts';
import type { Model } from '../core/snapshot.ts';
import type { ModelDraft } from './models.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';
import { rounded } from './slip-hints.ts';

const MICRO = 1_000_000;

/** What happens to requests under a small budget. */
const CONSEQUENCES: Readonly<Record<ExhaustedAction, string>> = {
  cap: 'long answers are cut short',
  reject: 'requests that could cost more are refused',
  downgrade: 'long answers are cut short, because no model fits',
};

/**
 * Warns of budgets that are worth less than one long answer of the cheapest model, which probably state USD.
 * @param served the models that can be served here
 */
export function reviewSmallBudgets(
  { budgets, models, credit }: ParsedPolicy,
  served: readonly Model[],
  constraints: readonly Constraint[],
  report: Report,
): void {
  const usable = new Set(served.filter((model) => isUsable(model, constraints)).map(({ id }) => id));
  const answers = models
    .filter(({ model }) => usable.has(model.id))
    .map((draft) => ({ id: draft.model.id, usd: longestUsd(draft) }))
    .sort((a, b) => a.usd - b.usd);
  const [cheapest] = answers;
  if (!cheapest || !credit) return;
  const usdPerCredit = Number(credit.usd);
  for (const { name, limit, limitPlace, onExhausted } of budgets) {
    const credits = limit / MICRO;
    const usd = rounded(credits * usdPerCredit);
    if (credits === 0 || usd >= cheapest.usd) continue;
    const message = `budget \`${name}\` is worth less than one long answer of the cheapest model: ${credits} Credits are ${usdText(usd)} USD, and the longest answer of \`${cheapest.id}\` costs ${usdText(cheapest.usd)} USD`;
    report.add('small-budget', limitPlace, message, {
      hint: `for ${credits} USD write \`limit_credits: ${rounded(credits / usdPerCredit)}\`; with ${credits} Credits, ${CONSEQUENCES[onExhausted]}`,
    });
  }
}

/** Whether a model chats, and constraints that apply to every request let it serve. */
const isUsable = ({ operations, endpoints, firstSlot }: Model, constraints: readonly Constraint[]): boolean =>
  (operations & OPERATIONS.chat.bit) !== 0 &&
  constraints.every(
    ({ when, allows }) => when !== null || allows === null || endpoints.some((_, at) => hasBit(allows, firstSlot + at)),
  );

/** USD of the longest answer of a model, at its cheapest endpoint. */
const longestUsd = ({ model, endpoints }: ModelDraft): number =>
  (Math.min(...endpoints.map(({ usd }) => usd.output)) * model.maxOutput) / 1_000_000;

/** At least two decimals, and two digits that count. */
const usdText = (usd: number): string => (usd >= 0.1 ? usd.toFixed(2) : String(Number(usd.toPrecision(2))));
