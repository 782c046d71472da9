import type { TSchema } from '@sinclair/typebox';
import { PeopleError } from '../access/people-terms.ts';
import type { BudgetUse, KeyBudget } from '../core/caller.ts';
import type { BudgetHolder } from '../core/holder.ts';
import { NO_TERMS } from '../core/people.ts';
import type { SourcePlace } from '../core/source-place.ts';
import { TEAM_ORIGINS, type Team as TeamRow } from '../store/people.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import { pageOfList } from './use-cases/pages.ts';
import { foundTeam, type PeopleDesk, unrevokedKeys } from './use-cases/people.ts';

/** The services that operations on teams and users use. */
export interface PeopleServices extends PeopleDesk {
  /** What is spent of budgets, as a running server has it, or as the database has it. */
  usesOf(holder: BudgetHolder, budgets: readonly KeyBudget[], now: number): Promise<readonly BudgetUse[]>;
  /** Where the active policy states its teams, by name; empty where no server runs. */
  teamPlaces(): ReadonlyMap<string, SourcePlace>;
}
const operation = operationsOn<PeopleServices>();

const PAGE_LIMIT = 100;

/** What a query states of the page that it wants. @param of the rows of the list */
export const pageInput = (of: string) => ({
  after: f.optional(f.text(`The ID of the last ${of} of the page before.`)),
  limit: f.pageSize({ most: 1_000, unlessGiven: PAGE_LIMIT }),
});

/** A page of rows in the order of their IDs. @param item the schema of a row */
export function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { after, limit = PAGE_LIMIT }: { readonly after?: string | undefined; readonly limit?: number | undefined },
  item: TSchema,
) {
  const next = after === undefined ? rows : rows.filter(({ id }) => id > after);
  const { rows: data, hasMore } = pageOfList(next, limit, f.sizedAs(item));
  return { data, hasMore };
}

export const SHOWN = 'An owner, admin, auditor or finance sees all, a lead its team, a member itself.';

const team = {
  id: f.text('Its ID.', 'team_0mtqg5k3w4x1b7q2z'),
  name: f.text('Its name.', 'search'),
  origin: f.word(
    TEAM_ORIGINS,
    'The one place that changes it: `api`, or `policy`. `former`: a policy that no longer has it.',
    'api',
  ),
  ...terms.teamTerms,
  member_defaults: f.shape('Terms of each member that states none of its own.', terms.teamTerms),
  users: f.count('The number of its users.', 12),
  created_at: f.moment('When it was made.'),
};
export const Team = f.named('Team', 'A team, with its terms.', team);
export const TeamStatus = f.named('TeamStatus', 'A team, with its money.', {
  ...team,
  budgets: f.list(terms.BudgetStatus, 'The current state of its budgets.'),
  declared_at: f.orNull(
    f.shape('Where the active policy declares it; null for another team.', {
      file: f.text('The file.', 'policies/teams.yaml'),
      line: f.count('The line, from 1.', 12),
    }),
  ),
});
export const TeamList = f.page('TeamList', 'Teams.', Team, 'In the order in which they were made.');
export const Removal = f.named('Removal', 'What was removed.', {
  id: f.text('Its ID.', 'user_0mtqg5k3w9c8d2f5a'),
  object: f.always('removed'),
  revoked_keys: f.count('The number of its keys that were revoked.', 1),
});

const name = terms.keptText('Its name, which no other team has.', 'search');
const stated = {
  ...terms.teamInput,
  member_defaults: f.inCommand(f.orNull(terms.MemberTermsInput), { flag: 'member' }),
};
const TeamInput = f.body('A team to make.', { name, ...f.allOptional(stated) });
const TeamChange = f.body(
  'What to change. Absent members stay, null removes.',
  f.allOptional({
    name,
    ...stated,
    origin: f.word(
      ['api', 'policy'],
      '`policy` hands the team to the policy, whose next load sets its terms. `api` takes over a team that the policy no longer has.',
    ),
  }),
);

const patched = (
  before: Pick<TeamRow, 'name' | 'memberDefaults' | keyof typeof NO_TERMS>,
  { name: renamed = before.name, memberDefaults = {}, origin, ...patch }: f.ValueOf<typeof TeamChange>,
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

/** `/admin/teams` and `signalbox teams`. */
export const TEAM_OPERATIONS = [
  operation({
    name: 'teams create',
    http: 'POST /admin/teams',
    action: 'teams.change',
    summary: 'Make a team',
    details:
      'Makes a team. Its terms apply to all of its keys and users together, in addition to the terms of the organization, of each user and of each key. A team can be declared in the policy instead, in its section `teams`.',
    input: TeamInput,
    output: Team,
    answer: 'The team.',
    examples: {
      budget: {
        summary: 'With a budget, and one for each member',
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
    http: 'GET /admin/teams',
    action: 'people.read',
    summary: 'List teams',
    details: `Lists the teams of the policy and those made through the API. ${SHOWN}`,
    input: f.body('Which teams.', {
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
    http: 'GET /admin/teams/:id',
    action: 'people.read',
    idForm: 'NAME|ID',
    summary: 'Show a team',
    details:
      'Finds a team by its ID or its name, with what is spent of its budgets and what will be at the end of their windows. The header `etag` has its version.',
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
    http: 'PATCH /admin/teams/:id',
    action: 'teams.change',
    idForm: 'NAME|ID',
    summary: 'Change a team',
    details: `Changes a team that was made through the API. A team of the policy is changed there.`,
    input: TeamChange,
    output: Team,
    answer: 'The team.',
    examples: {
      limits: { summary: 'Another limit; the rest stays', value: { limits: { requests_per_minute: 600 } } },
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
    http: 'DELETE /admin/teams/:id',
    action: 'teams.change',
    idForm: 'NAME|ID',
    summary: 'Remove a team',
    details: `Removes a team that has no users and no unrevoked keys. Earlier usage keeps its ID.`,
    output: Removal,
    answer: 'Its ID.',
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
