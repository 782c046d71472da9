import { useEffect, useState } from 'preact/hooks';
import { read } from '../../api/client.ts';
import { type PagedList, usePages } from '../../api/pages.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Field, Filters, Select } from '../../design/field.tsx';
import { Empty, Failure, Skeleton } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { When } from '../../design/written.tsx';
import { go, hrefWith, param, setParams } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import type { KeyAnswer } from './drafts.ts';
import type { NewKey } from './key-form.tsx';
import { KeyPanel } from './key-panel.tsx';
import { KeyState, KeyTitle, keyHref, ownerText } from './marks.tsx';
import { KEY_STATES, keyName, namesIn, userName, useTeams, useUsers } from './words.ts';

const STATES = Object.entries(KEY_STATES).map(([value, { word }]) => ({ value, label: word }));
const NO_FILTERS = { q: null, state: null, team: null, user: null, label: null };

/** Keys: found, made, changed and ended. */
export function KeysTab({ id }: { readonly id: string | null }) {
  const filters = {
    search: param('q'),
    state: param('state'),
    team: param('team'),
    user: param('user'),
    label: param('label'),
  };
  const isNew = id === 'new';
  // The form for a new key begins with these; the list behind it stays as it was.
  const keys = usePages('/admin/keys', isNew ? {} : filters);
  // The one place that has a secret, until its panel closes.
  const [secret, setSecret] = useState<NewKey | null>(null);
  useEffect(() => {
    if (secret?.id !== id) setSecret(null);
  }, [id]);
  const list = hrefWith({ edit: null }, '/people/keys');
  const made = (key: NewKey) => {
    setSecret(key);
    keys.renew();
    go(hrefWith({ edit: null, ...(isNew && NO_FILTERS) }, `/people/keys/${key.id}`));
  };
  const renewed = async (changed: string) => {
    const result = await read(`/admin/keys/${changed}`);
    if (result.ok) keys.put(changed, result.value);
  };
  return (
    <>
      <KeyFilters label={keys.failure?.field === 'label' ? keys.failure.message : null} />
      <KeyTable keys={keys} current={id} isFiltered={Object.values(filters).some((one) => one !== '')} />
      {id !== null && (
        <KeyPanel
          key={id}
          id={id}
          closeHref={isNew ? hrefWith(NO_FILTERS, '/people/keys') : list}
          secret={secret?.id === id ? secret.key : null}
          onMade={made}
          onChange={() => void renewed(id)}
        />
      )}
    </>
  );
}

function KeyFilters({ label }: { readonly label: string | null }) {
  const teams = useTeams().data?.data ?? [];
  const users = useUsers(param('team') || null).data?.data ?? [];
  const isSet = Object.keys(NO_FILTERS).some((name) => param(name) !== '');
  const isWide = reachOfViewer('keys.read') !== 'own';
  return (
    <div class="people-bar">
      <Filters onClear={isSet ? () => setParams(NO_FILTERS) : null}>
        <Field
          isBare
          label="Name or ID"
          type="search"
          placeholder="Name or ID"
          value={param('q')}
          onValue={(q) => setParams({ q })}
        />
        <Select
          isBare
          label="State"
          value={param('state')}
          options={[{ value: '', label: 'Any state' }, ...STATES]}
          onValue={(state) => setParams({ state })}
        />
        {isWide && teams.length > 0 && (
          <Select
            isBare
            label="Team"
            value={param('team')}
            options={[{ value: '', label: 'Any team' }, ...teams.map(({ id, name }) => ({ value: id, label: name }))]}
            onValue={(team) => setParams({ team, user: null })}
          />
        )}
        {isWide && users.length > 0 && (
          <Select
            isBare
            label="Member"
            value={param('user')}
            options={[
              { value: '', label: 'Anybody' },
              ...users.map((user) => ({ value: user.id, label: userName(user) })),
            ]}
            onValue={(user) => setParams({ user })}
          />
        )}
        {isWide && (
          <Field
            isBare
            label="Label"
            placeholder="Label name=value"
            value={param('label')}
            onValue={(of) => setParams({ label: of })}
            error={label}
          />
        )}
      </Filters>
      {reachOfViewer('keys.change') !== null && (
        <ButtonLink kind="first" href={hrefWith({ edit: null }, '/people/keys/new')}>
          Make key
        </ButtonLink>
      )}
    </div>
  );
}

interface KeyTableProps {
  readonly keys: PagedList<KeyAnswer>;
  readonly current: string | null;
  readonly isFiltered: boolean;
}

function KeyTable({ keys, current, isFiltered }: KeyTableProps) {
  const team = namesIn(useTeams().data);
  const user = namesIn(useUsers().data);
  if (keys.rows.length === 0 && keys.failure) {
    return keys.failure.field === 'label' ? null : <Failure what="Keys" failure={keys.failure} onRetry={keys.renew} />;
  }
  if (keys.rows.length === 0 && keys.isLoading) return <Skeleton rows={8} />;
  if (keys.rows.length === 0) {
    return isFiltered ? (
      <Empty title="No key matches">Clear a filter to see more.</Empty>
    ) : (
      <Empty title="No key yet">An application needs one to send requests. Make the first.</Empty>
    );
  }
  return (
    <section class="card" aria-label="Keys">
      <Table
        label="Keys"
        rows={keys.rows}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => keyHref(id)}
        current={current ?? undefined}
        onEnd={keys.more}
        columns={[
          { id: 'name', head: 'Key', cell: (key) => <KeyTitle of={key} />, sort: keyName },
          {
            id: 'state',
            head: 'State',
            phone: 'fact',
            cell: ({ state }) => <KeyState state={state} />,
            sort: ({ state }) => state,
          },
          {
            id: 'owner',
            head: 'Belongs to',
            cell: (key) => ownerText(key, team, user) || <span class="dim">Nobody</span>,
          },
          { id: 'scopes', head: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
          {
            id: 'used',
            head: 'Last used',
            phone: 'second',
            cell: ({ last_used_at: at }) => (at === null ? <span class="dim">Never</span> : <When at={at} />),
            sort: ({ last_used_at: at }) => at,
          },
          {
            id: 'expires',
            head: 'Expires',
            cell: ({ expires_at: at }) => (at === null ? <span class="dim">Never</span> : <When at={at} />),
            sort: ({ expires_at: at }) => at,
          },
        ]}
      />
      {keys.failure && <Failure what="More keys" failure={keys.failure} onRetry={keys.more} />}
    </section>
  );
}
