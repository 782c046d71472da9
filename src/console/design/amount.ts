import { clearNumber, parseAmount } from '../../core/money/amount.ts';
import { plainText } from '../../core/money/decimal.ts';
import { decimalText } from '../../core/text/text.ts';

/** Why a typed text is not an amount; null if it is one, or empty. The server converts amounts, and can refuse others. */
export function amountProblem(text: string): string | null {
  const amount = text.trim() === '' ? null : parseAmount(text);
  return amount && 'problem' in amount ? `This ${amount.problem}` : null;
}

/** The sign of a typed amount; null if the text is not an amount. */
export function signOf(text: string): number | null {
  const amount = parseAmount(text);
  return 'problem' in amount ? null : Math.sign(Number(amount.value.digits));
}

/**
 * The number of Credits that a request states for a typed amount. Amounts in Credits count as written.
 * @param converted the amount in Credits, as the server converted it; null if it did not
 * @returns undefined for an empty text; the text itself if it was not converted, so that the server refuses it
 */
export function creditsToSend(text: string, converted: number | null): number | string | undefined {
  if (text.trim() === '') return undefined;
  const amount = parseAmount(text);
  if (!('problem' in amount) && amount.unit === 'Credits') return Number(plainText(amount.value));
  return converted ?? text.trim();
}

/** Writes a number of Credits as a viewer types it. */
export const typedCredits = (credits: number): string => `${clearNumber(decimalText(credits))} Credits`;

/** Writes a typed amount for the server, which takes a number without a unit as Credits. A viewer types such a number for USD. */
export function amountToSend(text: string): string {
  const amount = parseAmount(text);
  const isBare = 'problem' in amount ? !/[a-z$]/i.test(text) : amount.unit === null;
  return isBare && text.trim() !== '' ? `${text.trim()} USD` : text.trim();
}
