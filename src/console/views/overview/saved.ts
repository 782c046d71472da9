import { usd, type WrittenFigure } from '../../design/format.ts';

/** Names what was saved, or what was spent more than the baseline, so that no figure of savings is negative. */
export const savedLabel = (savedCredits: number): string => (savedCredits < 0 ? 'More than the baseline' : 'Saved');

/** Writes an amount that `savedLabel` names. @param amount USD */
export const savedFigure = (amount: string): WrittenFigure => usd(amount.replace('-', ''));
