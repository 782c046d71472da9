import type { TSchema } from '@sinclair/typebox';
import { type Amount, type AmountUnit, parseAmount, toMicrocredits } from '../../core/money/amount.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import type { Decimal } from '../../core/money/decimal.ts';
import type { Subject } from '../check.ts';
import type { SourceSpan } from '../diagnostics.ts';
import { checkExcluded, checkNeeded } from '../hints/key-rules.ts';
import { example } from '../hints/value-hints.ts';
import { decimalAt } from '../models/prices.ts';
import type { Report } from '../report.ts';
import { LIMIT_CREDITS_MAX } from '../schema/budgets.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';

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
 * @param usdPerCredit the worth of a Credit in this policy
 */
export function readLimit(schema: TSchema, subject: Subject, usdPerCredit: Decimal, report: Report): StatedLimit {
  const { tree, path } = subject;
  const key = valueAt(tree, 'limit_usd') ? 'limit_usd' : 'limit_credits';
  const bare = key === 'limit_usd' ? 'USD' : 'Credits';
  const limitPlace = placeAt(tree, key);
  const none = { limit: null, unit: bare, limitPlace } as const;
  checkStated(schema, subject, report);
  const amount = amountAt(subject, key, report);
  if (amount === null) return none;
  const unit = amount.unit ?? bare;
  if (unit === 'Credits' && bare === 'USD') {
    const message = `\`${path}.limit_usd\` is in Credits`;
    report.add('bad-form', limitPlace, message, { expected: 'an amount of USD, or the key `limit_credits`' });
    return none;
  }
  const limit = toMicrocredits(amount, { bare, usdPerCredit });
  if (typeof limit !== 'number') {
    report.add('bad-form', limitPlace, `\`${path}.${key}\` ${limit.problem.replace(/\.$/, '')}`);
    return none;
  }
  // The schema has already reported a number that is out of bounds.
  const isChecked = isNumberAt(tree, key) && (limit < 0 || bare === 'Credits');
  if (!isChecked && (limit < 0 || toCredits(limit) > LIMIT_CREDITS_MAX)) {
    const message = `\`${path}.${key}\` is ${toCredits(limit)} Credits`;
    report.add('out-of-range', limitPlace, message, { expected: `from 0 to ${LIMIT_CREDITS_MAX} Credits` });
    return none;
  }
  return { limit, unit, limitPlace };
}

const isNumberAt = (tree: Tree, key: string): boolean => {
  const at = valueAt(tree, key);
  return at?.kind === 'scalar' && typeof at.value === 'number';
};

/** Reports a budget without a limit, or with two. A limit with a misspelt key is already reported as an unknown key. */
function checkStated(schema: TSchema, subject: Subject, report: Report): void {
  const { tree } = subject;
  checkExcluded(schema, subject, report, () => 'one of the two');
  const known = schema.properties as Readonly<Record<string, TSchema>>;
  if (tree.kind !== 'map' || tree.entries.some(({ key }) => known[key] === undefined)) return;
  const { description = '', ...limit } = known.limit_credits ?? {};
  const shown = example(limit as TSchema)?.replace(/^f/, ' F') ?? '';
  checkNeeded(schema, subject, report, `\`limit_credits\`: ${description}${shown}`);
}

/** Reads the amount at a key, as the policy writes it; null if there is none, or if it is wrong, which is reported. */
function amountAt({ tree, path }: Subject, key: string, report: Report): Amount | null {
  const at = valueAt(tree, key);
  if (at?.kind !== 'scalar') return null;
  if (typeof at.value !== 'string') {
    const value = typeof at.value === 'number' ? decimalAt(tree, key, report) : null;
    return value && { value, unit: null };
  }
  const amount = parseAmount(at.value);
  if (!('problem' in amount)) return amount;
  report.add('bad-form', at.place, `\`${path}.${key}\`: \`${at.value}\` ${amount.problem.replace(/\.$/, '')}`);
  return null;
}
