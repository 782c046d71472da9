import type { ExhaustedAction, WindowKind } from '../../../core/budget.ts';
import type { Scope } from '../../../core/caller.ts';
import type { UserRole } from '../../../core/people.ts';
import type { ReadOf } from '../../api/reads.ts';

export type KeyAnswer = ReadOf<'/admin/keys'>['data'][number];
export type TeamAnswer = ReadOf<'/admin/teams'>['data'][number];
export type UserAnswer = ReadOf<'/admin/users'>['data'][number];
export type TeamMoney = ReadOf<`/admin/teams/${string}`>;
export type UserMoney = ReadOf<`/admin/users/${string}`>;

/** A budget as a form has it: texts, so that whatever was typed goes to the server, which says what is wrong with it. */
export interface BudgetForm {
  readonly limit: string;
  readonly window: WindowKind;
  readonly zone: string;
  readonly onExhausted: ExhaustedAction;
}

/** The terms of a key, a person or a team as a form has them. No models are all. */
export interface TermsForm {
  readonly models: readonly string[];
  readonly requests: string;
  readonly tokens: string;
  readonly streams: string;
  readonly budgets: readonly BudgetForm[];
}

export interface KeyForm extends TermsForm {
  readonly name: string;
  readonly team: string;
  readonly user: string;
  readonly scopes: readonly Scope[];
  readonly labels: string;
  /** A day, `YYYY-MM-DD`. */
  readonly expires: string;
}

export interface UserForm extends TermsForm {
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly team: string;
}

export interface TeamForm extends TermsForm {
  readonly name: string;
  readonly defaults: TermsForm;
}

interface Terms {
  readonly models: readonly string[] | null;
  readonly limits: Pick<KeyAnswer, 'limits'>['limits'] | null;
  readonly budgets: KeyAnswer['budgets'] | null;
}

const text = (value: number | null | undefined): string => (value === null || value === undefined ? '' : String(value));

export const termsDraft = ({ models, limits, budgets }: Terms): TermsForm => ({
  models: models ?? [],
  requests: text(limits?.requests_per_minute),
  tokens: text(limits?.tokens_per_minute),
  streams: text(limits?.concurrent_streams),
  budgets: (budgets ?? []).map(({ limit_credits, window, time_zone, on_exhausted }) => ({
    ...{ limit: text(limit_credits), window, zone: time_zone, onExhausted: on_exhausted },
  })),
});

const NO_TERMS = termsDraft({ models: null, limits: null, budgets: null });
export const NEW_BUDGET: BudgetForm = { limit: '', window: 'month', zone: 'UTC', onExhausted: 'cap' };

export const NEW_KEY: KeyForm = {
  ...NO_TERMS,
  ...{ name: '', team: '', user: '', scopes: ['chat', 'route'], labels: '', expires: '' },
};
export const NEW_USER: UserForm = { ...NO_TERMS, name: '', email: '', role: 'member', team: '' };
export const NEW_TEAM: TeamForm = { ...NO_TERMS, name: '', defaults: NO_TERMS };

export const keyDraft = (key: KeyAnswer): KeyForm => ({
  ...termsDraft(key),
  ...{ name: key.name, team: key.team ?? '', user: key.user ?? '', scopes: key.scopes },
  labels: Object.entries(key.labels)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n'),
  expires: key.expires_at === null ? '' : dayOf(Date.parse(key.expires_at)),
});

export const userDraft = (user: UserAnswer): UserForm => ({
  ...termsDraft(user),
  ...{ name: user.name, email: user.email ?? '', role: user.role, team: user.team ?? '' },
});

export const teamDraft = (team: TeamAnswer): TeamForm => ({
  ...termsDraft(team),
  ...{ name: team.name, defaults: termsDraft(team.member_defaults) },
});

/** A day where the viewer is. @param time ms since 1970 */
function dayOf(time: number): string {
  const date = new Date(time);
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0'));
  return `${date.getFullYear()}-${month}-${day}`;
}

