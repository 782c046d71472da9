import type { UserRole } from '../../../core/people/people.ts';
import { Actions } from '../../kit/actions.tsx';
import { Detail } from '../../kit/detail.tsx';
import { optionsOf } from '../../kit/draft.ts';
import type { FormPart } from '../../kit/field.ts';
import { below, Listing, type Place } from '../../kit/listing.tsx';
import { Related } from '../../kit/related.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';
import { Budgets, fullestFundColumn, useFunds } from './headroom.tsx';
import { KeyState, UserState } from './marks.tsx';
import { RecentTrail } from './recent-trail.tsx';
import { termsParts } from './terms.tsx';
import {
  keyName,
  limitsText,
  modelsText,
  ROLE_WORDS,
  teamOptions,
  type UserAnswer,
  type UserMoney,
  userName,
  useTeams,
} from './words.ts';

/** The list of members, with filters and the actions that create, change, suspend and remove members. */
export function MembersTab({ id }: { readonly id: string | null }) {
  const fundsOf = useFunds();
  const teams = useTeams().data?.data ?? [];
  const isAlone = reachOfViewer('people.read') === 'own';
  return (
    <Listing
      path="/admin/users"
      what="Members"
      noun="member"
      every={null}
      filters={
        isAlone
          ? []
          : [
              { of: 'search', param: 'q', label: 'Name or email' },
              { of: 'team', label: 'Team', any: 'Any team', options: teamOptions(teams) },
              { of: 'role', label: 'Role', any: 'Any role', options: optionsOf(ROLE_WORDS) },
              {
                of: 'state',
                label: 'State',
                any: 'Any state',
                options: optionsOf({ active: 'Active', suspended: 'Suspended' }),
              },
            ]
      }
      mayMake={!isAlone && reachOfViewer('people.change') !== null}
      columns={[
        { head: 'Member', name: userName },
        { of: 'email' },
        { head: 'Role', cell: ({ role }) => ROLE_WORDS[role], sort: ({ role }) => ROLE_WORDS[role] },
        { head: 'Team', of: 'team_name' },
        { of: 'state', cell: ({ state }) => <UserState state={state} />, phone: 'fact' },
        fullestFundColumn<UserAnswer>(({ id, budgets }) => ({ budgets, funds: fundsOf(id) })),
      ]}
      empty={['No member yet', 'Members appear here when they sign in with OpenID, or when you create them.']}
      at={below('/people/members')}
      id={id}
      panel={(place) => <MemberPanel key={place.id} place={place} />}
    />
  );
}

const HIGH: ReadonlySet<UserRole> = new Set(['owner', 'admin']);

/** Whether the viewer may change a member. Only owners change owners and admins, and a lead changes the members of the own team. */
function mayChange(role: UserRole): boolean {
  const reach = reachOfViewer('people.change');
  const isOwner = session.value.state === 'in' && session.value.viewer.role === 'owner';
  if (reach === null || (HIGH.has(role) && !isOwner)) return false;
  return reach === 'all' || role === 'member';
}

const SHOWN = 20;

function MemberPanel({ place }: { readonly place: Place<UserAnswer> }) {
  const teams = useTeams().data?.data ?? [];
  const team = { of: 'team', label: 'Team', options: [{ value: '', label: 'No team' }, ...teamOptions(teams)] };
  const parts: readonly FormPart[] = [
    { of: 'name', label: 'Name' },
    {
      of: 'email',
      label: 'Email',
      type: 'email',
      hint: 'Only for display. Signalbox does not identify members by email.',
    },
    ...(reachOfViewer('people.change') === 'all' ? [[ROLE, team]] : []),
    ...termsParts('the model list for members of the team applies'),
  ];
  return (
    <Detail
      place={place}
      noun="member"
      path={`/admin/users/${place.id}`}
      title={userName}
      form={{ path: '/admin/users', parts: () => parts }}
    >
      {(user) => (
        <>
          <MemberActions of={user} onRemoved={place.removed} />
          <Facts
            of={user}
            facts={[
              'id',
              ['Email', 'email', 'None'],
              ['Role', ({ role }) => ROLE_WORDS[role]],
              [
                'Team',
                ({ team: id, team_name }) => id && <a href={hrefOf(`/people/teams/${id}`)}>{team_name ?? id}</a>,
                'None',
              ],
              ['Models', ({ in_force }) => modelsText(in_force.models), 'All models that the team may use'],
              ['Rate limits', ({ in_force }) => limitsText(in_force.limits), 'None'],
              ['Signs in at', 'issuer', 'Nowhere: this member uses only keys'],
              ['Created', 'created_at'],
              'suspended_at',
            ]}
          />
          <section class="stack-tight">
            <h3>Budgets</h3>
            <Budgets of={user.in_force.budgets} holder={user.id} none="The member has no budget of their own." />
          </section>
          <Related
            heading="Keys"
            path="/admin/keys"
            query={{ user: user.id, limit: SHOWN }}
            link={
              reachOfViewer('keys.change') !== null && (
                <a href={hrefOf('/people/keys/new', { user: user.id })}>Create key</a>
              )
            }
            none="None."
            row={(key) => (
              <>
                <a href={hrefOf(`/people/keys/${key.id}`)}>{keyName(key)}</a>
                <KeyState state={key.state} />
              </>
            )}
            more={<a href={hrefOf('/people/keys', { user: user.id })}>All keys</a>}
          />
          <RecentTrail subject={user.id} />
        </>
      )}
    </Detail>
  );
}

const ROLE = {
  of: 'role',
  label: 'Role',
  usual: 'member',
  options: ({ role: now }: Readonly<Record<string, unknown>>) =>
    optionsOf(ROLE_WORDS).filter(({ value }) => value === now || mayChange(value as UserRole)),
};

function MemberActions({ of: { id, role, state, ...user }, onRemoved }: { readonly of: UserMoney; onRemoved(): void }) {
  const name = userName({ id, ...user });
  const path = `/admin/users/${id}`;
  const [suspended, resumed] = [`${name} is suspended, with all keys and logins.`, `${name} is active again.`];
  if (!mayChange(role)) return <UserState state={state} />;
  return (
    <Actions
      of={[
        { label: 'Change', href: hrefWith({ edit: 'yes' }) },
        state === 'active'
          ? {
              label: 'Suspend',
              slot: 'state',
              path: `${path}/suspend`,
              done: suspended,
              undo: [`${path}/resume`, resumed],
            }
          : {
              label: 'Resume',
              slot: 'state',
              path: `${path}/resume`,
              done: resumed,
              undo: [`${path}/suspend`, suspended],
            },
        {
          label: 'Remove',
          kind: 'danger',
          path,
          method: 'DELETE',
          done: `${name} is removed.`,
          question: [
            `Remove ${name}?`,
            'All keys of the member are revoked within a second, and the name and email are erased. You cannot undo this. To lock a member out for some time, suspend the member instead.',
            'Remove member',
          ],
          onDone: onRemoved,
        },
      ]}
    >
      <UserState state={state} />
    </Actions>
  );
}
