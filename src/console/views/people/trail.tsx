import { useState } from 'preact/hooks';
import { BASE } from '../../api/base.ts';
import { read } from '../../api/client.ts';
import type { ApiFailure } from '../../api/failure.ts';
import { usePages } from '../../api/pages.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { Field, Filters, Select } from '../../design/field.tsx';
import { exactTime } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Failure, Loaded, Skeleton } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { When } from '../../design/written.tsx';
import { hrefOf, hrefWith, param, setParams } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { differences, pathWords, wordsOf } from './differences.ts';
import { DifferenceList } from './form.tsx';
import { Fact } from './key-facts.tsx';
import { actionText, actorText, type TrailRow } from './trail-words.ts';
import { namesIn, useTeams, useUsers } from './words.ts';

const KINDS = [
  'key',
  'user',
  'team',
  'wallet',
  'policy',
  'subject',
  'login',
  'decision',
  'payment',
  'model',
  'trail',
] as const;
const KIND_WORDS: Readonly<Record<string, string>> = {
  user: 'person',
  subject: 'workload',
  policy_files: 'policy files',
};
const kindText = (kind: string): string => KIND_WORDS[kind] ?? kind;
const NO_FILTERS = { subject: null, kind: null };

/** Names of teams, people and keys as they are now: an entry has their IDs. */
function useNames(): (id: string) => string {
  const keys = useResource('/admin/keys', { limit: 1_000 }, { isWanted: reachOfViewer('keys.read') !== null });
  const [teams, users, ofKeys] = [namesIn(useTeams().data), namesIn(useUsers().data), namesIn(keys.data)];
  return (id) => (id.startsWith('team_') ? teams(id) : id.startsWith('user_') ? users(id) : ofKeys(id));
}

/** Who changed what, when and from where; and whether the trail is as it was written. */
export function TrailTab({ id }: { readonly id: string | null }) {
  const trail = usePages('/admin/trail', { subject: param('subject'), kind: param('kind') }, { cursor: 'before' });
  const nameOf = useNames();
  const { rows, failure, isLoading, renew, fresh } = trail;
  const isFiltered = Object.keys(NO_FILTERS).some((name) => param(name) !== '');
  return (
    <>
      <div class="people-bar">
        <Filters onClear={isFiltered ? () => setParams(NO_FILTERS) : null}>
          <Field
            isBare
            label="ID of what was changed"
            placeholder="Any ID"
            type="search"
            value={param('subject')}
            onValue={(subject) => setParams({ subject })}
          />
          <Select
            isBare
            label="Kind"
            value={param('kind')}
            options={[
              { value: '', label: 'Any kind' },
              ...KINDS.map((value) => ({ value, label: `Kind: ${kindText(value)}` })),
            ]}
            onValue={(kind) => setParams({ kind })}
          />
        </Filters>
        <TrailChecks />
      </div>
      {fresh > 0 && (
        <div>
          <Button onClick={renew}>Show {fresh} new</Button>
        </div>
      )}
      {rows.length === 0 ? (
        failure ? (
          <Failure what="Entries" failure={failure} onRetry={renew} />
        ) : isLoading ? (
          <Skeleton rows={8} />
        ) : isFiltered ? (
          <Empty title="No entry matches">Clear a filter to see more.</Empty>
        ) : (
          <Empty title="No entry yet">Each change of keys, people, wallets and the policy gets one.</Empty>
        )
      ) : (
        <section class="card" aria-label="Trail">
          <Table
            label="Trail"
            rows={rows}
            keyOf={(row) => String(row.id)}
            hrefOf={(row) => hrefWith({}, `/people/trail/${row.id}`)}
            current={id ?? undefined}
            onEnd={trail.more}
            columns={[
              { id: 'what', head: 'Change', cell: (row) => <Change of={row} nameOf={nameOf} /> },
              {
                id: 'who',
                head: 'By',
                phone: 'second',
                cell: (row) => (
                  <span class="nowrap" title={row.actor.name ?? undefined}>
                    {actorText(row, nameOf)}
                  </span>
                ),
              },
              { id: 'from', head: 'From', cell: ({ from }) => from ?? <span class="dim">–</span> },
              { id: 'when', head: 'When', phone: 'fact', cell: ({ time }) => <When at={time} /> },
            ]}
          />
        </section>
      )}
      {id !== null && <EntryPanel key={id} id={id} nameOf={nameOf} />}
    </>
  );
}

