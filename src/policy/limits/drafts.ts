import type { AmountContext } from '../check/amounts.ts';
import { validPartsOf } from '../check/check.ts';
import { eachOf, expressionAt } from '../check/rule-drafts.ts';
import { type CheckContext, checkList, type NamedItem } from '../check/section-checks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { checkTimeZone } from '../report/time-zone.ts';
import { BudgetText } from '../schema/budgets.ts';
import { placeAt } from '../yaml/tree.ts';
import { readLimit } from './budgets.ts';

/** A budget whose expressions are not checked yet. If any key of the budget is wrong, its figures are placeholders. */
export type BudgetDraft = ReturnType<typeof draftBudgets>[number];

/** Checks the budgets of the policy. @param zone the default time zone */
export function draftBudgets(context: CheckContext & AmountContext, zone: string) {
  return checkList('budgets', BudgetText, context).map((named) => {
    const { name, tree, data } = named;
    const stated = data ?? validPartsOf(BudgetText, tree);
    const { window = 'total', time_zone: timeZone = zone, on_exhausted: onExhausted = 'cap', alert_at = [] } = stated;
    if (stated.time_zone !== undefined) checkTimeZone(timeZone, placeAt(tree, 'time_zone'), context.report);
    const place = placeAt(tree, 'name');
    reviewName(name, place, context.report);
    const each = eachOf(named);
    const limit = readLimit(BudgetText, named, context);
    const isOfSessions = each?.text.trim() === 'session';
    if (isOfSessions && stated.window === 'total') refuseEndless(named, context.report);
    return {
      name,
      place,
      match: expressionAt(named, 'match'),
      // The word `session` in `each` is a keyword, not an expression.
      each: isOfSessions ? ('session' as const) : each,
      ...limit,
      limit: limit.limit ?? 0,
      window,
      timeZone,
      onExhausted,
      alertAt: [...new Set(alert_at)].sort((a, b) => a - b),
    };
  });
}

/**
 * Reports a budget per session whose window never ends. Callers can invent sessions, and each window of a budget per session would be
 * stored forever.
 */
function refuseEndless({ path, tree }: NamedItem<BudgetText>, report: Report): void {
  report.add(
    'conflicting-keys',
    placeAt(tree, 'window'),
    `\`${path}\` has a window for each session, but the windows never end`,
    {
      expected: '`day`, `week` or `month`',
      hint: 'callers can name any number of sessions, and Signalbox would store a window for each of them forever',
    },
  );
}

/** Names that answers and reports use for a balance, a model's maximum output, and budgets of keys. */
const NAMES_OF_OTHERS = /^(balance|model|key-(day|week|month|total)([@:].*)?)$/;

const isOfOthers = (name: string): boolean => NAMES_OF_OTHERS.test(name);

const OTHERS: Readonly<Record<string, string>> = { balance: 'a balance', model: 'the maximum output of a model' };

function reviewName(name: string, place: SourceSpan, report: Report): void {
  if (!isOfOthers(name)) return;
  const other = OTHERS[name] ?? 'budgets of keys';
  report.add('ambiguous-name', place, `budget \`${name}\` has a name that answers and reports use for ${other}`, {
    hint: 'give the budget another name; Signalbox then counts its spending again from the entries',
  });
}
