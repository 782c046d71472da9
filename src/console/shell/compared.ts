import { timesText } from '../design/format.ts';
import { range } from './range.ts';

/** Names the period before the selected one, to compare with: `7 days before`. */
export const periodBefore = (): string => {
  const { label } = range.value;
  return `${label.startsWith('Last ') ? label.slice('Last '.length) : 'period'} before`;
};

/** Above this ratio the earlier period had almost nothing, so a ratio is meaningless. */
const TIMES_MAX = 100;

/**
 * Compares a figure with the period before: `12 % above the 24 hours before`, `5.3 times the 24 hours before`. The result is empty if there
 * is nothing to compare with.
 */
export function compared(now: number, then: number | null): string {
  if (then === null || then === 0) return '';
  const part = now / then - 1;
  if (Math.abs(part) < 0.005) return `the same as in the ${periodBefore()}`;
  if (now / then > TIMES_MAX) return `almost nothing in the ${periodBefore()}`;
  if (part >= 1) return `${timesText(now / then)} times the ${periodBefore()}`;
  return `${Math.round(Math.abs(part) * 100)} % ${part > 0 ? 'above' : 'below'} the ${periodBefore()}`;
}
