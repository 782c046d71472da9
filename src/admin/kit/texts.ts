import { EXHAUSTED_ACTIONS, WINDOWS } from '../../core/budget.ts';
import type { KeyBudget } from '../../core/caller.ts';
import type { Microcredits } from '../../core/credits.ts';
import { UsageError } from '../../core/usage-error.ts';

/** This file reads and writes the short forms in which commands take values. */

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads `90m`, `12h`, `30d` or `0`.
 * @returns ms
 * @throws UsageError
 */
export function durationIn(text: string): number {
  if (text === '0') return 0;
  const [, amount, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (!amount) throw new UsageError(`A duration must look like 90m, 12h or 30d, not "${text}".`);
  return Number(amount) * UNITS_MS[unit]!;
}

/** Writes seconds in the form that `durationIn` reads. */
export function durationText(seconds: number): string {
  const unit = Object.keys(UNITS_MS).findLast((one) => (seconds * 1_000) % UNITS_MS[one]! === 0) ?? 'm';
  return seconds === 0 ? '0' : `${(seconds * 1_000) / UNITS_MS[unit]!}${unit}`;
}

/** An amount has at most six decimals. */
const CREDITS = /^(-?)(\d{1,9})(?:\.(\d{1,6}))?$/;

/**
 * Reads Credits as people write them.
 * @returns the exact number of microcredits; null for other texts
 */
export function creditsIn(text: string): Microcredits | null {
  const [, sign, whole = '', fraction = ''] = CREDITS.exec(text) ?? [];
  if (sign === undefined) return null;
  const amount = Number(whole + fraction.padEnd(6, '0'));
  return sign === '-' ? -amount : amount;
}

const BUDGET = new RegExp(`^([\\d.]+)/(${WINDOWS.join('|')})(?:@(.+?))?(?::(${EXHAUSTED_ACTIONS.join('|')}))?$`);

/** Reads a budget such as `500/month`, `500/month@Europe/Berlin` or `500/month@Europe/Berlin:downgrade`. @throws UsageError */
export function budgetIn(text: string): KeyBudget {
  const [, credits = '', name, timeZone = 'UTC', action] = BUDGET.exec(text) ?? [];
  const window = WINDOWS.find((known) => known === name);
  const limit = creditsIn(credits);
  if (!window || limit === null) {
    throw new UsageError(
      `A budget must look like 500/month, 20/day@Europe/Berlin or 500/total:downgrade, not "${text}". The windows are ${WINDOWS.join(', ')}. The actions after the colon are ${EXHAUSTED_ACTIONS.join(', ')}.`,
    );
  }
  const onExhausted = EXHAUSTED_ACTIONS.find((known) => known === action) ?? 'cap';
  return { limit, window, timeZone, onExhausted };
}
