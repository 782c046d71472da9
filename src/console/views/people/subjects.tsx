import { useState } from 'preact/hooks';
import { read } from '../../api/client.ts';
import { usePages } from '../../api/pages.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Copy } from '../../design/copy.tsx';
import { Field } from '../../design/field.tsx';
import { Panel } from '../../design/panel.tsx';
import { Empty, Failure, Loaded, Skeleton } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { When } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { deed } from './deeds.ts';
import { Fact } from './key-facts.tsx';
import { KeyUsage } from './key-usage.tsx';
import { RecentTrail } from './recent-trail.tsx';

type Subject = ReadOf<'/admin/subjects'>['data'][number];

const SubjectState = ({ of: { is_blocked } }: { readonly of: Subject }) =>
  is_blocked ? <State tone="bad">Blocked</State> : <State tone="good">Served</State>;

/** Workloads that send tokens of an issuer in place of a key. */
export function SubjectsTab({ id }: { readonly id: string | null }) {
  const subjects = usePages('/admin/subjects', {}, { cursor: 'before' });
  const { rows, failure, isLoading, renew } = subjects;
  const changed = async (subject: string) => {
    const result = await read(`/admin/subjects/${subject}`);
    if (result.ok) subjects.put(subject, result.value);
  };
  return (
    <>
      {rows.length === 0 ? (
        failure ? (
          <Failure what="Workloads" failure={failure} onRetry={renew} />
        ) : isLoading ? (
          <Skeleton />
        ) : (
          <Empty title="No workload has sent a token">
            State an issuer under <code>tokens</code> in the policy, and its workloads need no key.
          </Empty>
        )
      ) : (
        <section class="card" aria-label="Workloads">
          <Table
            label="Workloads"
            rows={rows}
            keyOf={(row) => row.id}
            hrefOf={(row) => hrefOf(`/people/subjects/${row.id}`)}
            current={id ?? undefined}
            onEnd={subjects.more}
            columns={[
              {
                id: 'sub',
                head: 'Subject',
                cell: ({ sub }) => (
                  <span class="table-name" title={sub}>
                    {sub}
                  </span>
                ),
                sort: ({ sub }) => sub,
              },
              { id: 'name', head: 'Issuer', cell: ({ name }) => name, sort: ({ name }) => name },
              { id: 'state', head: 'State', phone: 'fact', cell: (row) => <SubjectState of={row} /> },
              { id: 'first', head: 'First seen', cell: ({ first_seen_at }) => <When at={first_seen_at} /> },
              {
                id: 'last',
                head: 'Last seen',
                phone: 'second',
                cell: ({ last_seen_at }) => <When at={last_seen_at} />,
                sort: ({ last_seen_at }) => last_seen_at,
              },
            ]}
          />
        </section>
      )}
      {id !== null && <SubjectPanel key={id} id={id} onChange={() => void changed(id)} />}
    </>
  );
}

function SubjectPanel({ id, onChange }: { readonly id: string; onChange(): void }) {
  const subject = useResource(`/admin/subjects/${id}`);
  return (
    <Panel title={subject.data?.sub ?? 'Workload'} closeHref={hrefOf('/people/subjects')}>
      <Loaded what="This workload" of={subject}>
        {(found) => (
          <div class="stack">
            <SubjectDeeds of={found} onChange={onChange} />
            <dl class="facts">
              <Fact name="ID">
                <Copy text={found.id} label="the ID" />
              </Fact>
              <Fact name="Subject">{found.sub}</Fact>
              <Fact name="Issuer">
                {found.name}, {found.issuer}
              </Fact>
              <Fact name="First seen">
                <When at={found.first_seen_at} />
              </Fact>
              <Fact name="Last seen">
                <When at={found.last_seen_at} />
              </Fact>
            </dl>
            <KeyUsage id={found.id} />
            <RecentTrail subject={found.id} />
          </div>
        )}
      </Loaded>
    </Panel>
  );
}

function SubjectDeeds({ of: subject, onChange }: { readonly of: Subject; onChange(): void }) {
  const [note, setNote] = useState('');
  const [isBusy, setBusy] = useState(false);
  const { id, sub, is_blocked: isBlocked } = subject;
  if (reachOfViewer('subjects.change') === null) return <SubjectState of={subject} />;
  const block = async (isWanted: boolean, isUndo = false): Promise<void> => {
    setBusy(true);
    const said = isWanted ? `${sub} is blocked. Its tokens get 403.` : `${sub} is served again.`;
    await deed(`/admin/subjects/${id}/${isWanted ? 'block' : 'unblock'}`, said, {
      ...(isWanted && { body: note === '' ? {} : { note } }),
      ...(!isUndo && { undo: () => void block(!isWanted, true) }),
    });
    setBusy(false);
    setNote('');
    onChange();
  };
  return (
    <div class="stack-tight">
      <SubjectState of={subject} />
      {!isBlocked && (
        <Field
          label="Reason"
          hint="Kept in the trail."
          value={note}
          placeholder="leaked token, ticket 88"
          onValue={setNote}
        />
      )}
      <div class="row">
        <Button kind={isBlocked ? 'plain' : 'danger'} disabled={isBusy} onClick={() => void block(!isBlocked)}>
          {isBlocked ? 'Unblock' : 'Block'}
        </Button>
      </div>
    </div>
  );
}
