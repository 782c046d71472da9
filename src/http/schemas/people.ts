import { type Static, Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';
import { EXHAUSTED_ACTIONS, WINDOWS } from '../../core/budget.ts';
import { USER_ROLES } from '../../core/people.ts';
import { TEAM_ORIGINS } from '../../store/people.ts';
import { BudgetRequest, budgetUse, keptText, keptTextOrNull, LimitsRequest, modelIds } from './keys.ts';

const TERMS = {
  models: modelIds('IDs of the models that it may use; null for all that the other levels allow.'),
  limits: field.orNull(LimitsRequest, 'Rate limits of all of it together; null for none.'),
  budgets: field.orNull(Type.Array(BudgetRequest), 'Budgets of all of it together; null for none.'),
};

const DefaultsRequest = field.partialBody('Terms of each member that states none of its own.', TERMS);

const name = keptText('Its name, which no other team has.', 'search');
const TEAM = {
  ...TERMS,
  member_defaults: field.orNull(DefaultsRequest, 'Terms of each member that states none of its own; null for none.'),
};

/** The body of `POST /admin/teams`. */
export const TeamRequest = field.body('A team to make.', { ...Type.Partial(Type.Object(TEAM)).properties, name });
export type TeamRequest = Static<typeof TeamRequest>;

/** The body of `PATCH /admin/teams/{id}`. */
export const TeamPatchRequest = field.partialBody('What to change. Absent members stay, null removes.', {
  ...TEAM,
  name,
  origin: field.word(
    ['api', 'policy'],
    '`policy` hands the team to the policy, whose next load sets its terms. `api` takes over a team that the policy no longer has.',
  ),
});
export type TeamPatchRequest = Static<typeof TeamPatchRequest>;

/** The body of `POST /admin/users` and `PATCH /admin/users/{id}`. */
export const UserRequest = field.partialBody('A user. In a change, absent members stay and null removes.', {
  name: keptTextOrNull('Its name, for showing.', 'Ada Lovelace'),
  email: keptTextOrNull('Its address, for showing alone: it identifies nobody.', 'ada@example.com'),
  issuer: keptTextOrNull('The issuer that signs it in. Stated together with `sub`.', 'https://id.example.com'),
  sub: keptTextOrNull('Its subject at that issuer.', '248289761001'),
  team: field.textOrNull('The ID or the name of its team.', 'search'),
  role: field.word(USER_ROLES, 'Its role. `lead` and `member` are of its team.', 'member'),
  models: modelIds('IDs of the models that it may use; null for those of members.'),
  limits: field.orNull(LimitsRequest, 'Rate limits of all of its keys together; null for those of members.'),
  budgets: field.orNull(Type.Array(BudgetRequest), 'Budgets of all of its keys together; null for those of members.'),
});
export type UserRequest = Static<typeof UserRequest>;

const figure = (description: string) => field.wholeOrNull(`${description} Null for no limit of this level.`);
const limits = {
  requests_per_minute: figure('Requests a minute.'),
  tokens_per_minute: figure('Tokens a minute.'),
  concurrent_streams: figure('Streams at once.'),
};
const budget = Type.Object({
  limit_credits: field.credits('The limit of each window.', 500),
  window: field.word(WINDOWS, 'How long a window runs.', 'month'),
  time_zone: field.text('The zone in which windows begin.', 'Europe/Berlin'),
  on_exhausted: field.word(EXHAUSTED_ACTIONS, 'The effect on a request that does not fit.'),
});

const terms = {
  models: field.textListOrNull('IDs of the models that it may use; null for all that the other levels allow.'),
  limits: field.shapeOrNull('Rate limits of all of it together; null for none.', limits),
  budgets: field.arrayOf(budget, 'Budgets of all of it together.'),
};

const team = {
  id: field.text('Its ID.', 'team_0mtqg5k3w4x1b7q2z'),
  name: field.text('Its name.', 'search'),
  origin: field.word(
    TEAM_ORIGINS,
    'The one place that changes it: `api`, or `policy`. `former`: a policy that no longer has it.',
    'api',
  ),
  ...terms,
  member_defaults: field.shape('Terms of each member that states none of its own.', terms),
  users: field.count('The number of its users.', 12),
  created_at: field.moment('When it was made.'),
};

export const Team = field.named('Team', 'A team, with its terms.', team);

export const TeamStatus = field.named('TeamStatus', 'A team, with its money.', {
  ...team,
  budgets: field.rows('The current state of its budgets.', budgetUse),
  declared_at: field.shapeOrNull('Where the policy in force declares it; null for another team.', {
    file: field.text('The file.', 'policies/teams.yaml'),
    line: field.count('The line, from 1.', 12),
  }),
});

const hasMore = field.flag(
  'Whether more follow. To get them, repeat the request with the last `id` as `after`.',
  false,
);

export const TeamList = field.named('TeamList', 'Teams.', {
  ...field.listOf(Team, 'In the order in which they were made.'),
  has_more: hasMore,
});

const user = {
  id: field.text('Its ID.', 'user_0mtqg5k3w9c8d2f5a'),
  name: field.text('Its name, for showing.', 'Ada Lovelace'),
  email: field.textOrNull('Its address, for showing.', 'ada@example.com'),
  issuer: field.textOrNull('The issuer that signs it in; null for one that cannot sign in.', 'https://id.example.com'),
  sub: field.textOrNull('Its subject at that issuer.', '248289761001'),
  team: field.textOrNull('The ID of its team; null for none.', 'team_0mtqg5k3w4x1b7q2z'),
  team_name: field.textOrNull('The name of its team.', 'search'),
  role: field.word(USER_ROLES, 'Its role.', 'member'),
  models: field.textListOrNull('IDs of the models that it may use; null for those of members.'),
  limits: field.shapeOrNull('Rate limits of all of its keys together; null for those of members.', limits),
  budgets: field.orNull(Type.Array(budget), 'Budgets of all of its keys together; null for those of members.'),
  state: field.word(['active', 'suspended'], 'Whether it and its keys are served.', 'active'),
  created_at: field.moment('When it was made.'),
  suspended_at: field.momentOrNull('When it was suspended; null if it is not.'),
};

export const User = field.named('User', 'A user, with its terms.', user);

export const UserStatus = field.named('UserStatus', 'A user, with its money.', {
  ...user,
  in_force: field.shape('The terms that apply to it: its own, or else those of members.', {
    ...terms,
    budgets: field.rows('The current state of its budgets.', budgetUse),
  }),
});

export const UserList = field.named('UserList', 'Users.', {
  ...field.listOf(User, 'In the order in which they were made.'),
  has_more: hasMore,
});

export const Removal = field.named('Removal', 'What was removed.', {
  id: field.text('Its ID.', 'user_0mtqg5k3w9c8d2f5a'),
  object: field.always('removed'),
  revoked_keys: field.count('The number of its keys that were revoked.', 1),
});
