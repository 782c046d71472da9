import { type TSchema, Type } from '@sinclair/typebox';
import {
  BUDGET_CREDITS_MAX,
  EVERY_MAX_S,
  LIMIT_MAX,
  NO_LIMITS,
  ONE_LINE,
  statedLimits,
  TEXT_MAX,
} from '../access/terms.ts';
import type { ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { refuse } from '../core/errors.ts';
import { EXHAUSTED_ACTIONS, KEY_WINDOWS, WINDOWS } from '../core/money/budget.ts';
import { bothAmounts, budgetTermsText, type StatedBudget } from '../core/money/budget-words.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { KeyBudget as BudgetOfKey, BudgetUse } from '../core/people/caller.ts';
import type { HolderTerms, MemberTerms } from '../core/people/people.ts';
import { UsageError } from '../core/usage-error.ts';
import { budgetIn, durationIn, durationText, keyBudgetIn } from './kit/texts.ts';
import { withoutNull } from './kit/values.ts';

/** This file has the terms that keys, teams and users have in common. */

/** A text that the database stores and that people see. */
export const keptText = (description: string, ...examples: string[]) =>
  f.formed(description, { maxLength: TEXT_MAX, pattern: ONE_LINE.source }, ...examples);

/**
 * Earlier versions used the value `none` to remove a term; now `--no-…` removes a term. The commands refuse `none` with a hint instead of
 * storing the word.
 */
const NONE = { noValues: ['none'] } as const;

/** A member whose value the command removes with `--no-…`. */
export const removable = <Schema extends TSchema>(field: Schema) => f.inCommand(f.orNull(field), NONE);

/** IDs of models; null for all. A request to the API can name a model `all` or `none`, but a command cannot. */
export const modelIds = (description: string) =>
  f.inCommand(f.orNull(f.list(keptText('The ID of a model.'), description, { minItems: 1 })), {
    none: 'all',
    noValues: ['all', 'none'],
  });

/** IDs of models; null for none. */
export const deniedIds = (description: string) =>
  f.inCommand(f.orNull(f.list(keptText('The ID of a model.'), description, { minItems: 1 })), {
    none: 'none',
    noValues: ['all', 'none'],
  });

const limit = (flag: string, description: string, example: number) =>
  f.inCommand(f.orNull(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, examples: [example] }), description), {
    ...NONE,
    flag,
  });

export const limits = {
  requests_per_minute: limit('rpm', 'Requests per minute. Null for no limit at this level.', 60),
  tokens_per_minute: limit('tpm', 'Tokens per minute. Null for no limit at this level.', 100_000),
  concurrent_streams: limit('streams', 'Streams that run at the same time. Null for no limit at this level.', 4),
};

/** Rate limits, each of which may be absent. */
export const LimitsInput = f.closed('Rate limits. Null for no limit at this level.', f.allOptional(limits));

const limitBounds = { minimum: 0, maximum: BUDGET_CREDITS_MAX };
const everyLength = Type.Integer({
  minimum: 900,
  maximum: EVERY_MAX_S,
  multipleOf: 900,
  examples: [2_592_000],
  description: 'The length of a window, in seconds.',
});
const every = f.shape('Windows of one length, for the window `every`.', {
  seconds: everyLength,
  from: f.moment('When one of the windows begins, on a quarter of an hour.', '2026-11-12T08:00:00.000Z'),
});
const window = f.word(
  KEY_WINDOWS,
  'The length of a window. Weeks begin on Monday; `total` never ends; `every` has the length in `every`.',
  'month',
);
const budget = {
  limit_credits: f.as('limit', f.credits('Credits that may be spent in each window.', 500, limitBounds)),
  limit_usd: f.as('limit', f.usd('The same as `limit_credits`.', '0.5')),
  window,
  every: f.optional(every),
  time_zone: Type.String({
    maxLength: 64,
    default: 'UTC',
    examples: ['Europe/Berlin'],
    description: 'IANA name of the time zone in which windows begin.',
  }),
  on_exhausted: f.word(
    EXHAUSTED_ACTIONS,
    '`cap`, the default, limits the output to the amount that is left. `downgrade` allows only models that the amount that is left can pay for, as long as there is one.',
  ),
};

export const Budget = f.inCommand(f.shape('A budget.', budget), {
  text: budgetTermsText,
});

const LIMIT = 'The amount that may be spent in each window.';
const budgetInput = {
  ...f.allOptional({
    limit_credits: f.as('limit', f.amount(LIMIT, 500, limitBounds)),
    limit_usd: f.as('limit', f.amount(`${LIMIT} Instead of \`limit_credits\`.`, 20, limitBounds, 'USD')),
  }),
  window: f.word(WINDOWS, 'The length of a window. Weeks begin on Monday; `total` never ends.', 'month'),
  ...f.allOptional({ time_zone: budget.time_zone, on_exhausted: budget.on_exhausted }),
};
export const BudgetInput = f.inCommand(f.exactlyOne(f.closed('A spending limit.', budgetInput), 'limit'), {
  form: 'AMOUNT/WINDOW[@ZONE][:ACTION]',
  read: budgetIn,
});

