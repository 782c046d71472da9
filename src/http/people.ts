import { Elysia, t } from 'elysia';
import type { Tags } from '../access/people.ts';
import { refused } from '../admin/kit/refusals.ts';
import { USER_ROLES } from '../core/people.ts';
import type { Page } from '../operate/pages.ts';
import {
  changeTeam,
  changeUser,
  createTeam,
  createUser,
  listTeams,
  listUsers,
  PEOPLE_LIMIT,
  PEOPLE_LIMIT_MAX,
  type PeopleDesk,
  removeTeam,
  removeUser,
  suspendUser,
} from '../operate/people.ts';
import { type MoneyDesk, teamStatus, userStatus } from '../operate/people-money.ts';
import { TEAM_ORIGINS } from '../store/people.ts';
import { bodyIn } from './body.ts';
import * as docs from './docs/people-docs.ts';
import { budgetOf, limitsPatchOf } from './key-terms.ts';
import { queryLimit, queryText, queryWord } from './query.ts';
import type { RouteServices } from './route-services.ts';
import {
  TeamPatchRequest,
  TeamRequest,
  type TeamPatchRequest as TeamTerms,
  UserRequest,
  type UserRequest as UserTerms,
} from './schemas/people.ts';
import { limitOf, refuseValue } from './terms.ts';

export interface PeopleServices extends Pick<RouteServices, 'gateway' | 'principalOf'> {
  readonly desk: PeopleDesk;
}

/** `/admin/teams` and `/admin/users`: `signalbox teams` and `users` for programs. */
export const peopleRoutes = (services: PeopleServices) =>
  new Elysia({ name: 'people' }).use(teamRoutes(services)).use(userRoutes(services));

const TEAMS_QUERY = t.Object({
  origin: queryWord(TEAM_ORIGINS, `One of ${TEAM_ORIGINS.join(', ')}.`),
  after: queryText('The ID of the last team of the page before.'),
  limit: queryLimit(PEOPLE_LIMIT, PEOPLE_LIMIT_MAX),
});

const teamRoutes = ({ desk, gateway, principalOf }: PeopleServices) =>
  new Elysia({ name: 'teams' })
    .get(
      '/admin/teams',
      ({ query: { origin: text, after = null, limit }, request }) => {
        const origin = text === undefined ? null : wordOf('origin', text, TEAM_ORIGINS);
        return pageBody(listTeams(principalOf(request), desk, { ...pageOf(after, limit), origin }));
      },
      { query: TEAMS_QUERY, ...docs.LIST_TEAMS },
    )
    .get(
      '/admin/teams/:id',
      async ({ params: { id }, request, set }) =>
        tagged(set, desk, await teamStatus(principalOf(request), desk, moneyOf(gateway), id)),
      docs.SHOW_TEAM,
    )
    .post(
      '/admin/teams',
      async ({ body, request, set }) =>
        tagged(set, desk, await refused(() => createTeam(principalOf(request), desk, teamPatch(body)))),
      { ...bodyIn(TeamRequest), ...docs.CREATE_TEAM },
    )
    .patch(
      '/admin/teams/:id',
      async ({ params: { id }, body: { origin, ...body }, request, set }) => {
        const patch = { ...teamPatch(body), ...(origin !== undefined && { origin }) };
        const deed = () => changeTeam(principalOf(request), desk, id, patch, tagsOf(request));
        return tagged(set, desk, await refused(deed));
      },
      { ...bodyIn(TeamPatchRequest), ...docs.CHANGE_TEAM },
    )
    .delete(
      '/admin/teams/:id',
      async ({ params: { id }, request }) => {
        const team = await refused(() => removeTeam(principalOf(request), desk, id, tagsOf(request)));
        return { id: team.id, object: 'removed', revoked_keys: 0 };
      },
      docs.REMOVE_TEAM,
    );

const USERS_QUERY = t.Object({
  team: queryText('The ID or the name of their team.'),
  role: queryWord(USER_ROLES, `One of ${USER_ROLES.join(', ')}.`),
  state: queryWord(['active', 'suspended'], '`active` or `suspended`.'),
  search: queryText('A part of the name or the address, in any case.'),
  after: queryText('The ID of the last user of the page before.'),
  limit: queryLimit(PEOPLE_LIMIT, PEOPLE_LIMIT_MAX),
});

const userRoutes = (services: PeopleServices) =>
  new Elysia({ name: 'users' }).use(userReading(services)).use(userChanges(services));

