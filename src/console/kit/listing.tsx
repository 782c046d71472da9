import type { ComponentChildren } from 'preact';
import type { ApiFailure } from '../api/failure.ts';
import { type ListedRow, type ListPath, type PagedList, type PagesOptions, usePages } from '../api/pages.ts';
import { Button, ButtonLink } from '../design/button.tsx';
import { Field, Filters, Select } from '../design/field.tsx';
import { Empty, Failure, Skeleton } from '../design/states.tsx';
import { Table } from '../design/table.tsx';
import { go, hrefWith, param, setParams } from '../shell/router.ts';
import { type Column, columnsOf } from './columns.tsx';
import type { Option } from './draft.ts';

/** A filter of a list. The value of a filter is in the page's address. */
export interface Filter {
  /** The query parameter of the list's API. */
  readonly of: string;
  /** The parameter of the page's address, if its name differs. */
  readonly param?: string;
  readonly label: string;
  /** The options of a choice. Without options, the filter is a text field. A choice with an empty list of options is hidden. */
  readonly options?: readonly Option[];
  /** The text of the empty filter: "Any state". The default text of the empty filter is the label. */
  readonly any?: string;
  /** Parameters of the address that are cleared when this filter changes. */
  readonly clears?: readonly string[];
  /** A component that replaces the field and sets the parameter itself. */
  Input?(props: { readonly error: string | null }): ComponentChildren;
}

/** The open detail of a list. */
export interface Place<Row> {
  /** The ID in the address; `new` for the form that creates an item. */
  readonly id: string;
  readonly closeHref: string;
  readonly list: PagedList<Row>;
  /** Updates the row in the list after a change. */
  put(row: Row): void;
  /** Removes the row, and closes the detail. */
  removed(): void;
  /** Opens the item that was just created. */
  made(id: string): void;
}

/** Makes the addresses of a list and its details, and keeps the filters of the page. */
export const below =
  (at: string) =>
  (id: string | null): string =>
    hrefWith({ edit: null }, id === null ? at : `${at}/${id}`);

/** Columns whose cells change rows need the list. */
type Columns<Row> = readonly Column<Row>[] | ((list: PagedList<Row>) => readonly Column<Row>[]);

interface ListingProps<Path extends ListPath> extends PagesOptions {
  readonly path: Path;
  /** A plural noun: "Workloads". */
  readonly what: string;
  /** The singular noun: "workload". */
  readonly noun: string;
  readonly filters?: readonly Filter[];
  /** Whether the list shows the button that creates an item. */
  readonly mayMake?: boolean;
  /** Other buttons to the right of the filters. */
  readonly buttons?: ComponentChildren;
  readonly columns: Columns<ListedRow<Path>>;
  /** The title and text that an empty list shows. */
  readonly empty: readonly [title: string, text: ComponentChildren];
  /** Returns the address of a row, or of the list if the ID is null; absent if rows open nothing. */
  readonly at?: (id: string | null) => string;
  /** The ID of the open detail. */
  readonly id?: string | null;
  readonly panel?: (place: Place<ListedRow<Path>>) => ComponentChildren;
}

/**
 * A list of the API: its filters, its table by pages, the states around it, and the detail of the row that is open.
 * @example
 * <Listing
 *   path="/admin/subjects"
 *   what="Workloads"
 *   noun="workload"
 *   cursor="before"
 *   columns={[{ head: 'Subject', name: ({ sub }) => sub }, { of: 'last_seen_at' }]}
 *   empty={['No workload has sent a token', 'State an issuer in the policy.']}
 *   at={below('/people/subjects')}
 *   id={id}
 *   panel={(place) => <WorkloadPanel place={place} />}
 * />
 */
