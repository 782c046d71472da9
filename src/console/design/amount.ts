import { type AmountTerms, parseAmount, readAmount } from '../../core/money/amount.ts';
import { parseDecimal } from '../../core/money/decimal.ts';
import { creditsText } from '../../core/text/text.ts';

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

/** Writes a typed amount for the server, which takes a number without a unit as Credits. */
export function amountToSend(text: string): string {
  const amount = parseAmount(text);
  const isBare = 'problem' in amount ? !/[a-z$]/i.test(text) : amount.unit === null;
  return isBare && text.trim() !== '' ? `${text.trim()} USD` : text.trim();
}
