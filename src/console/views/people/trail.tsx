import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { BASE } from '../../api/base.ts';
import { read } from '../../api/client.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { exactTime } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Loaded } from '../../design/states.tsx';
import { DifferenceList } from '../../kit/difference-list.tsx';
import { differences, pathWords, wordsOf } from '../../kit/differences.ts';
import { below, Listing } from '../../kit/listing.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { actionText, actorText, type TrailRow } from './trail-words.ts';
import { namesIn, useTeams, useUsers } from './words.ts';

const KINDS = ['key', 'user', 'team', 'wallet', 'policy', 'subject', 'login', 'decision', 'payment', 'model', 'trail'];
const KIND_WORDS: Readonly<Record<string, string>> = {
  user: 'person',
  subject: 'workload',
  policy_files: 'policy files',
};
const kindText = (kind: string): string => KIND_WORDS[kind] ?? kind;

/** Finds the current names of teams, people and keys, because an entry contains only their IDs. */
function useNames(): (id: string) => string {
  const keys = useResource('/admin/keys', { limit: 1_000 }, { isWanted: reachOfViewer('keys.read') !== null });
  const [teams, users, ofKeys] = [namesIn(useTeams().data), namesIn(useUsers().data), namesIn(keys.data)];
  return (id) => (id.startsWith('team_') ? teams(id) : id.startsWith('user_') ? users(id) : ofKeys(id));
}

/** The audit trail: who changed what, when and from where, and whether anyone has altered the trail. */
export function TrailTab({ id }: { readonly id: string | null }) {
  const nameOf = useNames();
  return (
    <Listing
      path="/admin/trail"
      what="Trail"
      noun="entry"
      cursor="before"
      filters={[
        { of: 'subject', label: 'ID of the changed object', any: 'Any ID' },
        {
          of: 'kind',
          label: 'Kind',
          any: 'Any kind',
          options: KINDS.map((value) => ({ value, label: `Kind: ${kindText(value)}` })),
        },
      ]}
      buttons={<TrailChecks />}
      columns={[
        { head: 'Change', cell: (row) => <Change of={row} nameOf={nameOf} /> },
        {
          head: 'By',
          phone: 'second',
          cell: (row) => (
            <span class="nowrap" title={row.actor.name ?? undefined}>
              {actorText(row, nameOf)}
            </span>
          ),
        },
        { of: 'from', none: '–', sort: false },
        { head: 'When', of: 'time', phone: 'fact', sort: false },
      ]}
      empty={['No entry yet', 'Each change of keys, people, wallets and the policy creates an entry.']}
      at={below('/people/trail')}
      id={id}
      panel={(place) => <EntryPanel key={place.id} id={place.id} closeHref={place.closeHref} nameOf={nameOf} />}
    />
  );
}

function subjectText({ subject, details }: TrailRow, nameOf: (id: string) => string): string {
  const kind = kindText(subject.kind);
  if (subject.id === '') return kind === 'trail' ? 'the trail' : kind;
  const { name } = details;
  return `${kind} ${typeof name === 'string' && name !== '' ? name : nameOf(subject.id)}`;
}

/**
 * A change with the name of its object. If the object is a key, the line also shows the ID of the key, because names of keys are not
 * unique.
 */
const Change = ({ of: row, nameOf }: { readonly of: TrailRow; nameOf(id: string): string }) => {
  const text = subjectText(row, nameOf);
  const isNamed = row.key_id !== null && !text.endsWith(row.key_id);
  return (
    <>
      {actionText(row.action)} {text}
      {isNamed && <span class="small dim mono"> {row.key_id}</span>}
    </>
  );
};

