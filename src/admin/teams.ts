import type { TSchema } from '@sinclair/typebox';
import { PeopleError } from '../access/people-terms.ts';
import { sizedAs, type ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import type { BudgetUse, KeyBudget } from '../core/people/caller.ts';
import type { BudgetHolder } from '../core/people/holder.ts';
import { NO_TERMS } from '../core/people/people.ts';
import type { SourcePlace } from '../core/source-place.ts';
import { TEAM_ORIGINS, type Team as TeamRow } from '../store/people.ts';
import { operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import { pageOfList } from './use-cases/pages.ts';
import { foundTeam, type PeopleDesk, unrevokedKeys } from './use-cases/people.ts';

/** The services that operations on teams and users use. */
export interface PeopleServices extends PeopleDesk {
  /** The spend of budgets, from the running server or from the database. */
  usesOf(holder: BudgetHolder, budgets: readonly KeyBudget[], now: number): Promise<readonly BudgetUse[]>;
  /** Where the active policy declares its teams, by name; empty if no server runs. */
  teamPlaces(): ReadonlyMap<string, SourcePlace>;
}
const operation = operationsOn<PeopleServices>();

const PAGE_LIMIT = 100;

/** The query parameters of a page. @param of the noun of the items */
export const pageInput = (of: string) => ({
  after: f.optional(f.text(`The ID of the last ${of} of the previous page.`)),
  limit: f.pageSize({ most: 1_000, unlessGiven: PAGE_LIMIT }),
});

/** Returns a page of rows, sorted by ID. @param item the schema of a row */
export function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { after, limit = PAGE_LIMIT }: { readonly after?: string | undefined; readonly limit?: number | undefined },
  item: TSchema,
) {
  const next = after === undefined ? rows : rows.filter(({ id }) => id > after);
  const { rows: data, hasMore } = pageOfList(next, limit, sizedAs(item));
  return { data, hasMore };
}

export const SHOWN = 'Owners, admins, auditors and finance see all. A lead sees its team, a member sees only itself.';

const team = {
  id: f.text('The ID of the team.', 'team_0mtqg5k3w4x1b7q2z'),
  name: f.text('The name of the team.', 'search'),
  origin: f.word(
    TEAM_ORIGINS,
    'Where the team can be changed: through the `api`, or in the `policy`. `former`: the team comes from a policy that no longer declares it.',
    'api',
  ),
  ...terms.teamTerms,
  member_defaults: f.shape('Terms for each member that has no terms of its own.', terms.teamTerms),
  users: f.count('The number of the team’s users.', 12),
  created_at: f.moment('When the team was created.'),
};
export const Team = f.named('Team', 'A team, with its terms.', team);
export const TeamStatus = f.named('TeamStatus', 'A team, with its money.', {
  ...team,
  budgets: f.list(terms.BudgetStatus, 'The current state of the team’s budgets.'),
  declared_at: f.orNull(
    f.shape('Where the active policy declares the team; null for a team that the policy does not declare.', {
      file: f.text('The file.', 'policies/teams.yaml'),
      line: f.count('The line, from 1.', 12),
    }),
  ),
});
export const TeamList = f.page('TeamList', 'Teams.', Team, 'Teams, in the order in which they were created.');
export const Removal = f.named('Removal', 'What was removed.', {
  id: f.text('The ID of the user.', 'user_0mtqg5k3w9c8d2f5a'),
  object: f.always('removed'),
  revoked_keys: f.count('The number of the team’s keys that were revoked.', 1),
});

const name = terms.keptText('The name of the team. No other team may have the same name.', 'search');
const stated = {
  ...terms.teamInput,
  member_defaults: f.inCommand(f.orNull(terms.MemberTermsInput), { flag: 'member' }),
};
const TeamInput = f.closed('A team to make.', { name, ...f.allOptional(stated) });
const TeamChange = f.closed(
  'Terms to change. Absent members stay unchanged, and null removes a term.',
  f.allOptional({
    name,
    ...stated,
    origin: f.word(
      ['api', 'policy'],
      '`policy` hands the team over to the policy, and the next load of the policy sets its terms. `api` takes over a team that the policy no longer declares.',
    ),
  }),
);

const patched = (
  before: Pick<TeamRow, 'name' | 'memberDefaults' | keyof typeof NO_TERMS>,
  { name: renamed = before.name, memberDefaults = {}, origin, ...patch }: ValueOf<typeof TeamChange>,
) => ({
  name: renamed,
  ...terms.patchedGroup(before, patch),
  memberDefaults: memberDefaults === null ? NO_TERMS : terms.patchedGroup(before.memberDefaults, memberDefaults),
  ...(origin !== undefined && { origin }),
});

const shown = ({ people }: PeopleDesk, row: TeamRow) => ({
  ...row,
  users: people.users().filter(({ team: of }) => of === row.id).length,
  tag: people.tagOf(row.id),
});

/** The operations of `/admin/teams` and `signalbox teams`. */
export const TEAM_OPERATIONS = [
  operation({
    name: 'teams create',
    use: 'to let several people or applications share a budget.',
    example: 'teams create --name search --budget 50,000/month --member-budget 20USD/month',
    http: 'POST /admin/teams',
    action: 'teams.change',
    summary: 'Create a team',
    details:
      'Creates a team. The terms of a team apply to all of its keys and users together, in addition to the terms of the organization, of each user and of each key. You can also declare a team in the section `teams` of the policy.',
    input: TeamInput,
    output: Team,
    answer: 'The team.',
    examples: {
      budget: {
        summary: 'With a budget for the team, and a budget for each member',
        value: {
          name: 'search',
          budgets: [{ limit_credits: 200_000, window: 'month', time_zone: 'Europe/Berlin' }],
          member_defaults: { budgets: [{ limit_credits: 5_000, window: 'month' }] },
        },
      },
    },
    errorField: 'name',
    errors: ['conflict'],
    isTagged: true,
    async run(desk, { by }, input) {
      const draft = patched({ name: '', ...NO_TERMS, memberDefaults: NO_TERMS }, input);
      return shown(desk, await desk.people.createTeam(draft, by.actor));
    },
  }),
  operation({
    name: 'teams list',
    use: 'to find a team.',
    example: 'teams list --origin api',
    http: 'GET /admin/teams',
    action: 'people.read',
    summary: 'List teams',
    details: `Lists the teams of the policy and the teams created through the API. ${SHOWN}`,
    input: f.closed('Which teams.', {
      origin: f.optional(f.word(TEAM_ORIGINS, `One of ${TEAM_ORIGINS.join(', ')}.`)),
      ...pageInput('team'),
    }),
    output: TeamList,
    answer: 'The page.',
    errorField: 'limit',
    prints: { columns: ['id', 'name', 'origin', 'users', 'budgets', 'models'] },
    async run({ people }, { by, reach }, { origin, ...page }) {
      const wanted = people
        .teams()
        .filter((row) => (reach === 'all' || row.id === by.caller.team) && (origin ?? row.origin) === row.origin);
      const members = Map.groupBy(people.users(), ({ team: of }) => of);
      const rows = wanted.map((row) => ({ ...row, users: members.get(row.id)?.length ?? 0 }));
      return pageOf(rows, page, Team);
    },
  }),
  operation({
    name: 'teams show',
    use: 'to see how much a team has spent.',
    example: 'teams show search',
    http: 'GET /admin/teams/:id',
    action: 'people.read',
    idForm: 'NAME|ID',
    summary: 'Show a team',
    details:
      'Finds a team by its ID or its name. Returns how much of its budgets is spent, and how much will be spent by the end of their windows at the current rate. The header `etag` has the version of the team.',
    output: TeamStatus,
    answer: 'The team.',
    isTagged: true,
    async run(desk, { by, reach, id, now }) {
      const row = foundTeam(desk.people, id, reach === 'all' ? null : (by.caller.team ?? ''));
      const { file = '', line = 0 } = (row.origin === 'policy' && desk.teamPlaces().get(row.name)) || {};
      const uses = await desk.usesOf({ kind: 'team', id: row.id }, row.budgets, now);
      const declaredAt = file === '' ? null : { file, line };
      return { ...shown(desk, row), budgets: uses.map(terms.budgetStatus), declaredAt };
    },
  }),
  operation({
    name: 'teams change',
    use: 'to change the limits of a team.',
    example: 'teams change search --budget 80000/month',
    http: 'PATCH /admin/teams/:id',
    action: 'teams.change',
    idForm: 'NAME|ID',
    summary: 'Change a team',
    details: `Changes a team that was created through the API. To change a team of the policy, edit the policy.`,
    input: TeamChange,
    output: Team,
    answer: 'The team.',
    examples: {
      limits: { summary: 'Change one limit and keep the other terms', value: { limits: { requests_per_minute: 600 } } },
      models: { summary: 'All models', value: { models: null } },
    },
    errorField: 'name',
    errors: ['conflict'],
    isTagged: true,
    takesTags: true,
    async run(desk, { by, id, tags }, patch) {
      const row = foundTeam(desk.people, id);
      return shown(desk, await desk.people.changeTeam(row.id, (before) => patched(before, patch), by.actor, tags));
    },
  }),
  operation({
    name: 'teams delete',
    use: 'when a team no longer exists.',
    example: 'teams delete search',
    http: 'DELETE /admin/teams/:id',
    action: 'teams.change',
    idForm: 'NAME|ID',
    summary: 'Delete a team',
    details: `Deletes a team that has no users and whose keys are all revoked. Reports on earlier usage keep the ID of the team.`,
    output: Removal,
    answer: 'The ID of the deleted team.',
    differs: { id: 'team_0mtqg5k3w4x1b7q2z', revoked_keys: 0 },
    errors: ['conflict'],
    takesTags: true,
    prints: ({ id }: { readonly id: string }) => `Removed the team ${id}.\n`,
    async run({ people, keys }, { by, id: text, tags }) {
      const { id, name: called, origin } = foundTeam(people, text);
      const count = (await unrevokedKeys(keys, 'team', id)).length;
      const hasUsers = people.users().some(({ team: of }) => of === id);
      if (origin !== 'policy' && count > 0 && !hasUsers) throw PeopleError.inUse(called, count, 'key');
      await people.removeTeam(id, by.actor, tags);
      return { id, revokedKeys: 0 };
    },
  }),
];
