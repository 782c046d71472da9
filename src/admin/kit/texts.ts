import { QUARTER_MS, quarterOf, windowAt } from '../../core/accounting/window.ts';
import { parseAmount } from '../../core/money/amount.ts';
import { EXHAUSTED_ACTIONS, WINDOWS } from '../../core/money/budget.ts';
import { iso, parseMoment } from '../../core/time/clock.ts';
import { isTimeZone } from '../../core/time/zoned-time.ts';
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

/** The rest of a message about an amount without its first digits. */
const SHELL = ' In double quotes, a shell replaces `$20`: use single quotes, or write 20USD.';

const BUDGET = new RegExp(`^([^/]+)/(${WINDOWS.join('|')})(?:@(.+?))?(?::(${EXHAUSTED_ACTIONS.join('|')}))?$`);

/**
 * Reads a budget such as `500/month`, `20USD/month@Europe/Berlin` or `20,000/month@Europe/Berlin:downgrade`.
 * @returns the JSON form of the budget, with the amount as it is written
 * @param words the windows that the error lists
 * @throws UsageError
 */
export function budgetIn(text: string, words: readonly string[] = WINDOWS) {
  const [, amount = '', name, zone = 'UTC', action = 'cap'] = BUDGET.exec(text) ?? [];
  const window = WINDOWS.find((known) => known === name);
  if (!window) {
    const hint = /^[/.]/.test(text) ? SHELL : '';
    throw new UsageError(
      `A budget must look like 500/month, 20USD/day@Europe/Berlin or 20,000/total:downgrade, not "${text}". The windows are ${words.join(', ')}. The actions after the colon are ${EXHAUSTED_ACTIONS.join(', ')}.${hint}`,
    );
  }
  const read = parseAmount(amount);
  if ('problem' in read) throw new UsageError(`"${amount}" ${read.problem}${amount.startsWith('.') ? SHELL : ''}`);
  return { limit_credits: amount, window, time_zone: zone, on_exhausted: action };
}

/** A budget with windows of one length, such as `20USD/30d@2026-11-12T08:00Z`. */
const ROLLING = new RegExp(`^([^/]+)/(\\d+)([mhd])(?:@(.+?))?(?::(${EXHAUSTED_ACTIONS.join('|')}))?$`);

function rollingBudgetIn([, amount, count, unit, from, action]: RegExpExecArray, now: number) {
  const begins = from === undefined ? quarterOf(now) * QUARTER_MS : parseMoment(from);
  if (begins === null) {
    throw new UsageError(`A window begins at a moment such as 2026-11-12T08:00Z, not "${from}".`);
  }
  const budget = budgetIn(`${amount}/total${action === undefined ? '' : `:${action}`}`);
  const every = { seconds: durationIn(`${count}${unit}`) / 1_000, from: iso(begins) };
  return { ...budget, window: 'every' as const, every };
}

/** Windows that end with the current day, week or month. */
const CURRENT = { today: 'day', 'this-week': 'week', 'this-month': 'month' } as const;
const CURRENT_WINDOW = new RegExp(`/(${Object.keys(CURRENT).join('|')})(?=[@:]|$)`);

/**
 * Reads a budget like `budgetIn`, and also a budget that ends with the current window, such as `20USD/today@Europe/Berlin`.
 * @param now ms since 1970
 */
export function keyBudgetIn(text: string, now = Date.now()) {
  const rolling = ROLLING.exec(text);
  if (rolling) return rollingBudgetIn(rolling, now);
  const word = Object.entries(CURRENT).find(([name]) => name === CURRENT_WINDOW.exec(text)?.[1]);
  if (!word) return budgetIn(text, [...WINDOWS, ...Object.keys(CURRENT)]);
  const [, window] = word;
  const budget = budgetIn(text.replace(CURRENT_WINDOW, `/${window}`));
  if (!isTimeZone(budget.time_zone)) return budget;
  return { ...budget, until: iso(windowAt(window, budget.time_zone, now).ends) };
}
