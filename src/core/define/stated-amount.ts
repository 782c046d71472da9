import type { NumberOptions } from '@sinclair/typebox';
import { refuse } from '../errors.ts';
import { type AmountTerms, clearNumber, parseAmount, readAmount } from '../money/amount.ts';
import { type Microcredits, toCredits } from '../money/credits.ts';
import { exactMillionths } from '../money/exact-millionths.ts';
import { decimalText } from '../text/text.ts';

/** The bounds of an amount, in Credits. */
export interface AmountBounds extends NumberOptions {
  readonly minimum: number;
  readonly maximum: number;
}

/**
 * Reads an amount of a request: a number in the unit `bare`, or a text. A field in USD refuses Credits.
 * @param path of the field
 * @throws SignalboxError
 */
export function microcreditsIn(
  value: unknown,
  path: string,
  terms: AmountTerms,
  { minimum, maximum }: AmountBounds,
): Microcredits {
  if (typeof value === 'number' && terms.bare === 'Credits') return exactMillionths(value, path);
  // A number of JSON has a decimal point.
  const text = typeof value === 'number' ? clearNumber(decimalText(value)) : String(value);
  const stated = parseAmount(text);
  if (!('problem' in stated) && stated.unit === 'Credits' && terms.bare === 'USD') {
    refuse(path, `\`${path}\` takes USD. For Credits, use \`${path.replace(/_usd$/, '_credits')}\`.`);
  }
  const read = readAmount(text, terms);
  if (typeof read !== 'number') return refuse(path, `\`${path}\`: \`${text.replaceAll('`', '')}\` ${read.problem}`);
  const credits = toCredits(read);
  if (credits >= minimum && credits <= maximum) return read;
  return refuse(path, `\`${path}\` must be from ${minimum} to ${maximum} Credits.`, 'out_of_range');
}
