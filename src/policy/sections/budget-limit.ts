import type { TObject, TSchema } from '@sinclair/typebox';
import type { AmountUnit } from '../../core/money/amount.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import {
  type AmountContext,
  amountAt,
  isWithin,
  microcreditsOf,
  roundsToNothing,
  TOO_SMALL,
} from '../check/amounts.ts';
import type { Subject } from '../check/check.ts';
import { checkExcluded, checkNeeded } from '../check/key-rules.ts';
import { example } from '../check/value-hints.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';

/** The limit of a budget, with the unit in which the policy states it. */
interface StatedLimit {
  /** Null if the policy states no limit, or a wrong limit, which is reported. */
  readonly limit: Microcredits | null;
  readonly unit: AmountUnit;
  readonly limitPlace: SourceSpan;
}

/**
 * Reads the limit of a budget, which `limit_credits` or `limit_usd` states: a number, or a text such as `20,000` or `20 USD`.
 * @param schema of the budget
 */
export function readLimit(schema: TObject, subject: Subject, context: AmountContext): StatedLimit {
  const { tree, path } = subject;
  const { report } = context;
  const key = valueAt(tree, 'limit_usd') ? 'limit_usd' : 'limit_credits';
  const limitPlace = placeAt(tree, key);
  checkStated(schema, subject, report);
  const amount = amountAt(subject, key, report);
  const unit = amount?.unit ?? 'Credits';
  const limit = amount && microcreditsOf(amount, subject, key, context);
  if (limit === null) return { limit, unit, limitPlace };
  const stated = valueAt(tree, key);
  const isNumber = stated?.kind === 'scalar' && typeof stated.value === 'number';
  // The schema has already reported a number that is out of bounds.
  const isChecked = isNumber && (limit < 0 || key === 'limit_credits');
  const bounds = schema.properties.limit_credits;
  if (!isChecked && bounds && !isWithin(bounds, toCredits(limit), 'Credits', { owner: subject, key, report })) {
    return { limit: null, unit, limitPlace };
  }
  if (limit === 0) {
    const figure = amount && roundsToNothing(amount, limit) ? TOO_SMALL : 'is 0';
    report.add('nothing-to-spend', limitPlace, `\`${path}.${key}\` ${figure}. The budget allows only free requests`, {
      hint: 'set a larger limit; to refuse requests, use a constraint, which gives callers a clearer reason',
    });
  }
  return { limit, unit, limitPlace };
}

/** Reports a budget without a limit, or with two. A limit with a misspelt key is already reported as an unknown key. */
function checkStated(schema: TObject, subject: Subject, report: Report): void {
  const { tree } = subject;
  checkExcluded(schema, subject, report, () => 'one of the two');
  const known: Readonly<Record<string, TSchema>> = schema.properties;
  if (tree.kind !== 'map' || tree.entries.some(({ key }) => known[key] === undefined)) return;
  const { description = '', ...limit } = known.limit_credits ?? {};
  const shown = example(limit as TSchema)?.replace(/^f/, ' F') ?? '';
  checkNeeded(schema, subject, report, `\`limit_credits\`: ${description}${shown}`);
}
