import type { ComponentChildren } from 'preact';
import type { ReadOf } from '../../api/reads.ts';
import { type Resource, useResource } from '../../api/resource.ts';
import { Card } from '../../design/card.tsx';
import { figure, percent, plural } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Loaded, Partial } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State, type StateWords } from '../../design/tag.tsx';
import { When } from '../../design/written.tsx';
import { columnsOf } from '../../kit/columns.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { mayView } from '../../shell/session.ts';
import { listHref } from './list.tsx';

export type GuardReport = ReadOf<'/admin/guards'>;
type Guard = GuardReport['data'][number];

const FLAGGED = { finding: 'flag' } as const;
/** How many requests of a dry run a detail shows. */
const SHOWN = 10;

/** The words for what happens with a match. */
const ACTIONS: StateWords = {
  block: ['bad', 'Blocks'],
  mask: ['good', 'Masks'],
  flag: ['quiet', 'Only counts'],
};

const SIDES: Readonly<Record<string, string>> = { input: 'requests', output: 'answers' };
const sidesOf = ({ on }: Guard): string => (on ?? []).map((side) => SIDES[side] ?? side).join(' and ');

const guardHref = (name: string | null): string =>
  hrefWith({}, name === null ? '/requests/guards' : `/requests/guards/${encodeURIComponent(name)}`);

interface GuardsProps {
  /** The first part of the query: the period. */
  readonly period: { readonly from: string | null; readonly to: string | null };
  /** The name of the guard whose detail is open. */
  readonly name: string | undefined;
}

/** The guards of the policy, and what they found in the period. */
export function Guards({ period, name }: GuardsProps) {
  const guards = useResource('/admin/guards', { ...period });
  return (
    <Loaded what="Guards" of={guards}>
      {(report) => (
        <>
          {report.counted_from !== null && (
            <Partial>
              The period has more requests than Signalbox counts at once. These are the newest{' '}
              {figure(report.requests).short}, since <When at={report.counted_from} />.
            </Partial>
          )}
          {report.data.length === 0 ? <NoGuards /> : <GuardTable report={report} current={name} />}
          <DryRuns report={report} />
          {name !== undefined && (
            <Panel title={name} closeHref={guardHref(null)}>
              <GuardDetail guard={report.data.find((guard) => guard.name === name)} period={period} />
            </Panel>
          )}
        </>
      )}
    </Loaded>
  );
}

const NoGuards = () => (
  <Empty title="The policy has no guards">
    Add the section <code>guards</code> to the policy. A guard with <code>on_match: flag</code> changes nothing, and
    shows here what it would block.
  </Empty>
);

/** A sentence about the guard with the most matches. */
function headingOf({ data, requests }: GuardReport): string {
  const [most] = data.toSorted((one, other) => other.matched - one.matched);
  if (!most || most.matched === 0) return `No guard found anything in ${plural(requests, 'request')}.`;
  return `${most.name} found something in ${figure(most.matched).short} of ${plural(most.requests, 'request')}.`;
}

const GuardTable = ({ report, current }: { readonly report: GuardReport; readonly current: string | undefined }) => (
  <Card id="requests-guards" heading={headingOf(report)}>
    <Table<Guard>
      label="Guards"
      rows={report.data}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => guardHref(name)}
      current={current}
      columns={columnsOf<Guard>([
        { head: 'Guard', name: ({ name }) => name },
        { head: 'State', cell: (guard) => <Health of={guard} />, phone: 'more' },
        { head: 'Kind', of: 'guard', none: 'Not in the policy' },
        { head: 'Inspects', cell: (guard) => sidesOf(guard) || <span class="dim">–</span> },
        { head: 'On match', cell: ({ on_match }) => <OnMatch of={on_match} />, phone: 'more' },
        { head: 'Requests', count: ({ requests }) => requests },
        { head: 'Matched', count: ({ matched }) => matched, phone: 'more' },
        { head: 'Blocked', count: ({ blocked }) => blocked },
        { head: 'Masked', count: ({ masked }) => masked },
        ...(report.data.some(({ repaired }) => repaired > 0)
          ? [{ head: 'Repaired', count: ({ repaired }: Guard) => repaired }]
          : []),
        { head: 'Flagged', count: ({ flagged }) => flagged },
        { head: 'Failed', count: ({ failed }) => failed },
      ])}
    />
  </Card>
);

function OnMatch({ of }: { readonly of: Guard['on_match'] }) {
  const [tone, word] = ACTIONS[of ?? ''] ?? [];
  return tone === undefined ? <span class="dim">–</span> : <State tone={tone}>{word}</State>;
}

/** Whether the guard works now. */
const Health = ({ of: { failing, guard } }: { readonly of: Guard }) =>
  failing ? (
    <State tone="bad">Fails</State>
  ) : guard === null ? (
    <span class="dim">–</span>
  ) : (
    <State tone="good">Works</State>
  );

