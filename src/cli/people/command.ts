import type { budgetUseBody } from '../../access/key-body.ts';
import type { People } from '../../access/people.ts';
import type { teamBody } from '../../access/people-body.ts';
import { PeopleError } from '../../access/people-terms.ts';
import { KeyTermsError, LIMIT_MAX } from '../../access/terms.ts';
import { budgetIn } from '../../admin/kit/texts.ts';
import { commandName } from '../../core/command-name.ts';
import { SignalboxError } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { PeopleDesk, TermsPatch } from '../../operate/people.ts';
import type { User } from '../../store/people.ts';
import { LIST, onlyOne, TEXT, wholeOf } from '../arguments.ts';

/** The inputs of every command on teams and users. */
export interface PeopleCommand extends PeopleDesk {
  /** The database. */
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Wraps commands on people: their refusals become UsageErrors. */
export const withRefusals =
  <Args extends readonly unknown[]>(run: (...args: Args) => Promise<string>) =>
  (...args: Args): Promise<string> =>
    run(...args).catch((cause: unknown) => {
      const isRefusal =
        cause instanceof KeyTermsError || cause instanceof PeopleError || cause instanceof SignalboxError;
      throw isRefusal ? new UsageError(cause.message) : cause;
    });

/** Flags of terms. */
export const TERM_FLAGS = { model: LIST, budget: LIST, rpm: TEXT, tpm: TEXT, streams: TEXT } as const;
/** The same for each member of a team. */
export const MEMBER_FLAGS = {
  ...{ 'member-model': LIST, 'member-budget': LIST },
  ...{ 'member-rpm': TEXT, 'member-tpm': TEXT, 'member-streams': TEXT },
} as const;

type TermFlags = Readonly<
  Partial<Record<'model' | 'budget', string[] | undefined> & Record<'rpm' | 'tpm' | 'streams', string | undefined>>
>;

/** Reads terms: what is not named stays; `all` of models and `none` of the others remove. Throws UsageError. */
export function termsOf({ model, budget, rpm, tpm, streams }: TermFlags): TermsPatch {
  const limits = {
    ...(rpm !== undefined && { requestsPerMinute: limitOf('--rpm', rpm) }),
    ...(tpm !== undefined && { tokensPerMinute: limitOf('--tpm', tpm) }),
    ...(streams !== undefined && { concurrentStreams: limitOf('--streams', streams) }),
  };
  return {
    ...(model && { models: isOnly(model, 'all') ? null : model }),
    ...(budget && { budgets: isOnly(budget, 'none') ? null : budget.map(budgetIn) }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

const isOnly = (texts: readonly string[], word: string): boolean => texts.length === 1 && texts[0] === word;

const limitOf = (flag: string, text: string): number | null =>
  text === 'none' ? null : wholeOf(flag, text, 1, LIMIT_MAX);

/** The terms of members that flags name; absent without any. */
export function memberTermsOf(
  flags: {
    readonly [name in keyof typeof MEMBER_FLAGS]?: string | string[] | undefined;
  },
): { readonly memberDefaults?: TermsPatch } {
  const texts = (name: 'member-model' | 'member-budget') => {
    const value = flags[name];
    return typeof value === 'string' ? [value] : value;
  };
  const text = (name: 'member-rpm' | 'member-tpm' | 'member-streams') => {
    const value = flags[name];
    return typeof value === 'string' ? value : undefined;
  };
  const terms = termsOf({
    ...{ model: texts('member-model'), budget: texts('member-budget') },
    ...{ rpm: text('member-rpm'), tpm: text('member-tpm'), streams: text('member-streams') },
  });
  return Object.keys(terms).length > 0 ? { memberDefaults: terms } : {};
}

/** The one name or ID that a command takes. */
export const nameOf = (positionals: readonly string[], command: string): string =>
  onlyOne(positionals, `${command} takes one name or ID. Quote a name that has spaces.`);

/** The ID of a user that an argument names: an ID, or the address of exactly one user. Throws UsageError. */
export function userIdOf(people: Pick<People, 'user' | 'users'>, text: string): string {
  if (people.user(text)?.removedAt === null) return text;
  const found = people
    .users()
    .filter(({ email }: User) => email !== null && email.toLowerCase() === text.toLowerCase());
  const [user] = found;
  if (found.length === 1 && user) return user.id;
  throw new UsageError(
    found.length > 1
      ? `${found.length} users have the address ${text}. Give the ID of one: ${found.map(({ id }) => id).join(', ')}.`
      : `There is no user with the ID or address "${text}". Run ${commandName()} users list to see them.`,
  );
}

type Terms = Pick<ReturnType<typeof teamBody>, 'models' | 'limits' | 'budgets'>;

/** Lines of `show` for the terms of a level. */
export function termLines(
  { models, limits, budgets }: { readonly [Name in keyof Terms]: Terms[Name] | null },
  [noModels, noLimits, noBudgets]: readonly [string, string, string],
  prefix = '',
): [string, string][] {
  const figures = [
    [limits?.requests_per_minute, 'requests a minute'],
    [limits?.tokens_per_minute, 'tokens a minute'],
    [limits?.concurrent_streams, 'streams at once'],
  ] as const;
  const stated = figures.flatMap(([figure, unit]) =>
    figure == null ? [] : [`${figure.toLocaleString('en')} ${unit}`],
  );
  return [
    [`${prefix}models`, models?.join(', ') ?? noModels],
    [`${prefix}limits`, stated.join(', ') || noLimits],
    [`${prefix}budgets`, budgetsText(budgets) || noBudgets],
  ];
}

/** Lines of `show` for what is spent and left of budgets. */
export const useLines = (uses: readonly ReturnType<typeof budgetUseBody>[]): [string, string][] =>
  uses.map(({ window, spent_credits: spent, left_credits: left, forecast_credits: forecast }) => {
    const figure = (credits: number) => credits.toLocaleString('en', { maximumFractionDigits: 6 });
    const expected = forecast === null ? '' : `, ${figure(forecast)} expected by its end`;
    return ['spent', `${window}: ${figure(spent)} Credits, ${figure(left)} left${expected}`];
  });

/** `500 Credits a month, 20 Credits a day`. */
export const budgetsText = (budgets: Terms['budgets'] | null): string =>
  (budgets ?? [])
    .map(({ limit_credits, window, time_zone, on_exhausted }) => {
      const per = window === 'total' ? 'in total' : `a ${window}${time_zone === 'UTC' ? '' : ` (${time_zone})`}`;
      return `${limit_credits.toLocaleString('en')} Credits ${per}${on_exhausted === 'cap' ? '' : `, then ${on_exhausted}`}`;
    })
    .join('; ');
