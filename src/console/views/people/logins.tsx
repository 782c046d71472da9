import { useState } from 'preact/hooks';
import { usePages } from '../../api/pages.ts';
import type { ReadOf } from '../../api/reads.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Filters, Select } from '../../design/field.tsx';
import { Empty, Failure, Skeleton } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { Tag } from '../../design/tag.tsx';
import { When } from '../../design/written.tsx';
import { hrefOf, param, setParams } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';
import { deed } from './deeds.ts';
import { userName, useUsers } from './words.ts';

type LoginRow = ReadOf<'/admin/logins'>['data'][number];

/** Browsers that are signed in, and the button that ends one. */
export function LoginsTab() {
  const logins = usePages('/admin/logins', { user: param('user') });
  const [asked, setAsked] = useState<LoginRow | null>(null);
  const [isBusy, setBusy] = useState(false);
  const own = session.value.state === 'in' ? session.value.viewer.login?.id : undefined;
  const end = async ({ id }: LoginRow, name: string) => {
    setBusy(true);
    const ended = await deed(`/admin/logins/${id}`, `The login of ${name} has ended.`, { method: 'DELETE' });
    setBusy(false);
    setAsked(null);
    if (ended) logins.put(id, null);
  };
  const { rows, failure, isLoading, renew } = logins;
  return (
    <>
      {reachOfViewer('logins.read') === 'all' && <LoginFilter />}
      {rows.length === 0 ? (
        failure ? (
          <Failure what="Logins" failure={failure} onRetry={renew} />
        ) : isLoading ? (
          <Skeleton />
        ) : (
          <Empty title="Nobody is signed in">
            Each browser that signs in to the console is listed here until its login ends.
          </Empty>
        )
      ) : (
        <section class="card" aria-label="Logins">
          <Table
            label="Logins"
            rows={rows}
            keyOf={({ id }) => id}
            onEnd={logins.more}
            columns={[
              { id: 'who', head: 'Who', cell: (row) => <Holder of={row} isOwn={row.id === own} />, sort: holderName },
              {
                id: 'browser',
                head: 'Browser',
                phone: 'second',
                cell: ({ browser }) => <span title={browser}>{browserName(browser)}</span>,
              },
              { id: 'from', head: 'IP address', cell: ({ from }) => from ?? '–' },
              {
                id: 'since',
                head: 'Signed in',
                cell: ({ created_at }) => <When at={created_at} />,
                sort: ({ created_at }) => created_at,
              },
              {
                id: 'used',
                head: 'Last used',
                cell: ({ last_used_at }) => <When at={last_used_at} />,
                sort: ({ last_used_at }) => last_used_at,
              },
              {
                id: 'ends',
                head: 'Ends',
                cell: ({ expires_at }) => <When at={expires_at} />,
                sort: ({ expires_at }) => expires_at,
              },
              ...(reachOfViewer('logins.end') === null ? [] : [endColumn(setAsked)]),
            ]}
          />
        </section>
      )}
      {asked && (
        <Dialog
          title={`End the login of ${holderName(asked)}?`}
          action="End login"
          isBusy={isBusy}
          onClose={() => setAsked(null)}
          onAction={() => void end(asked, holderName(asked))}
        >
          {asked.id === own ? 'You will be signed out of this browser.' : 'That browser is signed out within a second.'}
        </Dialog>
      )}
    </>
  );
}

const endColumn = (ask: (row: LoginRow) => void): TableColumn<LoginRow> => ({
  id: 'end',
  head: 'Action',
  phone: 'fact',
  cell: (row) => (
    <Button kind="danger" aria-label={`End the login of ${holderName(row)}`} onClick={() => ask(row)}>
      End
    </Button>
  ),
});

function LoginFilter() {
  const users = useUsers().data?.data ?? [];
  return (
    <Filters onClear={param('user') === '' ? null : () => setParams({ user: null })}>
      <Select
        isBare
        label="Member"
        value={param('user')}
        options={[{ value: '', label: 'Anybody' }, ...users.map((user) => ({ value: user.id, label: userName(user) }))]}
        onValue={(user) => setParams({ user })}
      />
    </Filters>
  );
}

const holderName = (row: LoginRow): string =>
  row.user_name || row.user_id || row.key_name || row.key_id || 'a removed member';

const Holder = ({ of: row, isOwn }: { readonly of: LoginRow; readonly isOwn: boolean }) => (
  <span class="row">
    <a href={hrefOf(row.user_id === null ? `/people/keys/${row.key_id}` : `/people/members/${row.user_id}`)}>
      {holderName(row)}
    </a>
    {row.key_id !== null && <Tag>Key</Tag>}
    {isOwn && <Tag>This browser</Tag>}
  </span>
);

const BROWSERS = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari'] as const;
const SYSTEMS = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS X', 'Linux'] as const;

/** "Firefox on Linux", as far as the browser says so. */
function browserName(agent: string): string {
  const browser = BROWSERS.find((name) => agent.includes(`${name}/`)) ?? agent.split(/[ /]/)[0] ?? '';
  const system = SYSTEMS.find((name) => agent.includes(name));
  const named = { Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser;
  return system ? `${named} on ${system === 'Mac OS X' ? 'macOS' : system}` : named || 'Unknown';
}
