import { FORMER_NAMES_MAX, type HolderTerms } from '../core/people/people.ts';
import type { Team, TeamOrigin, User } from '../store/people.ts';
import type { TeamDraft, UserDraft } from './people-body.ts';
import { checkHolderTerms, checkModelBytes, checkText, KeyTermsError } from './terms.ts';

/** Why a change of teams or users is refused. The message of a PeopleError has one or two sentences. */
export class PeopleError extends Error {
  override readonly name = 'PeopleError';
  /**
   * `conflict`: the change conflicts with existing teams or users. `stale`: the version is not the expected one. `missing`: the team or
   * user does not exist. `busy`: other changes are running.
   */
  readonly reason: 'conflict' | 'stale' | 'missing' | 'busy';
  /** The current tag of the row, if another one was expected. */
  readonly tag: string | null;
  /** The member of the request that the error is about; null for none. */
  readonly param: string | null;

  private constructor(
    reason: PeopleError['reason'],
    message: string,
    { tag = null, param = null }: Partial<Pick<PeopleError, 'tag' | 'param'>> = {},
  ) {
    super(message);
    this.reason = reason;
    this.tag = tag;
    this.param = param;
  }

  static missing = () => new PeopleError('missing', 'No team or user has this ID, or it was removed.');
  static hindered = () =>
    new PeopleError(
      'busy',
      'Other changes prevented this change, such as the creation of keys at the same time. Try again.',
    );
  static stale = (tag: string) =>
    new PeopleError('stale', 'It has changed in the meantime, so nothing was changed. Read it again.', { tag });
  static declared = ({ name }: Team, isRename = false) =>
    new PeopleError(
      'conflict',
      `The team "${name}" is declared in the policy. ${isRename ? `To rename it, change the name in the policy's \`teams\` and add \`formerly: ${name}\`.` : 'Change it there, in the section `teams`, or remove it there first.'}`,
    );
  static left = ({ name }: Team) =>
    new PeopleError(
      'conflict',
      `The team "${name}" comes from a policy that no longer declares it. Declare it again, or first take it over with \`origin\` "api" or teams change --origin api.`,
    );
  static made = ({ name, id }: Team) =>
    new PeopleError(
      'conflict',
      `The team "${name}" was created through the API (${id}). Give the team in the policy another name, or hand the existing team over to the policy: teams change ${id} --origin policy.`,
    );
  static nameTaken = ({ name, id, origin }: Team) =>
    new PeopleError('conflict', `A team "${name}" already exists (${id}), ${ORIGINS[origin]}.`, { param: 'name' });
  static tooManyNames = ({ name, formerNames = [] }: Team) =>
    new PeopleError(
      'conflict',
      `The team "${name}" already has ${FORMER_NAMES_MAX} former names, which is the limit, because policies can still use each of them. Rename it to one of them, or create another team with one of them, which takes that name over: ${formerNames.map((one) => JSON.stringify(one)).join(', ')}.`,
    );
  static personTaken = ({ id }: User) => new PeopleError('conflict', `The user ${id} already has this issuer and sub.`);
  static noTeam = (text: string) =>
    new PeopleError('conflict', `There is no team with the ID or name "${text.slice(0, NAME_MAX)}".`, {
      param: 'team',
    });
  static manyUsers = (address: string, users: readonly User[]) =>
    new PeopleError(
      'conflict',
      `${users.length} users have the address ${address}. Give the ID of one of them: ${users.map(({ id }) => id).join(', ')}.`,
      { param: 'user' },
    );
  static noUser = () => new PeopleError('conflict', 'There is no user with this ID or address.', { param: 'user' });
  static otherTeam = () =>
    new PeopleError(
      'conflict',
      'The user does not belong to this team. A key of a user always belongs to the team of the user, so leave the team out.',
      { param: 'team' },
    );
  static inUse = (name: string, count: number, what: 'user' | 'key') =>
    new PeopleError(
      'conflict',
      `${count} ${what}${count === 1 ? ' is' : 's are'} of ${name === '' ? 'it' : `"${name}"`}. ${what === 'user' ? 'Move or remove them first.' : 'Revoke them first.'}`,
    );
}

const NAME_MAX = 128;
/** A name with the form of an ID could be confused with another team. */
const TEAM_ID = /^team_[0-9a-z]{17}$/;

const ORIGINS: Readonly<Record<TeamOrigin, string>> = {
  api: 'created through the API',
  policy: 'declared in the policy',
  former: 'from a policy that no longer declares it',
};

/** The most users that a lead may create in 24 hours. Operators have no limit. */
export const USERS_A_DAY_MAX = 200;

export const tooManyUsers = () =>
  new KeyTermsError(
    'user',
    `You have created ${USERS_A_DAY_MAX} users within 24 hours, which is the limit for a lead. Wait, or ask an operator to create the user.`,
  );

/** Checks the terms of a team. @param before the team before the change; null for a new team @throws KeyTermsError */
export function checkTeam({ name, memberDefaults, ...terms }: TeamDraft, before: TeamDraft | null): void {
  if (name.trim() !== name || name === '' || name.length > NAME_MAX || TEAM_ID.test(name)) {
    const form = `1 to ${NAME_MAX} characters, must not begin or end with a space, and must not look like the ID of a team`;
    throw new KeyTermsError('name', `The name of a team must have ${form}.`);
  }
  checkText('name', name);
  checkHolderTerms(terms);
  checkModelBytes('team', terms.models, before?.models);
  below('member_defaults', memberDefaults, before?.memberDefaults);
}

function below(param: string, terms: HolderTerms, before: HolderTerms | undefined): void {
  try {
    checkHolderTerms(terms);
    checkModelBytes('team', terms.models, before?.models);
  } catch (cause) {
    if (!(cause instanceof KeyTermsError)) throw cause;
    throw new KeyTermsError(`${param}.${cause.param}`, cause.message);
  }
}

/** Checks the terms of a user. @param before the user before the change; null for a new user @throws KeyTermsError */
export function checkUser({ issuer, sub, name, email, team, role, terms }: UserDraft, before: UserDraft | null): void {
  checkText('name', name);
  for (const [param, text] of Object.entries({ email, issuer, sub })) if (text !== null) checkText(param, text);
  if ((issuer === null) !== (sub === null)) {
    throw new KeyTermsError('sub', '`issuer` and `sub` identify a person only together. Set both or neither.');
  }
  if (issuer === '' || sub === '') throw new KeyTermsError('sub', '`issuer` and `sub` must not be empty.');
  if (role === 'lead' && team === null) throw new KeyTermsError('role', 'A lead needs a team.');
  checkHolderTerms({ ...terms, budgets: terms.budgets ?? [] });
  checkModelBytes('user', terms.models, before?.terms.models);
}
