import { type Microcredits, toCredits } from './credits.ts';

/** `1 model`, `2 models`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `1 Credit`, `2,500.25 Credits`. */
export const creditsText = (amount: Microcredits): string => {
  const credits = toCredits(amount);
  return `${credits.toLocaleString('en', { maximumFractionDigits: 6 })} ${Math.abs(credits) === 1 ? 'Credit' : 'Credits'}`;
};
