import { type KeyLimits, limitsBody } from '../core/caller.ts';
import type { HolderTerms } from '../core/people.ts';
import type { Team, TeamOrigin, User } from '../store/people.ts';
import type { TrailDetails } from '../store/trail.ts';
import { budgetBody } from './terms.ts';

/** The members of a team that a request may state. */
export type TeamDraft = Omit<Team, 'id' | 'origin' | 'createdAt' | 'removedAt' | 'formerNames'> & {
  /** `policy` hands a team to the policy, `api` takes over one that the policy no longer has; absent: as it is. */
  readonly origin?: TeamOrigin;
};
/** The same of a user. */
export type UserDraft = Omit<User, 'id' | 'createdAt' | 'suspendedAt' | 'removedAt'>;

const limitsOrNull = (limits: KeyLimits | null) => limits && limitsBody(limits);

const termsBody = ({ models, limits, budgets }: HolderTerms) => ({
  models,
  limits: limitsOrNull(limits),
  budgets: budgets.map(budgetBody),
});

/** The terms of a team, for the trail. */
export const teamTermsBody = ({ name, origin = 'api', memberDefaults, ...terms }: TeamDraft) => ({
  name,
  origin,
  ...termsBody(terms),
  member_defaults: termsBody(memberDefaults),
});

/** The terms of a user, for the trail. */
export const userTermsBody = ({ issuer, sub, name, email, team, role, terms }: UserDraft) => ({
  ...{ name, email, issuer, sub, team, role },
  models: terms.models,
  limits: limitsOrNull(terms.limits),
  budgets: terms.budgets?.map(budgetBody) ?? null,
});

/** The members in which two bodies differ, on both sides; null where they do not. */
export function differing(before: TrailDetails, after: TrailDetails): TrailDetails | null {
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (names.length === 0) return null;
  const side = (body: TrailDetails) => Object.fromEntries(names.map((name) => [name, body[name] ?? null]));
  return { before: side(before), after: side(after) };
}
