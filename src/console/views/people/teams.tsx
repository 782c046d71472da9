import { read } from '../../api/client.ts';
import { type PagedList, usePages } from '../../api/pages.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Filters, Select } from '../../design/field.tsx';
import { figure } from '../../design/format.ts';
import { Empty, Failure, Skeleton } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { Tag } from '../../design/tag.tsx';
import { When } from '../../design/written.tsx';
import { go, hrefWith, param, setParams } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import type { TeamAnswer } from './drafts.ts';
import { FullestFund, useFunds } from './headroom.tsx';
import { TeamPanel } from './team-panel.tsx';
import { ORIGINS } from './words.ts';

const ORIGIN_OPTIONS = Object.entries(ORIGINS).map(([value, label]) => ({ value, label }));

/** Teams with the budget that is fullest. */
export function TeamsTab({ id }: { readonly id: string | null }) {
  const teams = usePages('/admin/teams', { origin: param('origin') }, { every: null });
  const list = hrefWith({ edit: null }, '/people/teams');
  const changed = async (team: string) => {
    const result = await read(`/admin/teams/${team}`);
    teams.put(team, result.ok ? result.value : null);
  };
  return (
    <>
      <div class="people-bar">
        <Filters onClear={param('origin') === '' ? null : () => setParams({ origin: null })}>
          <Select
            isBare
            label="Origin"
            value={param('origin')}
            options={[{ value: '', label: 'Any origin' }, ...ORIGIN_OPTIONS]}
            onValue={(origin) => setParams({ origin })}
          />
        </Filters>
        {reachOfViewer('teams.change') !== null && (
          <ButtonLink kind="first" href={hrefWith({ edit: null }, '/people/teams/new')}>
            Make team
          </ButtonLink>
        )}
      </div>
      <TeamTable teams={teams} current={id} />
      {id !== null && (
        <TeamPanel
          key={id}
          id={id}
          closeHref={list}
          onMade={(team) => {
            teams.renew();
            go(hrefWith({ origin: null }, `/people/teams/${team}`));
          }}
          onChange={() => void changed(id)}
        />
      )}
    </>
  );
}

function TeamTable({ teams, current }: { readonly teams: PagedList<TeamAnswer>; readonly current: string | null }) {
  const fundsOf = useFunds();
  if (teams.rows.length === 0 && teams.failure) {
    return <Failure what="Teams" failure={teams.failure} onRetry={teams.renew} />;
  }
  if (teams.rows.length === 0 && teams.isLoading) return <Skeleton rows={6} />;
  if (teams.rows.length === 0) {
    return param('origin') === '' ? (
      <Empty title="No team yet">
        Make one here, or declare it under <code>teams</code> in the policy. A team has members, models, limits and
        budgets.
      </Empty>
    ) : (
      <Empty title="No team has this origin">Clear the filter to see the others.</Empty>
    );
  }
  return (
    <section class="card" aria-label="Teams">
      <Table
        label="Teams"
        rows={teams.rows}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefWith({ edit: null }, `/people/teams/${id}`)}
        current={current ?? undefined}
        onEnd={teams.more}
        columns={[
          {
            id: 'name',
            head: 'Team',
            cell: ({ name }) => <span class="table-name">{name}</span>,
            sort: ({ name }) => name,
          },
          {
            id: 'origin',
            head: 'Origin',
            phone: 'fact',
            cell: ({ origin }) => <Tag>{ORIGINS[origin]}</Tag>,
            sort: ({ origin }) => origin,
          },
          {
            id: 'users',
            head: 'Members',
            isFigure: true,
            figures: ({ users }) => [figure(users)],
            sort: ({ users }) => users,
          },
          {
            id: 'models',
            head: 'Models',
            cell: ({ models }) => (models === null ? <span class="dim">All</span> : models.length),
          },
          {
            id: 'budget',
            head: 'Fullest budget',
            phone: 'second',
            cell: ({ id, budgets }) => <FullestFund budgets={budgets} funds={fundsOf(id)} />,
          },
          {
            id: 'made',
            head: 'Made',
            cell: ({ created_at }) => <When at={created_at} />,
            sort: ({ created_at }) => created_at,
          },
        ]}
      />
    </section>
  );
}
