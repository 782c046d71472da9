import type { People } from '../access/people.ts';
import type { UserDraft } from '../access/people-body.ts';
import type { ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { INHERITED, NO_TERMS, USER_ROLES } from '../core/people/people.ts';
import { plural } from '../core/text/text.ts';
import type { User as UserRow } from '../store/people.ts';
import { type Call, operationsOn } from './kit/operation.ts';
import { type PeopleServices, pageInput, pageOf, Removal, SHOWN } from './teams.ts';
import * as terms from './terms.ts';
import {
  checkGrant,
  checkKeysOf,
  checkPerson,
  foundUser,
  isReached,
  membershipOf,
  ownersIn,
  type Reaching,
  removeUser,
} from './use-cases/people.ts';

const operation = operationsOn<PeopleServices>();
const LEAD =
  'A lead can change only members of its own team. Only an owner can change users with the role owner or admin.';
const STATES = ['active', 'suspended'] as const;

const user = {
  id: f.text('The ID of the user.', 'user_0mtqg5k3w9c8d2f5a'),
  name: f.text('The name of the user, for display.', 'Ada Lovelace'),
  email: f.orNull(f.text('The email address of the user, for display.', 'ada@example.com')),
  issuer: f.orNull(
    f.text('The issuer that the user signs in with; null for a user that cannot sign in.', 'https://id.example.com'),
  ),
  sub: f.orNull(f.text('The claim `sub` of the user at that issuer.', '248289761001')),
  team: f.orNull(f.text('The ID of the user’s team; null for none.', 'team_0mtqg5k3w4x1b7q2z')),
  team_name: f.orNull(f.text('The name of the user’s team.', 'search')),
  role: f.word(USER_ROLES, 'The role of the user.', 'member'),
  ...terms.userTerms,
  state: f.word(STATES, '`active`, or `suspended`: the keys and logins of the user are refused.', 'active'),
  created_at: f.moment('When the user was created.'),
  suspended_at: f.orNull(f.moment('When the user was suspended; null if the user is not suspended.'), undefined, null),
};
export const User = f.named('User', 'A user, with its terms.', user);
export const UserStatus = f.named('UserStatus', 'A user, with its money.', {
  ...user,
  in_force: f.shape('The terms that apply to the user: its own, or else the defaults for members.', {
    ...terms.teamTerms,
    budgets: f.list(terms.BudgetStatus, 'The current state of the user’s budgets.'),
  }),
});
export const UserList = f.page('UserList', 'Users.', User, 'In the order in which they were created.');

const UserInput = f.closed(
  'A user. In a change, absent members stay unchanged and null removes a member.',
  f.allOptional({
    name: terms.removable(terms.keptText('The name of the user, for display.', 'Ada Lovelace')),
    email: terms.removable(
      terms.keptText(
        'The email address of the user, only for display: it does not identify a person.',
        'ada@example.com',
      ),
    ),
    issuer: terms.removable(
      terms.keptText('The issuer that the user signs in with. Set it together with `sub`.', 'https://id.example.com'),
    ),
    sub: terms.removable(terms.keptText('The claim `sub` of the user at that issuer.', '248289761001')),
    team: terms.removable(f.text('The ID or the name of the user’s team.', 'search')),
    role: f.word(USER_ROLES, 'The role of the user. `lead` and `member` need a team.', 'member'),
    ...terms.userInput,
  }),
);
type UserPatch = ValueOf<typeof UserInput>;

const NEW_USER: UserDraft = {
  name: '',
  email: null,
  issuer: null,
  sub: null,
  team: null,
  role: 'member',
  terms: INHERITED,
};

function patched(people: People, before: UserDraft, patch: UserPatch): UserDraft {
  const { name = before.name, email = before.email, issuer = before.issuer, sub = before.sub } = patch;
  const { role = before.role, team: stated } = patch;
  const team = stated === undefined ? before.team : membershipOf(people, { team: stated }).team;
  return { name: name ?? '', email, issuer, sub, role, team, terms: terms.patchedTerms(before.terms, patch) };
}

const shown = ({ people }: Pick<PeopleServices, 'people'>, { terms: own, ...row }: UserRow) => ({
  ...row,
  ...own,
  teamName: row.team === null ? null : (people.team(row.team)?.name ?? null),
  state: row.suspendedAt === null ? STATES[0] : STATES[1],
  tag: people.tagOf(row.id),
});

const reachingOf = ({ by, reach }: Call & Pick<Reaching, 'reach'>): Reaching => ({ caller: by.caller, reach });

const suspension = (isSuspended: boolean) => async (desk: PeopleServices, call: Call & Pick<Reaching, 'reach'>) => {
  const row = foundUser(desk.people, call.id, reachingOf(call));
  await checkKeysOf(reachingOf(call), desk.keys, row);
  return shown(desk, await desk.people.suspendUser(row.id, isSuspended, call.by.actor));
};

/** The operations of `/admin/users` and `signalbox users`. */
export const USER_OPERATIONS = [
  operation({
    name: 'users create',
    use: 'to create keys for a person before the person has signed in.',
    example: 'users create --name "Ada Lovelace" --email ada@example.com --team search --role member',
    http: 'POST /admin/users',
    action: 'people.change',
    summary: 'Create a user',
    details: `Creates a user, who can then have keys. A person who signs in does not need this, because the sign-in creates the user. ${LEAD}`,
    input: UserInput,
    output: User,
    answer: 'The user.',
    examples: {
      member: {
        summary: 'A member of a team',
        value: { name: 'Ada Lovelace', email: 'ada@example.com', team: 'search' },
      },
    },
    errorField: 'role',
    errors: ['conflict'],
    isTagged: true,
    async run(desk, call, input) {
      const { by, reach } = call;
      const reaching = reachingOf(call);
      checkPerson(reaching, input);
      const team = input.team === undefined && reach === 'team' ? (by.caller.team ?? null) : input.team;
      const draft = patched(desk.people, NEW_USER, { ...input, team });
      checkGrant(reaching, draft);
      const maker = reach === 'all' ? null : (by.caller.user ?? by.caller.keyId);
      return shown(desk, await desk.people.createUser(draft, by.actor, maker));
    },
  }),
  operation({
    name: 'users list',
    use: 'to find a user.',
    example: 'users list --team search',
    http: 'GET /admin/users',
    action: 'people.read',
    summary: 'List users',
    details: `Lists the users that match all filters. ${SHOWN}`,
    input: f.closed('Which users.', {
      team: f.optional(f.text('The ID or the name of the users’ team.')),
      role: f.optional(f.word(USER_ROLES, `One of ${USER_ROLES.join(', ')}.`)),
      state: f.optional(f.word(STATES, '`active` or `suspended`.')),
      search: f.optional(f.text('A part of the name or the email address. Upper and lower case are the same.')),
      ...pageInput('user'),
    }),
    output: UserList,
    answer: 'The page.',
    errorField: 'limit',
    prints: { columns: ['id', 'name', 'email', 'team_name', 'role', 'state'] },
    async run(desk, call, { team, role, state, search, ...page }) {
      const { people } = desk;
      const { team: of } = ownersIn(people, call.by, { team });
      const part = search?.toLowerCase() ?? '';
      const isWanted = (row: UserRow) =>
        isReached(reachingOf(call), row) &&
        (of === undefined || row.team === of) &&
        (role ?? row.role) === row.role &&
        (state === undefined || (state === 'suspended') === (row.suspendedAt !== null)) &&
        [row.name, row.email ?? ''].some((text) => text.toLowerCase().includes(part));
      const rows = people
        .users()
        .filter(isWanted)
        .map((row) => shown(desk, row));
      return pageOf(rows, page, User);
    },
  }),
  operation({
    name: 'users show',
    use: 'to see how much a user has spent.',
    example: 'users show ada@example.com',
    http: 'GET /admin/users/:id',
    action: 'people.read',
    idForm: 'ID|EMAIL',
    summary: 'Show a user',
    details:
      'Finds a user by ID, or by email address if no other user has the same address. Returns the terms that apply to the user, and how much of its budgets is spent. The header `etag` has the version of the user.',
    output: UserStatus,
    answer: 'The user.',
    isTagged: true,
    async run(desk, call) {
      const row = foundUser(desk.people, call.id, reachingOf(call));
      const levels = desk.people.termsOf({ user: row.id, ...(row.team !== null && { team: row.team }) });
      const applying = levels.find(({ kind }) => kind === 'user') ?? NO_TERMS;
      const uses = await desk.usesOf({ kind: 'user', id: row.id }, applying.budgets, call.now);
      return { ...shown(desk, row), inForce: { ...applying, budgets: uses.map(terms.budgetStatus) } };
    },
  }),
  operation({
    name: 'users change',
    use: 'to change the role, the team or the limits of a user.',
    example: 'users change ada@example.com --role lead',
    http: 'PATCH /admin/users/:id',
    action: 'people.change',
    idForm: 'ID|EMAIL',
    summary: 'Change a user',
    details: `Changes a user. If the team changes, the keys of the user move to the new team, too. ${LEAD}`,
    input: UserInput,
    output: User,
    answer: 'The user.',
    examples: {
      lead: { summary: 'A lead', value: { role: 'lead' } },
      budget: {
        summary: 'Set a budget for this user',
        value: { budgets: [{ limit_credits: 20_000, window: 'month' }] },
      },
    },
    errorField: 'role',
    errors: ['conflict'],
    isTagged: true,
    takesTags: true,
    async run(desk, call, patch) {
      const by = reachingOf(call);
      const row = foundUser(desk.people, call.id, by);
      checkPerson(by, patch);
      // The terms of a user apply to every key of the user.
      const { models, limits, budgets } = patch;
      if ([models, limits, budgets].some((one) => one !== undefined)) await checkKeysOf(by, desk.keys, row);
      const alter = (before: UserRow) => {
        checkGrant(by, before);
        const draft = patched(desk.people, before, patch);
        checkGrant(by, draft);
        return draft;
      };
      return shown(desk, await desk.people.changeUser(row.id, alter, call.by.actor, call.tags));
    },
  }),
  operation({
    name: 'users suspend',
    use: 'to keep a person out.',
    example: 'users suspend ada@example.com',
    http: 'POST /admin/users/:id/suspend',
    action: 'people.change',
    idForm: 'ID|EMAIL',
    summary: 'Suspend a user',
    details: 'Refuses the keys and logins of a user within a second, until you resume the user.',
    output: User,
    answer: 'The user.',
    differs: { state: 'suspended', suspended_at: '2026-11-20T15:00:00.000Z' },
    run: suspension(true),
  }),
  operation({
    name: 'users resume',
    use: 'to let a suspended person in again.',
    example: 'users resume ada@example.com',
    http: 'POST /admin/users/:id/resume',
    action: 'people.change',
    idForm: 'ID|EMAIL',
    summary: 'Resume a user',
    details: 'Accepts the keys and logins of a suspended user again.',
    output: User,
    answer: 'The user.',
    run: suspension(false),
  }),
  operation({
    name: 'users delete',
    use: 'when a person has left and asks for the deletion of personal data.',
    example: 'users delete ada@example.com',
    http: 'DELETE /admin/users/:id',
    action: 'people.change',
    idForm: 'ID|EMAIL',
    summary: 'Delete a user',
    details: `Revokes the keys of a user and erases the user’s name, email address, issuer and sub. Reports on earlier usage keep the ID. If the person signs in again, the sign-in creates a new user. To keep a person out, suspend the user instead.`,
    output: Removal,
    answer: 'The ID of the deleted user.',
    takesTags: true,
    prints: ({ id, revoked_keys: revoked }: { readonly id: string; readonly revoked_keys: number }) =>
      `Removed ${id}, and revoked ${plural(revoked, 'key')}.\n`,
    async run(desk, { by, id, tags }) {
      const { user: row, revoked } = await removeUser(by, desk, id, tags);
      return { id: row.id, revokedKeys: revoked };
    },
  }),
];
