import { type KeyLimits, limitsBody } from '../core/people/caller.ts';
import type { HolderTerms } from '../core/people/people.ts';
import type { Team, TeamOrigin, User } from '../store/people.ts';
import type { TrailDetails } from '../store/trail.ts';
import { budgetBody } from './terms.ts';

/** The members of a team that a request may set. */
export type TeamDraft = Omit<Team, 'id' | 'origin' | 'createdAt' | 'removedAt' | 'formerNames'> & {
  /** `policy` hands a team over to the policy, `api` takes over a team that the policy no longer declares; absent to leave it unchanged. */
  readonly origin?: TeamOrigin;
};
/** The members of a user that a request may set. */
export type UserDraft = Omit<User, 'id' | 'createdAt' | 'suspendedAt' | 'removedAt'>;

const limitsOrNull = (limits: KeyLimits | null) => limits && limitsBody(limits);

const termsBody = ({ models, limits, budgets }: HolderTerms) => ({
  models,
  limits: limitsOrNull(limits),
  budgets: budgets.map(budgetBody),
});

/** The terms of a team, for the audit trail. */
export const teamTermsBody = ({ name, origin = 'api', memberDefaults, ...terms }: TeamDraft) => ({
  name,
  origin,
  ...termsBody(terms),
  member_defaults: termsBody(memberDefaults),
});

/** The terms of a user, for the audit trail. */
export const userTermsBody = ({ issuer, sub, name, email, team, role, terms }: UserDraft) => ({
  name,
  email,
  issuer,
  sub,
  team,
  role,
  models: terms.models,
  limits: limitsOrNull(terms.limits),
  budgets: terms.budgets?.map(budgetBody) ?? null,
});

/** Returns the members that differ between two bodies, with both values; null if none differ. */
export function differing(before: TrailDetails, after: TrailDetails): TrailDetails | null {
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (names.length === 0) return null;
  const side = (body: TrailDetails) => Object.fromEntries(names.map((name) => [name, body[name] ?? null]));
  return { before: side(before), after: side(after) };
}
