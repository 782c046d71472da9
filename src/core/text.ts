import { type Microcredits, toCredits } from './credits.ts';

/** `1 model`, `2 models`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `1 Credit`, `2,500.25 Credits`. */
export const creditsText = (amount: Microcredits): string => {
  const credits = toCredits(amount);
  return `${credits.toLocaleString('en', { maximumFractionDigits: 6 })} ${Math.abs(credits) === 1 ? 'Credit' : 'Credits'}`;
};

/** The text with a capital at its beginning. */
export const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** The question whether a known name was meant, in the middle of a sentence. */
export const didYouMean = (meant: string): string => `did you mean \`${meant}\`?`;

/** Lines of at most so many columns, broken between words; a longer word has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A name in camel case as databases and bodies have it: `expires_at` for `expiresAt`. */
export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
