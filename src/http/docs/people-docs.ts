import * as schemas from '../schemas/people.ts';
import * as examples from './request-examples.ts';
import { BODY_ERRORS, routeDocs } from './route-docs.ts';

/** The documentation of `/admin/teams` and `/admin/users`. */

const REFUSED = [...BODY_ERRORS, 'unknown_field'] as const;
const LEAD =
  'A lead changes the members of its own team alone; only an owner changes users with the roles owner and admin.';
const IF_MATCH = 'With `If-Match`, only the version with that `etag` is changed.';
const SHOWN = 'An owner, admin, auditor or finance sees all, a lead its team, a member itself.';

export const LIST_TEAMS = routeDocs({
  ...{ access: 'people.read', summary: 'List teams' },
  description: `Lists the teams of the policy and those made through the API. ${SHOWN}`,
  answer: { schema: schemas.TeamList, description: 'The page.' },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range'],
});

export const SHOW_TEAM = routeDocs({
  ...{ access: 'people.read', summary: 'Show a team' },
  description:
    'Finds a team by its ID or its name, with what is spent of its budgets and what will be at the end of their windows. The header `etag` has its version.',
  answer: { schema: schemas.TeamStatus, description: 'The team.' },
  errors: ['not_found'],
});

export const CREATE_TEAM = routeDocs({
  ...{ access: 'teams.change', summary: 'Make a team' },
  description:
    'Makes a team. Its terms apply to all of its keys and users together, beside those of the organization, of each user and of each key.',
  answer: { schema: schemas.Team, description: 'The team.' },
  requests: examples.TEAM_REQUESTS,
  errorField: 'name',
  errors: [...REFUSED, 'conflict'],
});

export const CHANGE_TEAM = routeDocs({
  ...{ access: 'teams.change', summary: 'Change a team' },
  description: `Changes a team that was made through the API. A team of the policy is changed there. ${IF_MATCH}`,
  answer: { schema: schemas.Team, description: 'The team.' },
  requests: examples.TEAM_CHANGES,
  errorField: 'name',
  errors: [...REFUSED, 'not_found', 'conflict', 'precondition_failed'],
});

export const REMOVE_TEAM = routeDocs({
  ...{ access: 'teams.change', body: 'none', summary: 'Remove a team' },
  description: `Removes a team that has no users and no unrevoked keys. Usage of before keeps its ID. ${IF_MATCH}`,
  answer: {
    schema: schemas.Removal,
    description: 'Its ID.',
    differs: { id: 'team_0mtqg5k3w4x1b7q2z', revoked_keys: 0 },
  },
  errors: ['not_found', 'conflict', 'precondition_failed'],
});

export const LIST_USERS = routeDocs({
  ...{ access: 'people.read', summary: 'List users' },
  description: `Lists the users that match all filters. ${SHOWN}`,
  answer: { schema: schemas.UserList, description: 'The page.' },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range', 'not_found'],
});

export const SHOW_USER = routeDocs({
  ...{ access: 'people.read', summary: 'Show a user' },
  description:
    'Finds a user by its ID, with the terms that apply to it, and what is spent of its budgets. The header `etag` has its version.',
  answer: { schema: schemas.UserStatus, description: 'The user.' },
  errors: ['not_found'],
});

export const CREATE_USER = routeDocs({
  ...{ access: 'people.change', summary: 'Make a user' },
  description: `Makes a user, for keys that are its own. Users that sign in are made by that. ${LEAD}`,
  answer: { schema: schemas.User, description: 'The user.' },
  requests: examples.USER_REQUESTS,
  errorField: 'role',
  errors: [...REFUSED, 'conflict'],
});

export const CHANGE_USER = routeDocs({
  ...{ access: 'people.change', summary: 'Change a user' },
  description: `Changes a user. Its keys go along to its new team. ${LEAD} ${IF_MATCH}`,
  answer: { schema: schemas.User, description: 'The user.' },
  requests: examples.USER_CHANGES,
  errorField: 'role',
  errors: [...REFUSED, 'not_found', 'conflict', 'precondition_failed'],
});

export const SUSPEND_USER = routeDocs({
  ...{ access: 'people.change', body: 'none', summary: 'Suspend a user' },
  description: 'Refuses the keys and logins of a user within a second, until it is resumed. The body is ignored.',
  answer: {
    schema: schemas.User,
    description: 'The user.',
    differs: { state: 'suspended', suspended_at: '2026-11-20T15:00:00.000Z' },
  },
  errors: ['not_found'],
});

export const RESUME_USER = routeDocs({
  ...{ access: 'people.change', body: 'none', summary: 'Resume a user' },
  description: 'Ends the suspension of a user. The body is ignored.',
  answer: { schema: schemas.User, description: 'The user.' },
  errors: ['not_found'],
});

export const REMOVE_USER = routeDocs({
  ...{ access: 'people.change', body: 'none', summary: 'Remove a user' },
  description: `Revokes the keys of a user and erases its name, address, issuer and sub. Usage of before keeps its ID. Whom an issuer still signs in comes back as a new user: to keep somebody out, suspend it. ${IF_MATCH}`,
  answer: { schema: schemas.Removal, description: 'Its ID.' },
  errors: ['not_found', 'precondition_failed'],
});
