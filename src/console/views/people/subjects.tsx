import type { ReadOf } from '../../api/reads.ts';
import { State } from '../../design/tag.tsx';
import { Actions } from '../../kit/actions.tsx';
import { Detail } from '../../kit/detail.tsx';
import { below, Listing, type Place } from '../../kit/listing.tsx';
import { Facts } from '../../kit/show.tsx';
import { KeyUsage } from './key-usage.tsx';
import { RecentTrail } from './recent-trail.tsx';

type Subject = ReadOf<'/admin/subjects'>['data'][number];

const SubjectState = ({ of: { is_blocked } }: { readonly of: Subject }) =>
  is_blocked ? <State tone="bad">Blocked</State> : <State tone="good">Served</State>;

/** Lists workloads that authenticate with a token of an issuer instead of a key. */
export const SubjectsTab = ({ id }: { readonly id: string | null }) => (
  <Listing
    path="/admin/subjects"
    what="Workloads"
    noun="workload"
    cursor="before"
    columns={[
      { head: 'Subject', name: ({ sub }) => sub },
      { head: 'Issuer', of: 'name' },
      { head: 'State', cell: (row) => <SubjectState of={row} />, phone: 'fact' },
      { of: 'first_seen_at' },
      { of: 'last_seen_at', phone: 'second' },
    ]}
    empty={[
      'No workload has sent a token yet',
      <>
        Add an issuer under <code>tokens</code> in the policy. Then its workloads can send tokens instead of keys.
      </>,
    ]}
    at={below('/people/subjects')}
    id={id}
    panel={(place) => <SubjectPanel key={place.id} place={place} />}
  />
);

const SubjectPanel = ({ place }: { readonly place: Place<Subject> }) => (
  <Detail place={place} noun="workload" path={`/admin/subjects/${place.id}`} title={({ sub }) => sub}>
    {(found) => (
      <>
        <Actions of={subjectActions(found)}>
          <SubjectState of={found} />
        </Actions>
        <Facts
          of={found}
          facts={[
            'id',
            ['Subject', 'sub'],
            ['Issuer', ({ name, issuer }) => `${name}, ${issuer}`],
            'first_seen_at',
            'last_seen_at',
          ]}
        />
        <KeyUsage id={found.id} />
        <RecentTrail subject={found.id} />
      </>
    )}
  </Detail>
);

function subjectActions({ id, sub, is_blocked }: Subject) {
  const shared = { slot: 'state', action: 'subjects.change' } as const;
  const [block, unblock] = [`/admin/subjects/${id}/block`, `/admin/subjects/${id}/unblock`];
  const served = `${sub} is unblocked.`;
  return [
    {
      ...shared,
      label: 'Block',
      kind: 'danger' as const,
      isHidden: is_blocked,
      path: block,
      done: `${sub} is blocked. Signalbox answers its tokens with status 403.`,
      undo: [unblock, served] as const,
      question: [
        `Block ${sub}?`,
        'Signalbox answers its tokens with status 403. You can unblock it.',
        'Block workload',
      ] as const,
      input: { of: 'note', label: 'Reason, kept in the audit trail', placeholder: 'leaked token, ticket 88' },
    },
    { ...shared, label: 'Unblock', isHidden: !is_blocked, path: unblock, done: served },
  ];
}
