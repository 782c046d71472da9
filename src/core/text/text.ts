import { type Microcredits, toCredits } from '../money/credits.ts';
import { parseDecimal, plainText } from '../money/decimal.ts';

/** Writes a count with its noun: `1 model`, `2 models`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Writes an amount: `1 Credit`, `2,500.25 Credits`. */
export const creditsText = (amount: Microcredits): string => {
  const credits = toCredits(amount);
  return `${credits.toLocaleString('en', { maximumFractionDigits: 6 })} ${Math.abs(credits) === 1 ? 'Credit' : 'Credits'}`;
};

/** Writes a number in plain decimals, such as `0.0000001`. A small or large number as text may have an exponent: `1e-7`. */
export function decimalText(value: number): string {
  const decimal = parseDecimal(String(value));
  return decimal ? plainText(decimal) : String(value);
}

/** Returns the text with a capital first letter. */
export const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** Asks whether a known name was intended, for use within a sentence. */
export const didYouMean = (meant: string): string => `did you mean \`${meant}\`?`;

/** Splits a text into lines of at most `width` columns, at spaces. A word that is longer than `width` has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Converts camel case to snake case, the form in databases and bodies: `expiresAt` → `expires_at`. */
export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Joins words to a choice: `a, b or c`. */
export const either = (keys: readonly string[]): string => keys.join(', ').replace(/, ([^,]*)$/, ' or $1');

/** Joins words to a list: `a, b and c`. */
export const together = (words: readonly string[]): string => words.join(', ').replace(/, ([^,]*)$/, ' and $1');