/** For how long the guard fails, and why. */
const failureOf = ({ failing }: Guard): ComponentChildren =>
  failing && (
    <>
      <State tone="bad">Fails</State> at every request, first <When at={failing.since} />
      {failing.error !== null && <>: {failing.error}</>}.{' '}
      <a href={hrefWith({}, `/requests/${failing.request_id}`)}>Show the last request</a>
    </>
  );

/** For each guard that only counts: how many requests it would have blocked. */
function DryRuns({ report: { data } }: { readonly report: GuardReport }) {
  const dry = data.filter(({ on_match, flagged }) => on_match === 'flag' || flagged > 0);
  if (dry.length === 0) return null;
  return (
    <Card id="requests-dry-run" heading="Dry run: what guards that only count would have blocked">
      {dry.map((guard) => (
        <p key={guard.name} class="row">
          <span>{dryRunText(guard)}</span>
          {guard.flagged > 0 && <a href={listHref({ guard: guard.name, ...FLAGGED })}>Show the requests</a>}
        </p>
      ))}
    </Card>
  );
}

function dryRunText({ name, flagged, requests }: Guard): string {
  if (flagged === 0) return `${name} would have blocked none of ${plural(requests, 'request')}.`;
  const share = requests > 0 ? ` (${percent(flagged / requests).short})` : '';
  return `${name} would have blocked ${figure(flagged).short} of ${plural(requests, 'request')}${share}.`;
}

interface GuardDetailProps extends Pick<GuardsProps, 'period'> {
  readonly guard: Guard | undefined;
}

/** A guard: its place in the policy, the keys and models with the most matches, and the newest requests of its dry run. */
function GuardDetail({ guard, period }: GuardDetailProps) {
  if (!guard) return <Empty title="No such guard">The policy and the requests of this period do not name it.</Empty>;
  const { name, keys, models, flagged } = guard;
  return (
    <div class="stack">
      <Facts
        of={guard}
        facts={[
          ['Kind', 'guard', 'Not in the active policy'],
          ['Inspects', (one) => sidesOf(one) + (one.is_conditional ? ', if its condition holds' : '')],
          ['On match', ({ on_match }) => on_match && <OnMatch of={on_match} />],
          ['Policy', placeOf],
          ['State', failureOf],
          ['Requests', ({ requests }) => figure(requests).short],
          ['Matched', ({ matched }) => matched > 0 && <a href={listHref({ guard: name })}>{figure(matched).short}</a>],
          ['Failed', ({ failed }) => failed > 0 && figure(failed).short],
        ]}
      />
      <Most
        what="Keys"
        rows={keys.map((key) => ({
          name: key.name ?? key.id ?? 'Unknown',
          key: key.id ?? key.name ?? '',
          matched: key.matched,
          href: listHref({ guard: name, key: key.id ?? key.name }),
        }))}
      />
      <Most
        what="Models"
        rows={models.map(({ id, matched }) => ({
          name: id,
          key: id,
          matched,
          href: listHref({ guard: name, model: id }),
        }))}
      />
      {flagged > 0 && <DryRun guard={guard} period={period} />}
    </div>
  );
}

function placeOf({ file, line }: Guard): ComponentChildren {
  if (file === null || line === null) return null;
  const text = `${file}:${line}`;
  if (!mayView('policy.read')) return text;
  return <a href={hrefOf(`/policies/files/${encodeURIComponent(file)}`, { line: String(line) })}>{text}</a>;
}

interface Most {
  readonly name: string;
  readonly key: string;
  readonly matched: number;
  readonly href: string;
}

const Most = ({ what, rows }: { readonly what: string; readonly rows: readonly Most[] }) =>
  rows.length === 0 ? null : (
    <section aria-label={what} class="stack-tight">
      <h2>{what} with the most matches</h2>
      <Table<Most>
        label={`${what} with the most matches`}
        rows={rows}
        keyOf={({ key }) => key}
        hrefOf={({ href }) => href}
        columns={columnsOf<Most>([
          { head: what, name: ({ name }) => name },
          { head: 'Matched', count: ({ matched }) => matched, phone: 'fact' },
        ])}
      />
    </section>
  );

function DryRun({ guard, period }: Required<GuardDetailProps> & { readonly guard: Guard }) {
  const { name } = guard;
  const newest: Resource<ReadOf<'/admin/decisions'>> = useResource('/admin/decisions', {
    ...period,
    guard: name,
    ...FLAGGED,
    limit: String(SHOWN),
  });
  return (
    <section aria-label="Dry run" class="stack-tight">
      <h2>Dry run</h2>
      <p>{dryRunText(guard)}</p>
      <Loaded what="The requests" of={newest}>
        {({ data }) => (
          <ul class="requests-dry-run">
            {data.map(({ id, time, key_name, key_id, guards }) => (
              <li key={id}>
                <a href={hrefWith({}, `/requests/${id}`)}>{time === null ? id : <When at={time} />}</a>{' '}
                <span class="dim">by {key_name ?? key_id ?? 'an unknown key'}</span>
                {guards.map((sentence) => (
                  <p key={sentence}>{sentence}</p>
                ))}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <a href={listHref({ guard: name, ...FLAGGED })}>Show all in the list</a>
    </section>
  );
}