export function Listing<Path extends ListPath>(props: ListingProps<Path>) {
  const { path, what, noun, filters = [], columns, empty, at, id, panel, ...pages } = props;
  const stated = Object.fromEntries(filters.map((filter) => [filter.of, statedIn(filter)]));
  const list = usePages(path, stated, pages);
  const { rows, failure } = list;
  const failedField = filters.find((filter) => filter.of === failure?.field)?.of;
  return (
    <>
      <ListBar {...props} filters={filters} error={failedField === undefined ? null : failure} />
      {list.fresh > 0 && (
        <div>
          <Button onClick={list.renew}>Show {list.fresh} new</Button>
        </div>
      )}
      {rows.length > 0 ? (
        <section class="card" aria-label={what}>
          <Table<ListedRow<Path>>
            label={what}
            rows={rows}
            keyOf={(row) => String(row.id)}
            {...(at && { hrefOf: (row) => at(String(row.id)) })}
            current={id ?? undefined}
            onEnd={list.hasMore ? list.more : null}
            columns={columnsOf(typeof columns === 'function' ? columns(list) : columns)}
          />
          {failure && <Failure what={`More ${what.toLowerCase()}`} failure={failure} onRetry={list.more} />}
        </section>
      ) : failure ? (
        failedField === undefined && <Failure what={what} failure={failure} onRetry={list.renew} />
      ) : list.isLoading ? (
        <Skeleton rows={8} />
      ) : filters.some(statedIn) ? (
        <Empty title={`No ${noun} matches`}>Clear a filter to see more.</Empty>
      ) : (
        <Empty title={empty[0]}>{empty[1]}</Empty>
      )}
      {id && at && panel?.(placeOf(list, id, at, filters))}
    </>
  );
}

const statedIn = (filter: Pick<Filter, 'of' | 'param'>): string => param(filter.param ?? filter.of);

const cleared = (filters: readonly Filter[]) =>
  Object.fromEntries(filters.map((filter) => [filter.param ?? filter.of, null]));

const placeOf = <Row,>(
  list: PagedList<Row>,
  id: string,
  at: (id: string | null) => string,
  filters: readonly Filter[],
): Place<Row> => ({
  id,
  list,
  closeHref: at(null),
  put: (row) => list.put(id, row),
  removed() {
    list.put(id, null);
    go(at(null));
  },
  made(made) {
    list.renew();
    // After a creation, the filters are cleared so that the list contains the new item.
    setParams(cleared(filters));
    go(at(made));
  },
});

type ListBarProps = Pick<ListingProps<ListPath>, 'noun' | 'at' | 'mayMake' | 'buttons'> & {
  readonly filters: readonly Filter[];
  /** The failure of the list. The filter that the error names shows the error. */
  readonly error: ApiFailure | null;
};

/** The filters of a list, and its buttons. */
function ListBar({ noun, at, mayMake, buttons, filters, error }: ListBarProps) {
  const shown = filters.filter(({ options }) => options?.length !== 0);
  const errorOf = ({ of }: Pick<Filter, 'of'>) => (of === error?.field ? error.message : null);
  if (shown.length === 0 && !mayMake && !buttons) return null;
  return (
    <div class="list-bar">
      <Filters onClear={filters.some(statedIn) ? () => setParams(cleared(filters)) : null}>
        {shown.map(({ Input, ...filter }) =>
          Input ? (
            <Input key={filter.of} error={errorOf(filter)} />
          ) : (
            <FilterField key={filter.of} filter={filter} error={errorOf(filter)} />
          ),
        )}
      </Filters>
      {mayMake && at && (
        <ButtonLink kind="first" href={at('new')}>
          Create {noun}
        </ButtonLink>
      )}
      {buttons}
    </div>
  );
}

function FilterField({ filter, error }: { readonly filter: Omit<Filter, 'Input'>; readonly error: string | null }) {
  const { label, options, any = label, clears = [] } = filter;
  const shared = {
    isBare: true,
    label,
    error,
    value: statedIn(filter),
    onValue: (value: string) =>
      setParams({ ...Object.fromEntries(clears.map((name) => [name, null])), [filter.param ?? filter.of]: value }),
  };
  return options ? (
    <Select {...shared} options={[{ value: '', label: any }, ...options]} />
  ) : (
    <Field {...shared} type="search" placeholder={any} />
  );
}
