import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Amount, type AmountUnit, parseAmount, problemOfNumber, toMicrocredits } from '../../core/money/amount.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { type Decimal, plainText, toNumber } from '../../core/money/decimal.ts';
import { decimalText } from '../../core/text/text.ts';
import type { Report } from '../report/report.ts';
import { decimalAt } from '../schema/prices.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';
import { limitsOf, type Subject } from './check.ts';

/** An amount of a policy, with the unit that its text or its key states. */
export interface StatedAmount extends Amount {
  readonly unit: AmountUnit;
}

/** A map of the policy that contains amounts. */
export type AmountOwner = Pick<Subject, 'path' | 'tree'>;

/** An amount of USD in a policy, and its worth. */
export interface ConvertedAmount {
  /** The path of the amount, such as `budgets.team-month.limit_usd`. */
  readonly path: string;
  /** The amount as an exact decimal. */
  readonly usd: string;
  readonly limit: Microcredits;
}

/** The facts that convert an amount to Credits. */
export interface AmountContext {
  readonly usdPerCredit: Decimal;
  readonly report: Report;
  /** Collects the amounts of USD that were converted. */
  readonly converted: ConvertedAmount[];
}

/** The unit of a number without a unit: the end of its key's name. */
const bareUnit = (key: string): AmountUnit => (key.endsWith('_usd') ? 'USD' : 'Credits');

/** Reads the amount at a key, as the policy writes it; null if there is none, or if it is wrong, which is reported. */
export function amountAt({ tree, path }: AmountOwner, key: string, report: Report): StatedAmount | null {
  const at = valueAt(tree, key);
  if (at?.kind !== 'scalar') return null;
  const bare = bareUnit(key);
  if (isUnclear({ tree, path }, key, report)) return null;
  if (typeof at.value !== 'string') {
    const value = typeof at.value === 'number' ? decimalAt(tree, key, report) : null;
    return value && { value, unit: bare };
  }
  const amount = parseAmount(at.value);
  if ('problem' in amount) {
    report.add('bad-form', at.place, `\`${path}.${key}\`: \`${at.value}\` ${sentencePart(amount.problem)}`);
    return null;
  }
  const unit = amount.unit ?? bare;
  if (bare === 'Credits' || unit === 'USD') return { value: amount.value, unit };
  const inCredits = key === 'limit_usd' ? ', or the key `limit_credits`' : '';
  report.add('bad-form', at.place, `\`${path}.${key}\` is in Credits`, { expected: `an amount of USD${inCredits}` });
  return null;
}

/** Whether a bare number can mean two amounts, such as `1.000`. `isUnclear` reports such a number. */
function isUnclear({ tree, path }: AmountOwner, key: string, report: Report): boolean {
  const at = valueAt(tree, key);
  const problem = at?.kind === 'scalar' && typeof at.value === 'number' ? problemOfNumber(at.source) : null;
  if (at?.kind !== 'scalar' || problem === null) return false;
  report.add('bad-form', at.place, `\`${path}.${key}\`: \`${at.source}\` ${sentencePart(problem)}`);
  return true;
}

const sentencePart = (sentence: string): string => sentence.replace(/\.$/, '');

/** Converts an amount to microcredits, rounded down; null if it is too large or too exact, which is reported. */
export function microcreditsOf(
  amount: StatedAmount,
  { tree, path }: AmountOwner,
  key: string,
  { usdPerCredit, report, converted }: AmountContext,
): Microcredits | null {
  const limit = toMicrocredits(amount, { bare: amount.unit, usdPerCredit });
  if (typeof limit === 'number') {
    if (amount.unit === 'USD') converted.push({ path: `${path}.${key}`, usd: plainText(amount.value), limit });
    return limit;
  }
  report.add('bad-form', placeAt(tree, key), `\`${path}.${key}\` ${sentencePart(limit.problem)}`);
  return null;
}

/** Whether an amount above 0 was rounded down to 0. */
export const roundsToNothing = (amount: StatedAmount, microcredits: Microcredits): boolean =>
  microcredits === 0 && amount.value.digits > 0n;
export const TOO_SMALL = 'is less than 0.000001 Credits, so it is rounded down to 0';

/**
 * Reads the amount at a key that counts Credits. A number counts as it is written, and a text is rounded down to a microcredit.
 * @param schema of the key
 * @returns Credits; null if there are none, or if they are wrong, which is reported
 */
export function creditsAt(schema: TSchema, owner: AmountOwner, key: string, context: AmountContext): number | null {
  const at = valueAt(owner.tree, key);
  if (at?.kind !== 'scalar') return null;
  const { report } = context;
  if (typeof at.value === 'number') return isUnclear(owner, key, report) ? null : at.value;
  const amount = amountAt(owner, key, report);
  const microcredits = amount && microcreditsOf(amount, owner, key, context);
  if (amount === null || microcredits === null) return null;
  const credits = toCredits(microcredits);
  if (roundsToNothing(amount, microcredits)) {
    report.add('out-of-range', at.place, `\`${owner.path}.${key}\` ${TOO_SMALL}`);
    return null;
  }
  return isWithin(schema, credits, 'Credits', { owner, key, report }) ? credits : null;
}

/** Reads the USD at a key, exactly; null if there are none, or if they are wrong, which is reported. @param schema of the key */
export function usdAt(schema: TSchema, owner: AmountOwner, key: string, report: Report): Decimal | null {
  const usd = amountAt(owner, key, report)?.value ?? null;
  const at = valueAt(owner.tree, key);
  const isText = at?.kind === 'scalar' && typeof at.value === 'string';
  return usd && (!isText || isWithin(schema, toNumber(usd), 'USD', { owner, key, report })) ? usd : null;
}

interface AmountPlace {
  readonly owner: AmountOwner;
  readonly key: string;
  readonly report: Report;
}

/** Whether a figure is within the bounds of an amount. `isWithin` reports a figure that is not. The schema itself checks bare numbers. */
export function isWithin(
  schema: TSchema,
  figure: number,
  unit: AmountUnit,
  { owner, key, report }: AmountPlace,
): boolean {
  const bounds: TSchema = schema.anyOf?.[0] ?? schema;
  if (Value.Check(bounds, figure)) return true;
  report.add('out-of-range', placeAt(owner.tree, key), `\`${owner.path}.${key}\` is ${decimalText(figure)} ${unit}`, {
    expected: `${limitsOf(bounds)} ${unit}`,
  });
  return false;
}
