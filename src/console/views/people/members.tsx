import { read } from '../../api/client.ts';
import { type PagedList, usePages } from '../../api/pages.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Field, Filters, Select } from '../../design/field.tsx';
import { Empty, Failure, Skeleton } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { go, hrefWith, param, setParams } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import type { UserAnswer } from './drafts.ts';
import { FullestFund, useFunds } from './headroom.tsx';
import { UserState } from './marks.tsx';
import { MemberPanel } from './member-panel.tsx';
import { ROLE_WORDS, userName, useTeams } from './words.ts';

const ROLES = Object.entries(ROLE_WORDS).map(([value, label]) => ({ value, label }));
const NO_FILTERS = { q: null, team: null, role: null, state: null };

/** People: found, made, changed, suspended and removed. */
export function MembersTab({ id }: { readonly id: string | null }) {
  const filters = { search: param('q'), team: param('team'), role: param('role'), state: param('state') };
  const users = usePages('/admin/users', filters, { every: null });
  const changed = async (user: string) => {
    const result = await read(`/admin/users/${user}`);
    users.put(user, result.ok ? result.value : null);
  };
  return (
    <>
      <MemberFilters />
      <MemberTable users={users} current={id} isFiltered={Object.values(filters).some((one) => one !== '')} />
      {id !== null && (
        <MemberPanel
          key={id}
          id={id}
          closeHref={hrefWith({ edit: null }, '/people/members')}
          onMade={(user) => {
            users.renew();
            go(hrefWith(NO_FILTERS, `/people/members/${user}`));
          }}
          onChange={() => void changed(id)}
        />
      )}
    </>
  );
}

function MemberFilters() {
  const teams = useTeams().data?.data ?? [];
  const isSet = Object.keys(NO_FILTERS).some((name) => param(name) !== '');
  if (reachOfViewer('people.read') === 'own') return null;
  return (
    <div class="people-bar">
      <Filters onClear={isSet ? () => setParams(NO_FILTERS) : null}>
        <Field
          isBare
          label="Name or email"
          placeholder="Name or email"
          type="search"
          value={param('q')}
          onValue={(q) => setParams({ q })}
        />
        <Select
          isBare
          label="Team"
          value={param('team')}
          options={[{ value: '', label: 'Any team' }, ...teams.map(({ id, name }) => ({ value: id, label: name }))]}
          onValue={(team) => setParams({ team })}
        />
        <Select
          isBare
          label="Role"
          value={param('role')}
          options={[{ value: '', label: 'Any role' }, ...ROLES]}
          onValue={(role) => setParams({ role })}
        />
        <Select
          isBare
          label="State"
          value={param('state')}
          options={[
            { value: '', label: 'Any state' },
            { value: 'active', label: 'Active' },
            { value: 'suspended', label: 'Suspended' },
          ]}
          onValue={(state) => setParams({ state })}
        />
      </Filters>
      {reachOfViewer('people.change') !== null && (
        <ButtonLink kind="first" href={hrefWith({ edit: null }, '/people/members/new')}>
          Make member
        </ButtonLink>
      )}
    </div>
  );
}

interface MemberTableProps {
  readonly users: PagedList<UserAnswer>;
  readonly current: string | null;
  readonly isFiltered: boolean;
}

function MemberTable({ users, current, isFiltered }: MemberTableProps) {
  const fundsOf = useFunds();
  if (users.rows.length === 0 && users.failure) {
    return <Failure what="Members" failure={users.failure} onRetry={users.renew} />;
  }
  if (users.rows.length === 0 && users.isLoading) return <Skeleton rows={8} />;
  if (users.rows.length === 0) {
    return isFiltered ? (
      <Empty title="No member matches">Clear a filter to see more.</Empty>
    ) : (
      <Empty title="No member yet">Members sign in with OpenID, or are made here.</Empty>
    );
  }
  return (
    <section class="card" aria-label="Members">
      <Table
        label="Members"
        rows={users.rows}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefWith({ edit: null }, `/people/members/${id}`)}
        current={current ?? undefined}
        onEnd={users.more}
        columns={[
          {
            id: 'name',
            head: 'Member',
            cell: (user) => (
              <span class="table-name" title={user.id}>
                {userName(user)}
              </span>
            ),
            sort: userName,
          },
          {
            id: 'email',
            head: 'Email',
            cell: ({ email }) => email ?? <span class="dim">None</span>,
            sort: ({ email }) => email,
          },
          { id: 'role', head: 'Role', cell: ({ role }) => ROLE_WORDS[role], sort: ({ role }) => ROLE_WORDS[role] },
          {
            id: 'team',
            head: 'Team',
            cell: ({ team_name }) => team_name ?? <span class="dim">None</span>,
            sort: ({ team_name }) => team_name,
          },
          {
            id: 'state',
            head: 'State',
            phone: 'fact',
            cell: ({ state }) => <UserState state={state} />,
            sort: ({ state }) => state,
          },
          {
            id: 'budget',
            head: 'Fullest budget',
            phone: 'second',
            cell: ({ id, budgets }) => <FullestFund budgets={budgets} funds={fundsOf(id)} />,
          },
        ]}
      />
    </section>
  );
}
