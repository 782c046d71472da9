import { figure } from '../design/format.ts';
import { range } from './range.ts';

/** `7 days before`: the period that one of the page is compared with. */
export const periodBefore = (): string => {
  const { label } = range.value;
  return `${label.startsWith('Last ') ? label.slice('Last '.length) : 'period'} before`;
};

/** `5.3`, `12`: more digits than people compare by are left out. */
export const timesText = (times: number): string =>
  figure(times < 10 ? Math.round(times * 10) / 10 : Math.round(times)).short;

/** Beyond it there was next to nothing before, and a ratio says no more. */
const TIMES_MAX = 100;

/** `12 % above the 24 hours before`, `5.3 times the 24 hours before`; empty where there is nothing to compare with. */
export function compared(now: number, then: number | null): string {
  if (then === null || then === 0) return '';
  const part = now / then - 1;
  if (Math.abs(part) < 0.005) return `as in the ${periodBefore()}`;
  if (now / then > TIMES_MAX) return `next to nothing in the ${periodBefore()}`;
  if (part >= 1) return `${timesText(now / then)} times the ${periodBefore()}`;
  return `${Math.round(Math.abs(part) * 100)} % ${part > 0 ? 'above' : 'below'} the ${periodBefore()}`;
}