type Report = ReadOf<'/admin/trail/verify'>;
/** Buttons that verify and export the trail. */
function TrailChecks() {
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<ComponentChildren>(null);
  const verify = async () => {
    setBusy(true);
    setOutcome(null);
    const result = await read('/admin/trail/verify');
    setBusy(false);
    setOutcome(result.ok ? <ReportText of={result.value} /> : result.failure.message);
  };
  return (
    <div class="stack-tight people-checks">
      <div class="row">
        <Button disabled={isBusy} onClick={() => void verify()}>
          {isBusy ? 'Verifying' : 'Verify trail'}
        </Button>
        <ButtonLink href={`${BASE}/admin/trail/export`} download="trail.ndjson">
          Export
        </ButtonLink>
      </div>
      <p role="status" class={outcome === null ? 'unseen' : 'small'}>
        {outcome}
      </p>
    </div>
  );
}

const ReportText = ({ of: { is_whole, entries, confirmed, erased, faults, more } }: { readonly of: Report }) =>
  is_whole ? (
    <span>
      The trail is intact: {entries} entries are unchanged. {confirmed} of them are confirmed outside this database
      {erased > 0 ? `; the personal words of ${erased} are erased` : ''}.
    </span>
  ) : (
    <span class="people-wrong">
      The trail has been altered:{' '}
      {faults
        .slice(0, 3)
        .map(({ id, problem }) => `entry ${id}: ${problem}`)
        .join('; ')}
      {faults.length + more > 3 ? `; and ${faults.length + more - 3} more` : ''}.
    </span>
  );

interface EntryProps {
  readonly id: string;
  readonly closeHref: string;
  nameOf(id: string): string;
}

/** Shows a single entry. The API has no path for a single entry, so the panel requests the first entry before the next ID. */
function EntryPanel({ id, closeHref, nameOf }: EntryProps) {
  const page = useResource('/admin/trail', { before: Number(id) + 1, limit: 1 });
  const entry = page.data?.data.find((one) => String(one.id) === id) ?? null;
  const title = entry ? `${actionText(entry.action)} ${subjectText(entry, nameOf)}` : `Entry ${id}`;
  return (
    <Panel title={title} closeHref={closeHref}>
      <Loaded what="This entry" of={page}>
        {() => (entry ? <EntryDetail of={entry} nameOf={nameOf} /> : <p class="dim">The trail has no entry {id}.</p>)}
      </Loaded>
    </Panel>
  );
}

const PLACES: Readonly<Record<string, string>> = { key: 'keys', user: 'members', team: 'teams', subject: 'subjects' };

function EntryDetail({ of: entry, nameOf }: { readonly of: TrailRow; nameOf(id: string): string }) {
  const { before, after, ...rest } = entry.details;
  const changes = before === undefined && after === undefined ? [] : differences(before, after);
  const place = PLACES[entry.subject.kind];
  const subject = subjectText(entry, nameOf);
  const about = entry.subject.id;
  return (
    <div class="stack">
      <Facts
        of={entry}
        facts={[
          ['When', ({ time }) => exactTime(Date.parse(time))],
          [
            'By',
            ({ actor }) => (
              <>
                {actorText(entry, nameOf)}
                {actor.kind === 'key' && <span class="small dim mono"> {actor.name}</span>}
              </>
            ),
          ],
          ['From', 'from', 'Not known'],
          ['Changed', () => (place ? <a href={hrefOf(`/people/${place}/${about}`)}>{subject}</a> : subject)],
          ['Request', ({ request_id }) => request_id && <span class="mono">{request_id}</span>],
          ['Entry', ({ id }) => String(id)],
          ['Also', () => about && <a href={hrefOf('/people/trail', { subject: about })}>All entries about it</a>],
        ]}
      />
      {entry.is_erased && <p class="dim">Personal words of this entry were erased.</p>}
      {changes.length > 0 && (
        <section class="stack-tight">
          <h3>Before and after</h3>
          <DifferenceList of={changes} />
        </section>
      )}
      {Object.keys(rest).length > 0 && (
        <section class="stack-tight">
          <h3>Details</h3>
          <Facts of={rest} facts={Object.keys(rest).map((name) => [pathWords(name), () => wordsOf(rest[name])])} />
        </section>
      )}
    </div>
  );
}
