import type { ReadOf } from '../../api/reads.ts';
import { percent, timesText } from '../../design/format.ts';

/** Whether the period before the shown one has days of this installation, so that it can be compared with. */
export const isBeforeCounted = ({
  first_at: first,
  from,
}: Pick<ReadOf<'/admin/traffic'>, 'first_at' | 'from'>): boolean => first !== null && first < from;

interface SpendOfPeriods {
  readonly whole: { readonly credits: number };
  /** The spend in the period before; null if that spend is not known. */
  readonly before: { readonly credits: number } | null;
}

/** The change relative to the period before: `+18 %`, `4.2 ×`, `new`. */
export function partOf({ whole, before }: SpendOfPeriods): string {
  if (!before) return '';
  if (before.credits <= 0) return whole.credits > 0 ? 'new' : '';
  const times = whole.credits / before.credits;
  if (times >= 2) return `${timesText(times)} ×`;
  const share = Math.round((times - 1) * 100) / 100;
  if (share === 0) return 'same';
  return `${share > 0 ? '+' : '−'}${percent(Math.abs(share)).short}`;
}
