import { useMemo } from 'preact/hooks';
import { usePages } from '../../api/pages.ts';
import { Button } from '../../design/button.tsx';
import { endsOf, range } from '../../shell/range.ts';
import { hrefOf, param, partsBelow } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { Cache } from './cache.tsx';
import { RequestDetail } from './detail.tsx';
import { FILTERS, FindRequest, RequestFilters } from './filters.tsx';
import { Guards } from './guards.tsx';
import { RequestList } from './list.tsx';

const PAGE = 50;
const WHOSE = { all: 'all keys', team: 'the keys of your team', own: 'your keys' } as const;

/** The parts of the view in addition to the list of requests. */
const PARTS = { guards: 'Guards', cache: 'Cache' } as const;
const isPart = (part: string | undefined): part is keyof typeof PARTS =>
  part !== undefined && Object.hasOwn(PARTS, part);

/** The list of requests, one request in full, what guards found in requests, and what the cache saved. */
export default function Requests() {
  const [part, guard] = partsBelow('/requests');
  const { name, days, label } = range.value;
  // The range stays the same between renders, because the list would start again each time the end of the range moves.
  const ends = useMemo(() => endsOf(range.value, Date.now()), [name, days?.from, days?.to]);
  const period = { from: isoOf(ends.from), to: isoOf(ends.to) };
  const isList = !isPart(part);
  const whose = WHOSE[reachOfViewer('decisions.list') ?? 'own'];
  return (
    <div class="stack">
      <ViewHead title="Requests" summary={`${label}, ${whose}${isList ? ', the newest first' : ''}`}>
        {isList && <FindRequest />}
      </ViewHead>
      <nav class="tabs" aria-label="Parts of requests">
        <a class="tab" href={hrefOf('/requests')} aria-current={isList ? 'page' : undefined}>
          List
        </a>
        {Object.entries(PARTS).map(([name, label]) => (
          <a
            key={name}
            class="tab"
            href={hrefOf(`/requests/${name}`)}
            aria-current={part === name ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      {isList && <AllRequests period={period} id={part} />}
      {part === 'guards' && <Guards period={period} name={guard} />}
      {part === 'cache' && <Cache period={period} />}
    </div>
  );
}

interface AllRequestsProps {
  readonly period: { readonly from: string | null; readonly to: string | null };
  /** The ID of the request whose detail is open. */
  readonly id: string | undefined;
}

function AllRequests({ period, id }: AllRequestsProps) {
  const filters = Object.fromEntries(FILTERS.map((filter) => [filter, param(filter)]));
  const isFiltered = FILTERS.some((filter) => filters[filter] !== '');
  const list = usePages('/admin/decisions', { ...filters, ...period }, { limit: PAGE, newerBy: 'newer_than' });
  return (
    <>
      <RequestFilters failure={list.failure} />
      <section class="card requests-list" aria-label="Requests">
        <div class="requests-fresh" role="status">
          {list.fresh > 0 && (
            <Button onClick={list.renew}>
              Show {list.fresh >= PAGE ? `${PAGE} or more` : list.fresh} new {list.fresh === 1 ? 'request' : 'requests'}
            </Button>
          )}
        </div>
        <RequestList list={list} current={id} isFiltered={isFiltered} />
      </section>
      {id !== undefined && <RequestDetail key={id} id={id} />}
    </>
  );
}

const isoOf = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());
