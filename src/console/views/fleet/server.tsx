import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { Card, LoadedCard } from '../../design/card.tsx';
import { duration, plural } from '../../design/format.ts';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { Coded, When } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf } from '../../shell/router.ts';

interface ServerProps {
  readonly status: Resource<ReadOf<'/admin/status'>>;
  readonly policy: Resource<ReadOf<'/admin/policy'>>;
  readonly cluster: Resource<ReadOf<'/admin/cluster'>>;
}

const mono = (text: string) => <span class="mono">{text}</span>;

/** The server that responds: its version, its policy, and the secrets that it reads from files. */
export const Server = ({ status, policy, cluster }: ServerProps) => (
  <>
    <div class="columns">
      <Instance status={status} />
      <Reload policy={policy} />
    </div>
    {cluster.data && cluster.data.data.length > 1 && <Others cluster={cluster.data} />}
  </>
);

const Instance = ({ status }: Pick<ServerProps, 'status'>) => (
  <LoadedCard
    id="server"
    what="Instances"
    of={status}
    heading={({ is_current }) =>
      is_current ? 'This server may write to the database.' : 'This server may not write to the database.'
    }
  >
    {(instance) => (
      <>
        {instance.problem && <p class="notice notice-bad">{instance.problem}</p>}
        <Facts
          of={instance}
          facts={[
            [
              'State',
              ({ is_current: may }) => <State tone={may ? 'good' : 'bad'}>{may ? 'Writes' : 'Refuses requests'}</State>,
            ],
            ['Version', ({ version }) => mono(version)],
            ['Policy', ({ policy_revision }) => mono(policy_revision)],
            ['Instance', ({ slot, epoch }) => `${slot}, started ${plural(epoch, 'time')}`],
            [
              'Clock',
              ({ clock_offset_ms: ms }) =>
                ms === 0
                  ? 'the same time as the database'
                  : `${duration(Math.abs(ms)).short} different from the database`,
            ],
            ['Copies in memory', ageText],
          ]}
        />
      </>
    )}
  </LoadedCard>
);

function ageText({ copies }: ReadOf<'/admin/status'>): string {
  const ages = copies.flatMap(({ age_ms }) => age_ms ?? []);
  const oldest = Math.max(...ages);
  if (ages.length === 0) return 'not read yet';
  return oldest === 0 ? 'as current as the database' : `at most ${duration(oldest).short} old`;
}

/** All servers of the database, if there are several. */
const Others = ({ cluster: { data, is_split } }: { readonly cluster: ReadOf<'/admin/cluster'> }) => (
  <Card id="servers" heading={is_split ? 'The servers use different policies.' : 'All servers use the same policy.'}>
    {data.map(
      ({ slot, name, policy_error }) =>
        policy_error && (
          <p key={slot} class="notice notice-bad">
            {name} refused another: {policy_error}
          </p>
        ),
    )}
    <Table
      label="Servers that share the database"
      rows={data}
      keyOf={({ slot }) => `${slot}`}
      columns={[
        { id: 'name', head: 'Server', cell: ({ name }) => mono(name) },
        { id: 'version', head: 'Version', cell: ({ version }) => version },
        {
          id: 'policy',
          head: 'Policy',
          phone: 'second',
          cell: ({ policy_revision, policy_error }) => (
            <>
              {mono(policy_revision)} {policy_error && <State tone="bad">Refused a new policy</State>}
            </>
          ),
        },
        {
          id: 'from',
          head: 'From',
          cell: ({ policies_from, pushed }) => (policies_from === 'files' ? 'its files' : `push ${pushed ?? '–'}`),
        },
        { id: 'rank', head: 'Rank', isFigure: true, cell: ({ policy_rank }) => policy_rank },
        { id: 'since', head: 'Since', isFigure: true, phone: 'fact', cell: (one) => <When at={one.policy_since} /> },
        { id: 'clock', head: 'Clock', figure: (one) => duration(Math.abs(one.clock_offset_ms)) },
      ]}
    />
  </Card>
);

const CAUSES: Readonly<Record<string, string>> = {
  start: 'at the start',
  edit: 'after an edit',
  push: 'by a push',
  signal: 'by a signal',
  request: 'on request',
};

/** A token source has no problem before its first answer. */
const stateText = ({ problem, read }: { readonly problem: string | null; readonly read: string | null }): string =>
  problem ?? (read === null ? 'Not read yet' : 'Read');

const Reload = ({ policy }: Pick<ServerProps, 'policy'>) => (
  <LoadedCard
    id="reload"
    what="Reloads"
    of={policy}
    heading={({ last_reload: { result } }) =>
      result === 'refused' ? 'The server refused the last reload.' : 'The policy is active.'
    }
    aside={() => <a href={hrefOf('/policies')}>Policies</a>}
  >
    {({ last_reload, since, secrets }) => (
      <>
        <Facts
          of={last_reload}
          facts={[
            [
              'Last reload',
              ({ time, cause, message }) => (
                <>
                  <When at={time} /> {CAUSES[cause] ?? cause}: <Coded text={message} />
                </>
              ),
            ],
            ['Active since', () => <When at={since} />],
          ]}
        />
        {secrets.length > 0 && (
          <Table
            label="Secrets from files and token sources"
            rows={secrets}
            keyOf={({ variable }) => variable}
            columns={[
              { id: 'variable', head: 'Secret', cell: ({ variable }) => mono(variable) },
              { id: 'source', head: 'Source', cell: ({ source }) => source },
              {
                id: 'state',
                head: 'State',
                phone: 'second',
                cell: (secret) => <State tone={secret.problem === null ? 'good' : 'bad'}>{stateText(secret)}</State>,
              },
              {
                id: 'read',
                head: 'Last read',
                isFigure: true,
                phone: 'fact',
                cell: ({ read }) => (read === null ? <span class="dim">never</span> : <When at={read} />),
              },
              {
                id: 'expires',
                head: 'Valid until',
                isFigure: true,
                cell: ({ expires }) => (expires === null ? <span class="dim">–</span> : <When at={expires} />),
              },
            ]}
          />
        )}
      </>
    )}
  </LoadedCard>
);
