import { MICROCREDITS, type Microcredits } from './credits.ts';
import { type Decimal, parseDecimal, plainText } from './decimal.ts';

/** An amount of money in a text, as people write it. Its number is exact. */
export interface Amount {
  readonly value: Decimal;
  /** The unit in the text; null if the text has only a number. */
  readonly unit: AmountUnit | null;
}
export type AmountUnit = 'USD' | 'Credits';

/** Why a text is not an amount: the end of a sentence that begins with the text or the name of its field, with what would be right. */
export interface AmountProblem {
  readonly problem: string;
}

/** The facts that convert an amount to Credits. */
export interface AmountTerms {
  /** The unit of a number without a unit. */
  readonly bare: AmountUnit;
  /** The worth of a Credit; null if it is unknown, and then no amount of USD can be converted. */
  readonly usdPerCredit: Decimal | null;
}

/** The most USD that a policy may state as the worth of one Credit. */
export const USD_PER_CREDIT_MAX = 1_000;

/** The most characters of an amount. */
export const AMOUNT_LENGTH_MAX = 64;

const UNIT = String.raw`(us\$|\$|usd|dollars?|credits?)`;
const FORM = new RegExp(String.raw`^(-?)${UNIT}? ?(-?)(\d(?:[\d.,]*\d)?) ?${UNIT}?$`, 'i');
const GROUPED = /^(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?$/;
/** A number such as `1.000`, whose point can also separate groups of three digits. */
const AMBIGUOUS = /^[1-9]\d{0,2}\.\d{3}$/;
/** An amount in another currency, such as `20 EUR` or `£20`. */
const FOREIGN = /^-?(?:(?:[a-z]{3}|\p{Sc}) ?\d[\d.,]{0,60}|\d[\d.,]{0,60} ?(?:[a-z]{3}|\p{Sc}))$/iu;
const FORMS = 'an amount such as 20, 20.50, 20,000, $20 or 20 USD';

/**
 * Reads an amount such as `20`, `20,000`, `$20`, `20 USD` or `1,204.5 Credits`, perhaps with a minus. Commas may stand only between groups
 * of three digits, so that a decimal comma is never read as a separator. A point before exactly three digits can be either, as in `1.000`.
 * @returns the amount, or what is wrong with the text and all numbers that it can mean
 */
export function parseAmount(text: string): Amount | AmountProblem {
  const [, minus, before, inner, number = '', after] =
    text.length > AMOUNT_LENGTH_MAX ? [] : (FORM.exec(text.trim()) ?? []);
  const [first, last] = [unitOf(before), unitOf(after)];
  if (number === '' || (minus && inner) || (first && last && first !== last)) {
    const problem = FOREIGN.test(text.trim()) ? 'is neither in USD nor in Credits' : 'is not an amount';
    return { problem: `${problem}. Write ${FORMS}.` };
  }
  const unit = first ?? last;
  const sign = minus || inner || '';
  const isClear = GROUPED.test(number) && !AMBIGUOUS.test(number);
  const value = isClear ? parseDecimal(sign + number.replaceAll(',', '')) : null;
  return value ? { value, unit } : { problem: readingsText(number, sign, unit) };
}

const unitOf = (text: string | undefined): AmountUnit | null =>
  text === undefined ? null : /^c/i.test(text) ? 'Credits' : 'USD';

/** Describes what a number with misplaced separators can mean: one reading has a decimal point, the other a decimal comma. */
function readingsText(number: string, sign: string, unit: AmountUnit | null): string {
  const withPoint = parseDecimal(number.replaceAll(',', ''));
  const withComma = parseDecimal(number.replaceAll('.', '').replace(',', '.'));
  const readings = [withComma, withPoint].flatMap((one) =>
    one ? `${sign}${clearNumber(grouped(plainText(one)))}` : [],
  );
  const shown = [...new Set(readings)].map((one) => (unit === null ? one : `${one} ${unit}`));
  if (shown.length === 0) return `is not an amount. Write ${FORMS}.`;
  const rule = 'A comma may stand only between groups of three digits, and decimals follow a point.';
  return shown.length === 1
    ? `has separators in wrong places. Write ${shown[0]}. ${rule}`
    : `can mean ${shown.join(' or ')}. Write one of the two. ${rule}`;
}

/** Writes a number so that `parseAmount` reads it as it is: `1.234` as `1.2340`, because its point could separate groups. */
export const clearNumber = (number: string): string =>
  AMBIGUOUS.test(number.replace('-', '')) ? `${number}0` : number;

/**
 * The meaning of a number in a file in addition to its value: the end of a sentence, or null for a clear number. Programs write no zero at the end of
 * decimals, so that only a person who means thousands writes `1.500`.
 */
export const problemOfNumber = (source: string): string | null =>
  AMBIGUOUS.test(source) && source.endsWith('0') ? readingsText(source, '', null) : null;

/** Writes the digits of a decimal in groups: `1,204.5`. */
export const grouped = (digits: string): string => {
  const [whole = '', fraction] = digits.split('.');
  const groups = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
};

/**
 * Converts an amount to microcredits. USD are rounded down to a microcredit: a negative amount of USD is rounded towards 0. Credits are never
 * rounded.
 */
export function toMicrocredits(
  { value, unit }: Amount,
  { bare, usdPerCredit }: AmountTerms,
): Microcredits | AmountProblem {
  const isUsd = (unit ?? bare) === 'USD';
  if (isUsd && usdPerCredit === null) {
    return { problem: 'cannot be given in USD before a policy states what a Credit is worth. Give it in Credits.' };
  }
  const worth = (isUsd && usdPerCredit) || ONE;
  const above = value.digits * BigInt(MICROCREDITS) * 10n ** BigInt(worth.scale);
  const below = worth.digits * 10n ** BigInt(value.scale);
  if (!isUsd && above % below !== 0n) return { problem: 'may have at most 6 decimals in Credits.' };
  const microcredits = Number(above / below);
  return Number.isSafeInteger(microcredits) ? microcredits : { problem: 'is too large.' };
}

const ONE: Decimal = { digits: 1n, scale: 0 };

/** Reads an amount and converts it to microcredits. */
export function readAmount(text: string, terms: AmountTerms): Microcredits | AmountProblem {
  const amount = parseAmount(text);
  return 'problem' in amount ? amount : toMicrocredits(amount, terms);
}