function subjectText({ subject, details }: TrailRow, nameOf: (id: string) => string): string {
  const kind = kindText(subject.kind);
  if (subject.id === '') return kind === 'trail' ? 'the trail' : kind;
  const { name } = details;
  return `${kind} ${typeof name === 'string' && name !== '' ? name : nameOf(subject.id)}`;
}

/** A change with the name of its subject, and the ID of a key behind it: names of keys are no addresses. */
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
type Check =
  | { readonly state: 'none' | 'busy' }
  | { readonly state: 'done'; readonly report: Report; readonly at: number }
  | { readonly state: 'failed'; readonly failure: ApiFailure };

/** Verifies the chain, and hands it out. */
function TrailChecks() {
  const [check, setCheck] = useState<Check>({ state: 'none' });
  const verify = async () => {
    setCheck({ state: 'busy' });
    const result = await read('/admin/trail/verify');
    setCheck(
      result.ok
        ? { state: 'done', report: result.value, at: Date.now() }
        : { state: 'failed', failure: result.failure },
    );
  };
  return (
    <div class="stack-tight people-checks">
      <div class="row">
        <Button disabled={check.state === 'busy'} onClick={() => void verify()}>
          {check.state === 'busy' ? 'Verifying' : 'Verify trail'}
        </Button>
        <ButtonLink href={`${BASE}/admin/trail/export`} download="trail.ndjson">
          Export
        </ButtonLink>
      </div>
      <p role="status" class={check.state === 'none' ? 'unseen' : 'small'}>
        {check.state === 'done' ? (
          <ReportText of={check.report} />
        ) : check.state === 'failed' ? (
          check.failure.message
        ) : (
          ''
        )}
      </p>
    </div>
  );
}

const ReportText = ({ of: { is_whole, entries, confirmed, erased, faults, more } }: { readonly of: Report }) =>
  is_whole ? (
    <span>
      Whole: {entries} entries are as they were written, {confirmed} confirmed elsewhere
      {erased > 0 ? `, words of ${erased} erased` : ''}.
    </span>
  ) : (
    <span class="people-wrong">
      Not whole:{' '}
      {faults
        .slice(0, 3)
        .map(({ id, problem }) => `entry ${id}: ${problem}`)
        .join('; ')}
      {faults.length + more > 3 ? `; and ${faults.length + more - 3} more` : ''}.
    </span>
  );

/** One entry. The list has no address for one, so it is the first before the next. */
function EntryPanel({ id, nameOf }: { readonly id: string; nameOf(id: string): string }) {
  const page = useResource('/admin/trail', { before: Number(id) + 1, limit: 1 });
  const entry = page.data?.data.find((one) => String(one.id) === id) ?? null;
  const title = entry ? `${actionText(entry.action)} ${subjectText(entry, nameOf)}` : `Entry ${id}`;
  return (
    <Panel title={title} closeHref={hrefWith({}, '/people/trail')}>
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
  return (
    <div class="stack">
      <dl class="facts">
        <Fact name="When">{exactTime(Date.parse(entry.time))}</Fact>
        <Fact name="By">
          {actorText(entry, nameOf)}
          {entry.actor.kind === 'key' && <span class="small dim mono"> {entry.actor.name}</span>}
        </Fact>
        <Fact name="From">{entry.from ?? <span class="dim">Not known</span>}</Fact>
        <Fact name="Changed">
          {place ? (
            <a href={hrefOf(`/people/${place}/${entry.subject.id}`)}>{subjectText(entry, nameOf)}</a>
          ) : (
            subjectText(entry, nameOf)
          )}
        </Fact>
        {entry.request_id !== null && (
          <Fact name="Request">
            <span class="mono">{entry.request_id}</span>
          </Fact>
        )}
        <Fact name="Entry">{entry.id}</Fact>
        {entry.subject.id !== '' && (
          <Fact name="Also">
            <a href={hrefOf('/people/trail', { subject: entry.subject.id })}>All entries about it</a>
          </Fact>
        )}
      </dl>
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
          <dl class="facts">
            {Object.entries(rest).map(([name, value]) => (
              <Fact key={name} name={pathWords(name)}>
                {wordsOf(value)}
              </Fact>
            ))}
          </dl>
        </section>
      )}
    </div>
  );
}
