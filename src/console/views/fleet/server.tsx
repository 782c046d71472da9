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
}

/** The instance that answers: its version, its policy, and the secrets that it reads from files. */
export const Server = ({ status, policy }: ServerProps) => (
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
      <p class="table-foot">A data folder has one server, so this is the only one.</p>
    </>
  );
}

const ageText = (ms: number): string => (ms === 0 ? 'as new as the database' : `at most ${duration(ms).short} old`);

const CAUSES: Readonly<Record<string, string>> = {
  start: 'at the start',
  edit: 'after an edit',
  signal: 'by a signal',
  request: 'on request',
};

function Reload({ policy }: { readonly policy: ReadOf<'/admin/policy'> }) {
  const { last_reload: last, secrets } = policy;
  return (
    <>
      <div class="card-head">
        <h2 id="reload">
          {last.result === 'refused' ? 'The last reload was refused.' : 'The policy files are in force.'}
        </h2>
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
