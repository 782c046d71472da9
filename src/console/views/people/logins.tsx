import type { ReadOf } from '../../api/reads.ts';
import { Tag } from '../../design/tag.tsx';
import { Actions } from '../../kit/actions.tsx';
import { Listing } from '../../kit/listing.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';
import { userOptions, useUsers } from './words.ts';

type LoginRow = ReadOf<'/admin/logins'>['data'][number];

/** The browsers that are signed in, and a button that ends each login. */
export function LoginsTab() {
  const users = useUsers().data?.data ?? [];
  const own = session.value.state === 'in' ? session.value.viewer.login?.id : undefined;
  return (
    <Listing
      path="/admin/logins"
      what="Logins"
      noun="login"
      filters={
        reachOfViewer('logins.read') === 'all'
          ? [{ of: 'user', label: 'Member', any: 'Any member', options: userOptions(users) }]
          : []
      }
      columns={(logins) => [
        { head: 'Who', cell: (row) => <Holder of={row} isOwn={row.id === own} />, sort: holderName },
        {
          head: 'Browser',
          phone: 'second',
          cell: ({ browser }) => <span title={browser}>{browserName(browser)}</span>,
        },
        { head: 'IP address', cell: ({ from }) => from ?? '–' },
        { head: 'Signed in', of: 'created_at' },
        { of: 'last_used_at' },
        { head: 'Ends', of: 'expires_at' },
        ...(reachOfViewer('logins.end') === null
          ? []
          : [
              {
                head: 'Action',
                phone: 'fact' as const,
                cell: (row: LoginRow) => (
                  <EndLogin of={row} isOwn={row.id === own} onDone={() => logins.put(row.id, null)} />
                ),
              },
            ]),
      ]}
      empty={['No browser is signed in', 'A browser that signs in to the console is listed here until its login ends.']}
    />
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

interface EndLoginProps {
  readonly of: LoginRow;
  readonly isOwn: boolean;
  onDone(): void;
}

const EndLogin = ({ of: row, isOwn, onDone }: EndLoginProps) => (
  <Actions
    of={[
      {
        label: 'End',
        name: `End the login of ${holderName(row)}`,
        kind: 'danger',
        path: `/admin/logins/${row.id}`,
        method: 'DELETE',
        onDone,
        done: `The login of ${holderName(row)} has ended.`,
        question: [
          `End the login of ${holderName(row)}?`,
          isOwn ? 'You will be signed out of this browser.' : 'That browser is signed out within a second.',
          'End login',
        ],
      },
    ]}
  />
);

const BROWSERS = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari'] as const;
const SYSTEMS = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS X', 'Linux'] as const;

/** The browser and system from the User-Agent header: "Firefox on Linux". */
function browserName(agent: string): string {
  const browser = BROWSERS.find((name) => agent.includes(`${name}/`)) ?? agent.split(/[ /]/)[0] ?? '';
  const system = SYSTEMS.find((name) => agent.includes(name));
  const named = { Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser;
  return system ? `${named} on ${system === 'Mac OS X' ? 'macOS' : system}` : named || 'Unknown';
}