/** The end of a day where the viewer is, as a moment. */
export function endOfDay(day: string): string | null {
  if (day === '') return null;
  const end = new Date(`${day}T23:59:59`);
  return Number.isNaN(end.getTime()) ? day : end.toISOString();
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** A number; what is none is sent as it is, and refused at its field. */
const numberOf = (of: string): number | string | null => {
  const trimmed = of.trim();
  if (trimmed === '') return null;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : trimmed;
};

type Body = Readonly<Record<string, unknown>>;

/** The members of a draft's terms that differ from those of before. */
export function termsBody(draft: TermsForm, before: TermsForm): Body {
  const limits = {
    ...(draft.requests !== before.requests && { requests_per_minute: numberOf(draft.requests) }),
    ...(draft.tokens !== before.tokens && { tokens_per_minute: numberOf(draft.tokens) }),
    ...(draft.streams !== before.streams && { concurrent_streams: numberOf(draft.streams) }),
  };
  const isWithoutLimits = [draft.requests, draft.tokens, draft.streams].every((one) => one.trim() === '');
  return {
    ...(!isSame(draft.models, before.models) && { models: draft.models.length === 0 ? null : draft.models }),
    ...(Object.keys(limits).length > 0 && { limits: isWithoutLimits ? null : limits }),
    ...(!isSame(draft.budgets, before.budgets) && {
      budgets: draft.budgets.length === 0 ? null : draft.budgets.map(budgetBody),
    }),
  };
}

const budgetBody = ({ limit, window, zone, onExhausted }: BudgetForm) => ({
  ...{ limit_credits: numberOf(limit) ?? '', window, on_exhausted: onExhausted },
  time_zone: zone.trim() || 'UTC',
});

const changed = <Draft extends object>(draft: Draft, before: Draft, members: Readonly<Record<string, keyof Draft>>) =>
  Object.fromEntries(
    Object.entries(members).flatMap(([member, of]) => {
      const value = draft[of];
      return isSame(value, before[of]) ? [] : [[member, value === '' ? null : value]];
    }),
  );

/** The body of a change of a key, with the members that differ alone. */
export function keyBody(draft: KeyForm, before: KeyForm): Body {
  return {
    ...changed(draft, before, { name: 'name', team: 'team', user: 'user', scopes: 'scopes' }),
    ...termsBody(draft, before),
    ...(draft.labels !== before.labels && { labels: labelsPatch(labelsOf(draft.labels), labelsOf(before.labels)) }),
    ...(draft.expires !== before.expires && { expires_at: endOfDay(draft.expires) }),
  };
}

/** The body for a new key. Its terms stay out where nothing was typed. @param now ms since 1970 */
export function newKeyBody(draft: KeyForm, now: number): Body {
  const { expires_at: end, ...body } = keyBody(draft, NEW_KEY);
  const seconds = typeof end === 'string' ? Math.round((Date.parse(end) - now) / 1_000) : null;
  return { ...body, scopes: draft.scopes, ...(seconds !== null && { expires_in_seconds: seconds }) };
}

export const userBody = (draft: UserForm, before: UserForm): Body => ({
  ...changed(draft, before, { name: 'name', email: 'email', role: 'role', team: 'team' }),
  ...termsBody(draft, before),
});

export function teamBody(draft: TeamForm, before: TeamForm): Body {
  const defaults = termsBody(draft.defaults, before.defaults);
  return {
    ...(draft.name !== before.name && { name: draft.name }),
    ...termsBody(draft, before),
    ...(Object.keys(defaults).length > 0 && { member_defaults: defaults }),
  };
}

function labelsOf(of: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    of.split('\n').flatMap((line) => {
      const [name = '', ...value] = line.split('=');
      return name.trim() === '' ? [] : [[name.trim(), value.join('=').trim()]];
    }),
  );
}

/** Labels that are new or different, and null for those that are gone. */
function labelsPatch(labels: Readonly<Record<string, string>>, before: Readonly<Record<string, string>>) {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(labels, name));
  const set = Object.entries(labels).filter(([name, value]) => before[name] !== value);
  return Object.fromEntries([...set, ...gone.map((name) => [name, null] as const)]);
}

/**
 * A draft on a newer version of what it changes: a member that was typed stays, the others are those of now.
 * @param base the version that the draft began from
 */
export function rebased<Draft extends object>(draft: Draft, base: Draft, now: Draft): Draft {
  const kept = Object.entries(draft).filter(([name, value]) => !isSame(value, base[name as keyof Draft]));
  return { ...now, ...Object.fromEntries(kept) };
}