const userReading = ({ desk, gateway, principalOf }: PeopleServices) =>
  new Elysia({ name: 'users-read' })
    .get(
      '/admin/users',
      ({ query: { team = null, role, state, search = null, after = null, limit }, request }) => {
        const filters = {
          ...{ team, search },
          role: role === undefined ? null : wordOf('role', role, USER_ROLES),
          isSuspended: state === undefined ? null : wordOf('state', state, ['active', 'suspended']) === 'suspended',
        };
        return pageBody(listUsers(principalOf(request), desk, { ...pageOf(after, limit), ...filters }));
      },
      { query: USERS_QUERY, ...docs.LIST_USERS },
    )
    .get(
      '/admin/users/:id',
      async ({ params: { id }, request, set }) =>
        tagged(set, desk, await userStatus(principalOf(request), desk, moneyOf(gateway), id)),
      docs.SHOW_USER,
    );

const userChanges = ({ desk, principalOf }: PeopleServices) =>
  new Elysia({ name: 'users-change' })
    .post(
      '/admin/users',
      async ({ body, request, set }) =>
        tagged(set, desk, await refused(() => createUser(principalOf(request), desk, userPatch(body)))),
      { ...bodyIn(UserRequest), ...docs.CREATE_USER },
    )
    .patch(
      '/admin/users/:id',
      async ({ params: { id }, body, request, set }) => {
        const deed = () => changeUser(principalOf(request), desk, id, userPatch(body), tagsOf(request));
        return tagged(set, desk, await refused(deed));
      },
      { ...bodyIn(UserRequest), ...docs.CHANGE_USER },
    )
    .post(
      '/admin/users/:id/suspend',
      ({ params: { id }, request }) => refused(() => suspendUser(principalOf(request), desk, id, true)),
      docs.SUSPEND_USER,
    )
    .post(
      '/admin/users/:id/resume',
      ({ params: { id }, request }) => refused(() => suspendUser(principalOf(request), desk, id, false)),
      docs.RESUME_USER,
    )
    .delete(
      '/admin/users/:id',
      async ({ params: { id }, request }) => {
        const deed = () => removeUser(principalOf(request), desk, id, tagsOf(request));
        const { revoked } = await refused(deed);
        return { id, object: 'removed', revoked_keys: revoked };
      },
      docs.REMOVE_USER,
    );

const teamPatch = ({ name, member_defaults: defaults, ...terms }: Omit<TeamTerms, 'origin'>) => ({
  ...termsPatch(terms),
  ...(name !== undefined && { name }),
  ...(defaults !== undefined && { memberDefaults: defaults && termsPatch(defaults, 'member_defaults.') }),
});

const userPatch = ({ models, limits, budgets, ...rest }: UserTerms) => ({
  ...rest,
  ...termsPatch({ models, limits, budgets }),
});

/** @param path of the terms in the body, with a full stop behind it */
const termsPatch = ({ models, limits, budgets }: Pick<UserTerms, 'models' | 'limits' | 'budgets'>, path = '') => ({
  ...(models !== undefined && { models }),
  ...(limits !== undefined && { limits: limits && limitsPatchOf(limits) }),
  ...(budgets !== undefined && { budgets: budgets?.map((one, at) => budgetOf(one, at, path)) ?? null }),
});

/** A change that terms, what there is, or a disk may refuse. */

/** The tags in `If-Match`; null for any. */
function tagsOf(request: Request): Tags {
  const header = request.headers.get('if-match')?.trim() ?? '*';
  if (header === '*') return null;
  return header.split(',').map((tag) => tag.trim().replace(/^"(.*)"$/, '$1'));
}

function moneyOf({ ledger, lease }: PeopleServices['gateway']): MoneyDesk {
  const { usdPerCredit, teamPlaces } = lease().snapshot;
  return { ledger, usdPerCredit, teamPlaces };
}

/** Names the version of what is shown. */
function tagged<Body extends { readonly id: string }>(
  set: { readonly headers: Record<string, string | number> },
  { people }: PeopleDesk,
  body: Body,
): Body {
  set.headers.etag = `"${people.tagOf(body.id)}"`;
  return body;
}

const pageOf = (after: string | null, limit: unknown) => ({
  after,
  limit: limitOf(limit ?? PEOPLE_LIMIT, PEOPLE_LIMIT_MAX),
});

const pageBody = ({ data, hasMore }: Page<unknown, object>) => ({ object: 'list', data, has_more: hasMore });

function wordOf<Word extends string>(param: string, text: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  return word ?? refuseValue(param, `\`${param}\` must be one of ${words.join(', ')}.`);
}
