import type { WindowKind } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';
import type { SourceSpan } from './diagnostics.ts';
import { decimalAt } from './prices.ts';
import type { Report } from './report.ts';
import { type ExpressionDraft, expressionAt } from './rule-drafts.ts';
import { BudgetText } from './schema-budgets.ts';
import { type CheckContext, checkList, type NamedItem } from './sections.ts';
import { checkTimeZone } from './time-zone.ts';
import { placeAt } from './tree.ts';
import { unitsOf } from './usd.ts';
import { validPartsOf } from './valid-parts.ts';

/** A budget whose expressions are not checked yet. If one of its keys is wrong, its figures are placeholders. */
export interface BudgetDraft {
  readonly name: string;
  /** The place of its name. */
  readonly place: SourceSpan;
  readonly match: ExpressionDraft | null;
  readonly each: ExpressionDraft | null;
  readonly limit: Microcredits;
  readonly window: WindowKind;
  readonly timeZone: string;
  readonly onExhausted: 'reject' | 'downgrade';
  readonly alertAt: readonly number[];
}

/** Decimals of a Credit in the ledger. */
const DECIMALS = 6;

/** Checks the budgets of the policy. `zone` is the default time zone. */
export function draftBudgets(context: CheckContext, zone: string): BudgetDraft[] {
  return checkList('budgets', BudgetText, context).map((named) => {
    const { name, tree, data } = named;
    const stated = data ?? validPartsOf(BudgetText, tree);
    const {
      window = 'total',
      time_zone: timeZone = zone,
      on_exhausted: onExhausted = 'reject',
      alert_at = [],
    } = stated;
    if (stated.time_zone !== undefined) checkTimeZone(timeZone, placeAt(tree, 'time_zone'), context.report);
    return {
      name,
      place: placeAt(tree, 'name'),
      match: expressionAt(named, 'match'),
      each: eachOf(named),
      limit: stated.limit_credits === undefined ? 0 : limitOf(named, context.report),
      window,
      timeZone,
      onExhausted,
      alertAt: [...new Set(alert_at)].sort((a, b) => a - b),
    };
  });
}

/** `key` is short for `key.id`. */
function eachOf(named: NamedItem<BudgetText>): ExpressionDraft | null {
  const each = expressionAt(named, 'each');
  return each?.text.trim() === 'key' ? { ...each, text: 'key.id' } : each;
}

function limitOf({ name, path, tree }: NamedItem<BudgetText>, report: Report): Microcredits {
  const decimal = decimalAt(tree, 'limit_credits', report);
  if (!decimal) return 0;
  const limit = unitsOf(DECIMALS, decimal);
  const place = placeAt(tree, 'limit_credits');
  if (limit === null) {
    report.add('bad-form', place, `\`${path}.limit_credits\` has more than ${DECIMALS} decimals`, {
      expected: 'a multiple of 0.000001 Credits, the smallest amount that is charged',
    });
  }
  if (limit === 0n) {
    report.add('nothing-to-spend', place, `budget \`${name}\` has a limit of 0, so only free requests pass`, {
      hint: 'set a limit above 0; to refuse requests, a constraint gives callers a clearer reason',
    });
  }
  return Number(limit ?? 0n);
}
