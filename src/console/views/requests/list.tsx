import type { PagedList } from '../../api/pages.ts';
import type { ReadOf } from '../../api/reads.ts';
import { Button } from '../../design/button.tsx';
import { duration, figure } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Empty, Failure, Skeleton } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { Dot, NamedState, type StateWords } from '../../design/tag.tsx';
import { Coded, moneyFigure, When } from '../../design/written.tsx';
import { hrefOf, hrefWith, type Params } from '../../shell/router.ts';
import { mayView } from '../../shell/session.ts';

type Row = ReadOf<'/admin/decisions'>['data'][number];

/** The words for how a request ended. */
export const STATUSES: StateWords = {
  completed: ['good', 'Completed'],
  failed: ['bad', 'Failed'],
  broken: ['bad', 'Broken'],
  abandoned: ['warn', 'Abandoned'],
  recommended: ['quiet', 'Recommended'],
  refused: ['warn', 'Refused'],
};

const COLUMNS: readonly TableColumn<Row>[] = [
  {
    id: 'time',
    head: 'Time',
    phone: 'fourth',
    cell: ({ time }) => (time === null ? 'Record unreadable' : <When at={time} />),
  },
  { id: 'model', head: 'Model', phone: 'main', cell: (row) => <Model row={row} /> },
  { id: 'key', head: 'Key', phone: 'third', cell: ({ key_name, key_id }) => <Short text={key_name ?? key_id} /> },
  { id: 'task', head: 'Task', cell: ({ task }) => <Short text={task || null} /> },
  { id: 'status', head: 'Status', phone: 'second', cell: (row) => <Status row={row} /> },
  { id: 'tokens', head: 'Tokens out', figure: ({ output_tokens }) => figure(output_tokens) },
  { id: 'first', head: 'First token', figure: ({ first_part_ms }) => duration(first_part_ms) },
  { id: 'took', head: 'Took', figure: ({ total_ms }) => duration(total_ms) },
  {
    id: 'cost',
    head: 'Charged',
    phone: 'fact',
    figure: ({ charged_usd, credits_consumed }) => moneyFigure({ usd: charged_usd, credits: credits_consumed }),
  },
];

interface RequestListProps {
  readonly list: PagedList<Row>;
  readonly current: string | undefined;
  readonly isFiltered: boolean;
}

/** The newest requests first; scrolling loads more. New requests are only counted, so that the list does not move. */
export function RequestList({ list, current, isFiltered }: RequestListProps) {
  const { rows, failure, hasMore, isLoading } = list;
  if (rows.length === 0 && failure && failure.field === null) {
    return <Failure what="Requests" failure={failure} onRetry={list.renew} />;
  }
  if (rows.length === 0 && isLoading) return <Skeleton rows={8} />;
  if (rows.length === 0 && failure) {
    return <Empty title="A filter is not valid">Correct the marked field, or clear the filters.</Empty>;
  }
  if (rows.length === 0) return <Nothing list={list} isFiltered={isFiltered} />;
  return (
    <>
      <Table
        label="Requests"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefWith({ again: null }, `/requests/${id}`)}
        current={current}
        onEnd={hasMore ? list.more : null}
      />
      {failure && failure.field === null && (
        <div class="notice" role="status">
          <span>
            Older requests could not be loaded: <Coded text={failure.message} />
          </span>
          <Button onClick={hasMore ? list.more : list.renew}>Try again</Button>
        </div>
      )}
      <p class="table-foot">{hasMore ? 'Scroll to load older requests.' : 'There are no older requests.'}</p>
    </>
  );
}

/** The server searches a limited number of requests for each page, so older requests may still match. */
function Nothing({ list, isFiltered }: Pick<RequestListProps, 'list' | 'isFiltered'>) {
  if (list.hasMore) {
    return (
      <div class="state">
        <h3>None of the newest requests match</h3>
        <p>Older requests may match.</p>
        <Button onClick={list.more}>Search older requests</Button>
      </div>
    );
  }
  if (isFiltered) return <Empty title="No request matches">Choose a longer time range, or clear the filters.</Empty>;
  return (
    <Empty title="No requests in this period">
      Each request to <code>/v1/chat/completions</code> or another model endpoint appears here when it ends, also if it
      is refused.
      <SendOne />
    </Empty>
  );
}

/** A link to the playground for viewers who may send requests. */
export const SendOne = () =>
  mayView('playground.send') ? (
    <>
      {' '}
      <a href={hrefOf('/playground')}>Send a request in the playground</a>
    </>
  ) : null;

/** The state of a request, with the HTTP status and the code of its error and the number of refused requests that a row counts. */
const Status = ({ row: { status, error, http_status, refusal } }: { readonly row: Row }) => (
  <span class="requests-status">
    <NamedState name={status} of={STATUSES} />
    {error !== null && (
      <span class="small dim" title={error}>
        {http_status} {error}
        {refusal !== null && refusal.answers > 1 && `, ${figure(refusal.answers).short} times in that minute`}
      </span>
    )}
  </span>
);

/** Returns the address of the list with an additional filter. */
export const listHref = (filter: Params) => hrefWith({ ...filter, again: null }, '/requests');

export const Labels = ({ of }: { readonly of: Readonly<Record<string, string>> }) => (
  <>
    {Object.entries(of).map(([name, value]) => (
      <a key={name} class="requests-label" href={listHref({ label: `${name}=${value}` })}>
        {name}={value}
      </a>
    ))}
  </>
);

/** The findings of guards in a request, in sentences; nothing if they found nothing. */
export const GuardFindings = ({ texts }: { readonly texts: readonly string[] }) =>
  texts.length === 0
    ? null
    : texts.map((text) => (
        <p key={text}>
          <Coded text={text} />
        </p>
      ));

const Model = ({ row: { model, selector, error, instead_of: instead } }: { readonly row: Row }) => (
  <span class="requests-model">
    {model !== '' && <Dot mark={markOf(model)} />}
    <span class="requests-name">
      <span title={error ?? undefined}>{model || <span class="dim">–</span>}</span>{' '}
      {selector !== null && selector !== 'pinned' && <span class="small dim">{selector}</span>}
      {instead !== null && (
        <span class="small dim" title={instead.text}>
          instead of {instead.model}
        </span>
      )}
    </span>
  </span>
);

const Short = ({ text }: { readonly text: string | null }) => (
  <span class="requests-short" title={text ?? undefined}>
    {text ?? <span class="dim">–</span>}
  </span>
);
