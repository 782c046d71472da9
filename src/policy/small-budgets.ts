import { OPERATIONS } from '../core/operation.ts';
import type { ModelDraft } from './models.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';
import { rounded } from './slip-hints.ts';

const MICRO = 1_000_000;

/**
 * Warns of budgets that are worth less than one long answer, which probably state USD. The answer is the longest of the model
 * that savings are compared with: the baseline, or the best model.
 */
export function reviewSmallBudgets({ budgets, models, settings, credit }: ParsedPolicy, report: Report): void {
  const chats = models.filter(({ model }) => (model.operations & OPERATIONS.chat.bit) !== 0);
  const best = chats.toSorted((a, b) => b.defaultQuality - a.defaultQuality)[0];
  const compared = chats.find(({ model }) => model.id === settings?.baseline) ?? best;
  if (!compared || !credit) return;
  const answerUsd = longestUsd(compared);
  const usdPerCredit = Number(credit.usd);
  for (const { name, limit, limitPlace } of budgets) {
    const credits = limit / MICRO;
    const usd = rounded(credits * usdPerCredit);
    if (limitPlace === null || credits === 0 || usd >= answerUsd) continue;
    const message = `budget \`${name}\` is worth less than one long answer: ${credits} Credits are ${usdText(usd)} USD, and the longest of \`${compared.model.id}\` costs ${usdText(answerUsd)} USD`;
    report.add('small-budget', limitPlace, message, {
      hint: `for ${credits} USD write \`limit_credits: ${rounded(credits / usdPerCredit)}\`; if you mean ${credits} Credits, state \`on_exhausted\``,
    });
  }
}

/** USD of the longest answer of a model, by its list price. */
const longestUsd = ({ model, endpoints: [first] }: ModelDraft): number =>
  ((first?.usd.output ?? 0) * model.maxOutput) / 1_000_000;

/** At least two decimals, and two digits that count. */
const usdText = (usd: number): string => (usd >= 0.1 ? usd.toFixed(2) : String(Number(usd.toPrecision(2))));
