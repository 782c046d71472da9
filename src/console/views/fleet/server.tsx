import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { duration } from '../../design/format.ts';
import { Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { When } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';

interface ServerProps {
  readonly status: Resource<ReadOf<'/admin/status'>>;
  readonly policy: Resource<ReadOf<'/admin/policy'>>;
  readonly cluster: Resource<ReadOf<'/admin/cluster'>>;
}

/** The instance that answers: its version, its policy, and the secrets that it reads from files. */
export const Server = ({ status, policy, cluster }: ServerProps) => (
  <>
    <Own status={status} policy={policy} />
    {cluster.data && cluster.data.data.length > 1 && <Others cluster={cluster.data} />}
  </>
);

const Own = ({ status, policy }: Omit<ServerProps, 'cluster'>) => (
  <div class="columns">
    <section class="card" aria-labelledby="server">
      <Loaded what="Instances" of={status}>
        {(instance) => <Instance instance={instance} />}
      </Loaded>
    </section>
    <section class="card" aria-labelledby="reload">
      <Loaded what="Reloads" of={policy}>
        {(shown) => <Reload policy={shown} />}
      </Loaded>
    </section>
  </div>
);

function Instance({ instance }: { readonly instance: ReadOf<'/admin/status'> }) {
  const { version, policy_revision, slot, epoch, is_current, problem, clock_offset_ms, copies } = instance;
  const ages = copies.flatMap(({ age_ms }) => age_ms ?? []);
  return (
    <>
      <div class="card-head">
        <h2 id="server">{is_current ? 'This server may write.' : 'This server may not write.'}</h2>
      </div>
      {problem && <p class="notice notice-bad">{problem}</p>}
      <dl class="facts">
        <dt>State</dt>
        <dd>{is_current ? <State tone="good">Writes</State> : <State tone="bad">Refuses requests</State>}</dd>
        <dt>Version</dt>
        <dd class="mono">{version}</dd>
        <dt>Policy</dt>
        <dd class="mono">{policy_revision}</dd>
        <dt>Instance</dt>
        <dd>
          {slot}, started {epoch} {epoch === 1 ? 'time' : 'times'}
        </dd>
        <dt>Clock</dt>
        <dd>
          {clock_offset_ms === 0
            ? 'agrees with the database'
            : `${duration(Math.abs(clock_offset_ms)).short} off the database’s`}
        </dd>
        <dt>Copies in memory</dt>
        <dd>{ages.length === 0 ? 'not read yet' : ageText(Math.max(...ages))}</dd>
      </dl>
    </>
  );
}

/** The servers at the database, where there are several. */
const Others = ({ cluster: { data, is_split } }: { readonly cluster: ReadOf<'/admin/cluster'> }) => (
  <section class="card" aria-labelledby="servers">
    <div class="card-head">
      <h2 id="servers">{is_split ? 'The servers run different policies.' : 'All servers run one policy.'}</h2>
    </div>
    {data.map(
      ({ slot, name, policy_error }) =>
        policy_error && (
          <p key={slot} class="notice notice-bad">
            {name} refused another: {policy_error}
          </p>
        ),
    )}
    <Table
      label="Servers at the database"
      rows={data}
      keyOf={({ slot }) => `${slot}`}
      columns={[
        { id: 'name', head: 'Server', cell: ({ name }) => <span class="mono">{name}</span> },
        { id: 'version', head: 'Version', cell: ({ version }) => version },
        {
          id: 'policy',
          head: 'Policy',
          phone: 'second',
          cell: ({ policy_revision, policy_error }) => (
            <>
              <span class="mono">{policy_revision}</span> {policy_error && <State tone="bad">Refused another</State>}
            </>
          ),
        },
        {
          id: 'from',
          head: 'From',
          cell: ({ policies_from, pushed }) => (policies_from === 'files' ? 'its files' : `push ${pushed ?? '–'}`),
        },
        { id: 'rank', head: 'Rank', isFigure: true, cell: ({ policy_rank }) => policy_rank },
        {
          id: 'since',
          head: 'Since',
          isFigure: true,
          phone: 'fact',
          cell: ({ policy_since }) => <When at={policy_since} />,
        },
        {
          id: 'clock',
          head: 'Clock',
          isFigure: true,
          cell: ({ clock_offset_ms: ms }) => duration(Math.abs(ms)).short,
        },
      ]}
    />
  </section>
);

const ageText = (ms: number): string => (ms === 0 ? 'as new as the database' : `at most ${duration(ms).short} old`);

const CAUSES: Readonly<Record<string, string>> = {
  start: 'at the start',
  edit: 'after an edit',
  push: 'by a push',
  signal: 'by a signal',
  request: 'on request',
};

function Reload({ policy }: { readonly policy: ReadOf<'/admin/policy'> }) {
  const { last_reload: last, secrets } = policy;
  return (
    <>
      <div class="card-head">
        <h2 id="reload">{last.result === 'refused' ? 'The last reload was refused.' : 'The policy is in force.'}</h2>
        <a href={hrefOf('/policies')}>Policies</a>
      </div>
      <dl class="facts">
        <dt>Last reload</dt>
        <dd>
          <When at={last.time} /> {CAUSES[last.cause] ?? last.cause}: {last.message}
        </dd>
        <dt>In force</dt>
        <dd>
          <When at={policy.since} />
        </dd>
      </dl>
      {secrets.length > 0 && (
        <Table
          label="Secrets that are read from files"
          rows={secrets}
          keyOf={({ variable }) => variable}
          columns={[
            { id: 'variable', head: 'Secret', cell: ({ variable }) => <span class="mono">{variable}</span> },
            {
              id: 'state',
              head: 'File',
              phone: 'second',
              cell: ({ problem }) =>
                problem === null ? <State tone="good">Read</State> : <State tone="bad">{problem}</State>,
            },
            {
              id: 'read',
              head: 'Last read',
              isFigure: true,
              phone: 'fact',
              cell: ({ read }) => (read === null ? <span class="dim">never</span> : <When at={read} />),
            },
          ]}
        />
      )}
    </>
  );
}
