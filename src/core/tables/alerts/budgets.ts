import { Type } from '@sinclair/typebox';
import { figure } from '../../define/fields.ts';
import { type Microcredits, toCredits } from '../../money/credits.ts';
import { usdWriter } from '../../money/usd.ts';
import type { AlertSubject } from '../../people/alert.ts';
import { DAY_MS, iso } from '../../time/clock.ts';
import { defineAlert } from './define.ts';
import { BUDGETS } from './keys.ts';
import { day, percent } from './words.ts';

/** A window of a budget for one subject. Times are ms since 1970. */
export interface BudgetWindowReading {
  readonly name: string;
  /** The subject, if the budget has a window for `each` subject; '' for a budget with only one window. */
  readonly subject: string;
  /** The name of the team, user or key; null for other subjects. */
  readonly called: string | null;
  /** The name of the budget and its subject, for sentences. */
  readonly title: string;
  readonly limit: Microcredits;
  readonly spent: Microcredits;
  readonly starts: number;
  /** The end of the window; Infinity for a window that never ends. */
  readonly ends: number;
  /** The amount that will be spent by the end of the window at the current rate; null if it cannot be computed yet. */
  readonly forecast: Microcredits | null;
  /** The least amount that a request needed which the budget refuses now, although it is not used up; null if it pays for requests. */
  readonly refused: Microcredits | null;
  /** The value of a Credit in USD; null if it is unknown. */
  readonly usdPerCredit: string | null;
}

interface BudgetReadings {
  /** The budgets are computed only when a rule needs them, because there may be many. */
  budgets(): readonly BudgetWindowReading[];
}

interface ShareRule {
  /** Names of the budgets that the alert watches; empty for all budgets. */
  readonly budgets: readonly string[];
  /** Shares of the limit, ascending, above 0 and at most 1. */
  readonly at: readonly number[];
}

export const budgetShare = defineAlert({
  on: 'budget_share',
  means: 'A budget has spent a share of its limit. One alert for each share in each window.',
  about: 'a budget that has spent a share of its limit',
  often: 'once for each share, subject and window',
  gathers: true,
  keys: {
    at: Type.Array(figure('A share of the limit: 0.8 is 80 %.', { exclusiveMinimum: 0, maximum: 1 }), {
      minItems: 1,
      maxItems: 16,
      default: [0.8, 1],
      examples: [[0.5, 0.8, 1]],
      description: 'the shares of the limit at which an alert is sent, above 0 and at most 1.',
    }),
    budgets: BUDGETS,
  },
  read: ({ at, budgets }): ShareRule => ({ budgets, at: [...new Set(at)].sort((one, other) => one - other) }),
  find({ at, budgets }, readings: BudgetReadings, found) {
    for (const one of watched(budgets, readings)) {
      // A budget that refuses requests counts as used up, although an amount that is too small for a request is left.
      const step = at.findLast((share) => one.spent >= share * one.limit || (share === 1 && one.refused !== null));
      if (step === undefined) continue;
      // A rule does not report a lower threshold after a higher threshold, even if the limit was raised in between.
      if (at.some((share) => share >= step && found.hasNoted(idOf(one, share)))) continue;
      found.note(idOf(one, step), {
        until: untilOf(one),
        line: shareText(one),
        details: { ...detailsOf(one), at: step },
      });
    }
  },
});

export const budgetForecast = defineAlert({
  on: 'budget_forecast',
  means: 'At its current rate a budget will spend more than its limit. One alert in each window.',
  about: 'a budget that would spend more than its limit at its current rate',
  often: 'once for each subject and window, after a tenth of the window, while the budget still pays for requests',
  gathers: true,
  keys: { budgets: BUDGETS },
  read: ({ budgets }) => ({ budgets }),
  find({ budgets }, readings: BudgetReadings, found) {
    for (const one of watched(budgets, readings)) {
      const { forecast, limit, spent, refused, usdPerCredit } = one;
      if (forecast === null || forecast <= limit || spent >= limit || refused !== null) continue;
      found.note(idOf(one, 'forecast'), {
        until: untilOf(one),
        line: `${nameText(one)} would spend ${amountText(forecast, one)} at its current rate, ${percent(forecast / limit)} of its limit; it has spent ${amountText(spent, one)}${renewalText(one)}.`,
        details: {
          ...detailsOf(one),
          forecast_credits: toCredits(forecast),
          forecast_usd: usdWriter(usdPerCredit)(forecast),
        },
      });
    }
  },
});

/** @param names of the budgets; none for all. @returns the fullest first */
const watched = (names: readonly string[], { budgets }: BudgetReadings): BudgetWindowReading[] =>
  budgets()
    .filter(({ name, limit }) => limit > 0 && (names.length === 0 || names.includes(name)))
    .sort((a, b) => b.spent / b.limit - a.spent / a.limit);

const idOf = ({ name, subject, starts }: BudgetWindowReading, step: number | 'forecast') =>
  [name, subject, starts, step] as const;

/** Stored as the end of a window that never ends: the last moment with a year of four digits. */
const FOREVER = Date.UTC(9999, 11, 31);
const untilOf = ({ ends }: BudgetWindowReading): number => Math.min(ends + DAY_MS, FOREVER);

/** Writes an amount with at least two decimals, and two digits that are not 0: `1,204.50`, `0.0031`. */
const rounded = (amount: number): string =>
  amount !== 0 && Math.abs(amount) < 0.1
    ? amount.toLocaleString('en', { maximumSignificantDigits: 2 })
    : amount.toLocaleString('en', { maximumFractionDigits: 2 });

/** Writes an amount in both units: `31,204.5 Credits (31.2 USD)`. */
function amountText(amount: Microcredits, { usdPerCredit }: BudgetWindowReading): string {
  const usd = usdPerCredit === null ? '' : ` (${rounded(toCredits(amount) * Number(usdPerCredit))} USD)`;
  const credits = rounded(toCredits(amount));
  return `${credits} ${credits === '1' ? 'Credit' : 'Credits'}${usd}`;
}

const nameText = ({ title }: BudgetWindowReading): string => `Budget “${title}”`;
const renewalText = ({ ends }: BudgetWindowReading): string =>
  Number.isFinite(ends) ? `; the budget renews at ${day(ends)}` : '';

const shareText = (one: BudgetWindowReading): string =>
  one.refused === null || one.spent >= one.limit
    ? `${nameText(one)} has spent ${percent(one.spent / one.limit)} of its ${amountText(one.limit, one)}${renewalText(one)}.`
    : `${nameText(one)} refuses requests: it has ${amountText(one.limit - one.spent, one)} left of ${amountText(one.limit, one)}, and a request needs ${amountText(one.refused, one)}${renewalText(one)}.`;

function detailsOf(one: BudgetWindowReading): AlertSubject {
  const { name, subject, called, limit, spent, starts, ends, usdPerCredit } = one;
  const usd = usdWriter(usdPerCredit);
  return {
    budget: name,
    subject,
    subject_name: called,
    spent_credits: toCredits(spent),
    spent_usd: usd(spent),
    limit_credits: toCredits(limit),
    limit_usd: usd(limit),
    window_starts: starts === 0 ? null : iso(starts),
    window_ends: Number.isFinite(ends) ? iso(ends) : null,
  };
}