const ending = {
  until: f.optional(
    f.moment(
      'When the budget ends; absent for never. Until then, budgets of the key with the same `window` and without `until` do not apply.',
      '2030-01-01T00:00:00.000Z',
    ),
  ),
};
const opening = f.optional(
  f.shape(
    'What the key spent at another gateway, from which it was imported. It counts in the budget and in no report.',
    {
      spent_credits: f.as('spent', f.credits('The amount.', 12.5)),
      until: f.orNull(
        f.moment(
          'The end of the window in which it counts; null for a window that never ends.',
          '2026-12-12T08:00:00.000Z',
        ),
      ),
    },
  ),
);
const ofKey = { ...budget, ...ending, opening };
export const KeyBudget = f.inCommand(f.shape('A budget of a key.', ofKey), {
  text: budgetTermsText,
});

const everyInput = f.closed('Windows of one length, for the window `every`.', { ...every.properties });
export const KeyBudgetInput = f.inCommand(
  f.exactlyOne(
    f.closed('A spending limit of a key.', { ...budgetInput, window, every: f.optional(everyInput), ...ending }),
    'limit',
  ),
  { form: 'AMOUNT/WINDOW[@ZONE][:ACTION]', read: (text) => keyBudgetIn(text) },
);

/**
 * Returns the budgets of a key from a request, with the defaults filled in.
 * @param now ms since 1970
 * @throws SignalboxError for a budget that has ended already
 */
export const keyBudgetsIn = (budgets: readonly ValueOf<typeof KeyBudgetInput>[], now: number): readonly BudgetOfKey[] =>
  budgets.map(({ until, every, ...stated }, at) => {
    const whole = { ...wholeBudget(stated), ...(every && { every }) };
    if (until === undefined) return whole;
    if (until > now) return { ...whole, until };
    return refuse(`budgets[${at}].until`, 'The end of a budget must be in the future.');
  });

/** Returns the budgets of a key after a change. Budgets that all have an end leave the budgets without an end as they are. */
export const changedBudgets = (
  before: readonly BudgetOfKey[],
  stated: readonly BudgetOfKey[],
): readonly BudgetOfKey[] => {
  const areEnding = stated.length > 0 && stated.every(({ until }) => until !== undefined);
  const opened = stated.map((budget) => {
    const { opening } = before.find((one) => isSameWindow(one, budget)) ?? {};
    return opening ? { ...budget, opening } : budget;
  });
  return areEnding ? [...before.filter(({ until }) => until === undefined), ...opened] : opened;
};

const isSameWindow = (one: BudgetOfKey, other: BudgetOfKey): boolean =>
  one.window === other.window &&
  one.timeZone === other.timeZone &&
  one.every?.seconds === other.every?.seconds &&
  one.every?.from === other.every?.from;

/** A budget from a request, with the defaults filled in. */
export const wholeBudget = ({
  limit: most,
  window,
  timeZone = 'UTC',
  onExhausted = 'cap',
}: Omit<ValueOf<typeof BudgetInput>, 'window'> & Pick<BudgetOfKey, 'window'>): BudgetOfKey => ({
  limit: most,
  window,
  timeZone,
  onExhausted,
});

/** Two members for an amount: Credits, and their value in USD. */
export const spent = (description: string, credits: number, dollars: string) => ({
  spent_credits: f.as('spent', f.credits(description, credits)),
  spent_usd: f.as('spent', f.usd('The same as `spent_credits`.', dollars)),
});
export const left = (description: string, credits: number, dollars: string) => ({
  left_credits: f.as('left', f.credits(description, credits)),
  left_usd: f.as('left', f.usd('The same as `left_credits`.', dollars)),
});

/** The amount that will probably be spent by the end of a window. */
export const forecast = (credits: number, dollars: string, from: string) => ({
  forecast_credits: f.as(
    'forecast',
    f.orNull(
      f.credits(
        'Credits that will probably be charged by the end of the window at the average rate of the window or at the rate of the last 24 hours, whichever is more. Null before `forecast_from`, and for a total.',
        credits,
      ),
    ),
  ),
  forecast_usd: f.as('forecast', f.orNull(f.usd('The same as `forecast_credits`.', dollars))),
  forecast_from: f.orNull(f.moment('When the forecast begins: after a tenth of the window; null for never.', from)),
});

/** The members of a JSON budget that commands print. */
interface SpentBudget extends StatedBudget {
  readonly spent_credits: number;
  readonly spent_usd: string | null;
  readonly forecast_credits: number | null;
  readonly forecast_usd: string | null;
}

