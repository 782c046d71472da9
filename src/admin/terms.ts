import { Type } from '@sinclair/typebox';
import { BUDGET_CREDITS_MAX, LIMIT_MAX, ONE_LINE, TEXT_MAX } from '../access/terms.ts';
import { EXHAUSTED_ACTIONS, WINDOWS } from '../core/budget.ts';
import type { BudgetUse, KeyBudget } from '../core/caller.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import * as f from './kit/fields.ts';
import { budgetIn, durationIn } from './kit/texts.ts';

/** The terms that keys, teams and users have in common. */

/** A text that is kept and shown. */
export const keptText = (description: string, ...examples: string[]) =>
  f.formed(description, { maxLength: TEXT_MAX, pattern: ONE_LINE.source }, ...examples);

/** IDs of models; null for all. */
export const modelIds = (description: string) =>
  f.inCommand(f.orNull(f.list(keptText('The ID of a model.'), description, { minItems: 1 })), { none: 'all' });

const limit = (flag: string, description: string, example: number) =>
  f.inCommand(f.orNull(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, examples: [example] }), description), { flag });

export const limits = {
  requests_per_minute: limit('rpm', 'Requests a minute. Null if the policy sets the limit.', 60),
  tokens_per_minute: limit('tpm', 'Tokens a minute. Null if the policy sets the limit.', 100_000),
  concurrent_streams: limit('streams', 'Streams at once. Null if the policy sets the limit.', 4),
};

/** Limits of which each may be absent. */
export const LimitsInput = f.body(
  'Rate limits. The policy sets the limits that are absent or null.',
  f.allOptional(limits),
);

const budget = {
  limit_credits: f.as(
    'limit',
    f.credits('Credits that may be spent in each window.', 500, { minimum: 0, maximum: BUDGET_CREDITS_MAX }),
  ),
  window: f.word(WINDOWS, 'The length of a window. Weeks begin on Monday; `total` never ends.', 'month'),
  time_zone: Type.String({
    maxLength: 64,
    default: 'UTC',
    examples: ['Europe/Berlin'],
    description: 'IANA name of the zone in which windows begin.',
  }),
  on_exhausted: f.word(
    EXHAUSTED_ACTIONS,
    '`cap`, the default, caps the output at what is left. `downgrade` allows only models that still fit, while one does.',
  ),
};

export const Budget = f.shape('A budget.', budget);

export const BudgetInput = f.inCommand(
  f.body('A spending limit.', {
    limit_credits: budget.limit_credits,
    window: budget.window,
    ...f.allOptional({ time_zone: budget.time_zone, on_exhausted: budget.on_exhausted }),
  }),
  {
    form: 'CREDITS/WINDOW[@ZONE][:ACTION]',
    read: (text) => {
      const { limit, window, timeZone, onExhausted } = budgetIn(text);
      return { limit_credits: toCredits(limit), window, time_zone: timeZone, on_exhausted: onExhausted };
    },
  },
);

/** A budget as a body states it, with the defaults. */
export const wholeBudget = ({
  limit: most,
  window,
  timeZone = 'UTC',
  onExhausted = 'cap',
}: f.ValueOf<typeof BudgetInput>): KeyBudget => ({ limit: most, window, timeZone, onExhausted });

/** Two members for an amount: Credits, and their worth in USD. */
export const spent = (description: string, credits: number, dollars: string) => ({
  spent_credits: f.as('spent', f.credits(description, credits)),
  spent_usd: f.as('spent', f.usd('The same as `spent_credits`.', dollars)),
});
export const left = (description: string, credits: number, dollars: string) => ({
  left_credits: f.as('left', f.credits(description, credits)),
  left_usd: f.as('left', f.usd('The same as `left_credits`.', dollars)),
});

/** What is expected to be spent of a window by its end. */
export const forecast = (credits: number, dollars: string, from: string) => ({
  forecast_credits: f.as(
    'forecast',
    f.orNull(
      f.credits(
        'Credits that are expected to be charged by the end of the window: the rate so far, for all of it. Null before `forecast_from`, and for a total.',
        credits,
      ),
    ),
  ),
  forecast_usd: f.as('forecast', f.orNull(f.usd('The same as `forecast_credits`.', dollars))),
  forecast_from: f.orNull(f.moment('From when on there is a forecast: a tenth of the window; null for never.', from)),
});

/** A budget on the wire, as far as commands print it. */
interface ShownBudget {
  readonly limit_credits: number;
  readonly window: string;
  readonly time_zone: string;
  readonly on_exhausted: string;
  readonly spent_credits: number;
  readonly forecast_credits: number | null;
}

/** A budget with what is spent of it. */
export const BudgetStatus = f.inCommand(
  f.shape('A budget with what is spent of it.', {
    ...budget,
    ...spent('Charged in the current window.', 120.5, '0.1205'),
    ...left('What is left of it; running requests may hold some.', 379.5, '0.3795'),
    ...forecast(480.2, '0.4802', '2026-11-03T23:00:00.000Z'),
    renews_at: f.orNull(f.moment('When the next window begins; null for never.', '2026-11-30T23:00:00.000Z')),
  }),
  {
    text: ({ limit_credits, window, time_zone, on_exhausted, spent_credits, forecast_credits }: ShownBudget) => {
      const expected = forecast_credits === null ? '' : `, ${forecast_credits} expected by its end`;
      return `${spent_credits} of ${limit_credits} Credits spent in this ${window} (${time_zone})${expected}, then ${on_exhausted}`;
    },
  },
);

/** A budget as the ledger knows it. */
export const budgetStatus = ({ budget: terms, spent: used, forecast, renewsAt }: BudgetUse) => ({
  ...terms,
  spent: used,
  left: terms.limit - used,
  forecast: forecast.expected,
  forecastFrom: forecast.knownFrom,
  renewsAt: Number.isFinite(renewsAt) ? renewsAt : null,
});

/** Seconds on the wire, and `30d` in a command. */
export const inSeconds = <Schema extends Parameters<typeof f.inCommand>[0]>(field: Schema, flag: string) =>
  f.inCommand(field, { flag, form: '30d', read: (text) => durationIn(text) / 1_000 });

/** Credits that a grant adds to a balance. */
export const addedCredits = f.inCommand(
  f.credits('Credits to add, with at most 6 decimals and not 0. A negative amount takes Credits back.', 25, {
    minimum: -BUDGET_CREDITS_MAX,
    maximum: BUDGET_CREDITS_MAX,
    // For the document: `grantOf` refuses 0.
    not: { const: 0 },
  }),
  { isPositional: true, form: 'CREDITS' },
);

/** A grant by a body. @param amount microcredits @throws SignalboxError for 0 */
export const grantOf = (amount: Microcredits, note = '') =>
  amount === 0 ? f.refuse('credits', '`credits` must not be 0.') : { amount, note };
