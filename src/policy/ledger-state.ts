import type { LedgerState } from '../core/money/budget.ts';
import type { ParsedPolicy } from './parsed/parsed.ts';
import { listNames } from './report/nearest.ts';
import type { Report } from './report/report.ts';

/** Checks that a policy is compatible with the existing ledger. */
export function checkLedgerState(parsed: ParsedPolicy, ledger: LedgerState, report: Report): void {
  checkCredit(parsed, ledger.usdPerCredit, report);
  checkRenamed(parsed, ledger.budgets, report);
}

function checkCredit({ credit }: ParsedPolicy, inLedger: string | null, report: Report): void {
  if (credit === null || inLedger === null || credit.usd === inLedger) return;
  const stated = credit.isStated
    ? `\`credits.usd_per_credit\` is ${credit.usd}`
    : `a Credit is worth ${credit.usd} USD`;
  const unstated = credit.isStated ? '' : ', the default of `credits.usd_per_credit`';
  const message = `${stated}${unstated}, but the ledger was counted in Credits of ${inLedger} USD`;
  report.add('credits-changed', credit.place, message, {
    expected: `\`credits: { usd_per_credit: ${inLedger} }\``,
    hint: 'the worth of a Credit can change only with an empty ledger: start with a new data folder',
  });
}

function checkRenamed({ budgets }: ParsedPolicy, inLedger: readonly string[], report: Report): void {
  const names = new Set(budgets.map(({ name }) => name));
  const gone = inLedger.filter((name) => !names.has(name));
  if (gone.length === 0) return;
  const counted = new Set(inLedger);
  const are = gone.length === 1 ? 'is' : 'are';
  for (const { name, place } of budgets) {
    if (counted.has(name)) continue;
    const message = `budget \`${name}\` is new, and ${listNames(gone)}, which the ledger counts, ${are} gone`;
    report.add('budget-renamed', place, message, {
      hint: 'a renamed budget is a new budget: Signalbox counts its spending again from the entries of its window, and sends its alerts again',
    });
  }
}