/** A budget with the amount that is spent. */
const status = {
  ...budget,
  ...spent('Charged in the current window.', 120.5, '0.1205'),
  ...left('The amount that is left. Running requests may hold a part of it.', 379.5, '0.3795'),
  ...forecast(480.2, '0.4802', '2026-11-03T23:00:00.000Z'),
  renews_at: f.orNull(f.moment('When the next window begins; null for never.', '2026-11-30T23:00:00.000Z')),
};
const statusText = {
  text: ({ spent_credits, spent_usd, forecast_credits, forecast_usd, ...budget }: SpentBudget) => {
    const forecast = forecast_credits === null ? '' : bothAmounts(forecast_credits, forecast_usd);
    const expected = forecast && `, ${forecast} expected by the end of the window`;
    return `${budgetTermsText(budget)}: ${bothAmounts(spent_credits, spent_usd)} spent in this window${expected}`;
  },
};
export const BudgetStatus = f.inCommand(f.shape('A budget with the amount that is spent.', status), statusText);
export const KeyBudgetStatus = f.inCommand(
  f.shape('A budget of a key with the amount that is spent.', { ...status, ...ending, opening }),
  statusText,
);

/** Returns a budget with its use, as the ledger reports the use. */
export const budgetStatus = ({ budget: terms, spent: used, forecast, renewsAt }: BudgetUse) => ({
  ...terms,
  spent: used,
  left: terms.limit - used,
  forecast: forecast.expected,
  forecastFrom: forecast.knownFrom,
  renewsAt: Number.isFinite(renewsAt) ? renewsAt : null,
});

/**
 * A whole number of seconds in JSON, and a duration such as `30d` in a command.
 * @param help describes the flag
 */
export function inSeconds<Schema extends TSchema>(field: Schema, flag: string, help?: string): Schema {
  const { minimum, maximum } = withoutNull(field);
  const read = (text: string) => {
    const seconds = durationIn(text) / 1_000;
    if (seconds >= minimum && seconds <= maximum) return seconds;
    throw new UsageError(
      `A duration must be from ${durationText(minimum)} to ${durationText(maximum)}, not "${text}".`,
    );
  };
  return f.inCommand(field, { flag, form: '30d', read, ...(help !== undefined && { help }) });
}

/**
 * The terms of a team or a user, in a request.
 * @param none what null means
 */
const holderInput = (none: string) => ({
  models: modelIds(`IDs of the models that requests may use; null for ${none}.`),
  limits: f.orNull(LimitsInput, `Rate limits for all keys together; null for ${none}. Absent limits stay unchanged.`),
  budgets: removable(f.list(BudgetInput, `Budgets for all keys together; null for ${none}.`)),
});
const NO_LIMIT = 'no limit at this level';
const INHERITED = 'the defaults for members';
export const teamInput = holderInput(NO_LIMIT);
export const userInput = holderInput(INHERITED);
export const MemberTermsInput = f.closed(
  'Terms for each member that has no terms of its own; null for none.',
  f.allOptional(teamInput),
);
/** Changed terms in a request. An absent member stays unchanged, null removes a term. */
export type TermsPatch = ValueOf<typeof MemberTermsInput>;

/** The terms of a team or a user, in an answer. */
const holderTerms = (none: string, inherited?: string) => ({
  models: f.inCommand(f.orNull(f.list(Type.String(), `IDs of the models that requests may use; null for ${none}.`)), {
    none: inherited ?? 'all',
  }),
  limits: f.inCommand(f.orNull(f.shape(`Rate limits for all keys together; null for ${none}.`, limits)), {
    ...(inherited && { none: inherited }),
  }),
});
export const teamTerms = { ...holderTerms(NO_LIMIT), budgets: f.list(Budget, 'Budgets for all keys together.') };
export const userTerms = {
  ...holderTerms(INHERITED, 'as each member'),
  budgets: f.inCommand(f.orNull(f.list(Budget, `Budgets for all keys together; null for ${INHERITED}.`)), {
    none: 'as each member',
  }),
};

/** Returns the terms of a user after a change. */
export const patchedTerms = (before: MemberTerms, { models, limits = {}, budgets }: TermsPatch): MemberTerms => ({
  models: models === undefined ? before.models : models,
  limits: limits && statedLimits({ ...NO_LIMITS, ...before.limits, ...limits }),
  budgets: budgets === undefined ? before.budgets : (budgets?.map(wholeBudget) ?? null),
});

/** Returns the terms of a team, or of its members, after a change. */
export function patchedGroup(before: HolderTerms, patch: TermsPatch): HolderTerms {
  const { budgets, ...terms } = patchedTerms(before, patch);
  return { ...terms, budgets: budgets ?? [] };
}

/** Credits that a grant adds to a balance. */
export const addedCredits = f.inCommand(
  f.amount('The amount to add. It must not be 0. A negative amount removes Credits.', 25, {
    minimum: -BUDGET_CREDITS_MAX,
    maximum: BUDGET_CREDITS_MAX,
    // `not` is only for the OpenAPI document. `grantOf` refuses 0.
    not: { const: 0 },
  }),
  { isPositional: true },
);

/**
 * Reads a grant from a request.
 * @param amount microcredits
 * @throws SignalboxError for 0
 */
export const grantOf = (amount: Microcredits, note = '') =>
  amount === 0
    ? refuse(
        'credits',
        '`credits` must not be 0. Send a positive amount to add Credits, or a negative amount to remove them.',
      )
    : { amount, note };
