import { type AmountTerms, clearNumber, parseAmount, readAmount, toMicrocredits } from '../../core/money/amount.ts';
import { toCredits } from '../../core/money/credits.ts';
import { parseDecimal, plainText } from '../../core/money/decimal.ts';
import { creditsText, decimalText } from '../../core/text/text.ts';

/** The terms of the amounts that a viewer types: a number without a unit is in USD. */
export const amountTerms = (usdPerCredit: string | null): AmountTerms => ({
  bare: 'USD',
  usdPerCredit: usdPerCredit === null ? null : parseDecimal(usdPerCredit),
});

/** Says what a typed amount is in Credits, or what is wrong with it; undefined for an empty text. */
export function amountNote(text: string, terms: AmountTerms): string | undefined {
  if (text.trim() === '') return undefined;
  const amount = readAmount(text, terms);
  return typeof amount === 'number' ? `= ${creditsText(amount)}` : `This ${amount.problem}`;
}

/** Why a typed text is not an amount; null if it is one, or empty. */
export function amountProblem(text: string, terms: AmountTerms): string | null {
  const amount = text.trim() === '' ? 0 : readAmount(text, terms);
  return typeof amount === 'number' ? null : `This ${amount.problem}`;
}

/**
 * Converts a typed amount to the number of Credits that requests state: USD are rounded down to a microcredit, and Credits count as written.
 * @returns undefined for an empty text; the text itself if it is not an amount, so that the server refuses it
 */
export function creditsToSend(text: string, terms: AmountTerms): number | string | undefined {
  if (text.trim() === '') return undefined;
  const amount = parseAmount(text);
  if ('problem' in amount) return text.trim();
  if ((amount.unit ?? terms.bare) === 'Credits') return Number(plainText(amount.value));
  const microcredits = toMicrocredits(amount, terms);
  return typeof microcredits === 'number' ? toCredits(microcredits) : text.trim();
}

/** Writes a number of Credits as a viewer types it. */
export const typedCredits = (credits: number): string => `${clearNumber(decimalText(credits))} Credits`;

/** Writes a typed amount for the server, which takes a number without a unit as Credits. */
export function amountToSend(text: string): string {
  const amount = parseAmount(text);
  const isBare = 'problem' in amount ? !/[a-z$]/i.test(text) : amount.unit === null;
  return isBare && text.trim() !== '' ? `${text.trim()} USD` : text.trim();
}
