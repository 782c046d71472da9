import type { ComponentChildren } from 'preact';
import { asSum, figure } from '../design/format.ts';
import type { TableColumn } from '../design/table.tsx';
import { type MoneyProps, moneyFigure } from '../design/written.tsx';
import { nameOfMember, show } from './show.tsx';

/** A column of a table. The content of a column is determined by `of`, `name`, `count`, `money`, `sum`, `figure` or `cell`. */
export interface Column<Row> extends Omit<TableColumn<Row>, 'id' | 'head' | 'cell' | 'sort'> {
  /** The heading, a noun. The default heading is the name of the member. */
  readonly head?: string;
  /** The member of the row that the column shows and sorts by. */
  readonly of?: keyof Row & string;
  /** The word to show if the member is empty. */
  readonly none?: string;
  /** Returns the name of the row; the pointer shows its ID. The name is dim if the ID is null or empty. */
  readonly name?: (row: Row) => string;
  /** Returns a number; null if the number is not known. */
  readonly count?: (row: Row) => number | null;
  /** Returns an amount; null if the amount is not known. */
  readonly money?: (row: Row) => MoneyProps | null;
  /** Returns the sum of many charges, which people read to the cent; null if it is not known. */
  readonly sum?: (row: Row) => MoneyProps | null;
  /** Renders something other than the value that the column sorts by. */
  readonly cell?: TableColumn<Row>['cell'];
  /** False if the column cannot be sorted. */
  readonly sort?: TableColumn<Row>['sort'] | false;
}

/**
 * The columns of a `Table`, with what their kind implies: cells, order and alignment.
 * @example
 * <Table
 *   label="Workloads"
 *   rows={rows}
 *   keyOf={({ id }) => id}
 *   columns={columnsOf<Workload>([
 *     { head: 'Workload', name: ({ sub }) => sub },
 *     { head: 'Requests', count: ({ requests }) => requests, phone: 'fact' },
 *     { of: 'last_seen_at', none: 'Never', phone: 'second' },
 *   ])}
 * />
 */
export const columnsOf = <Row extends object>(columns: readonly Column<Row>[]): readonly TableColumn<Row>[] =>
  columns.map(({ of, head = nameOfMember(of ?? ''), none, name, count, money, sum, sort, ...column }) => {
    const implied = of
      ? shownMember(of, none)
      : name
        ? shownName(name)
        : money
          ? shownMoney(money)
          : sum
            ? shownSum(sum)
            : count
              ? shownCount(count)
              : {};
    const order = sort === false ? undefined : (sort ?? implied.sort);
    const { sort: _, ...parts } = implied;
    return { ...parts, id: head, head, ...column, ...(order && { sort: order }) };
  });

type Implied<Row> = Partial<TableColumn<Row>>;

const shownMember = <Row extends object>(of: keyof Row & string, none?: string): Implied<Row> => ({
  cell: (row) => show(of, row[of], none),
  sort: (row) => sortable(row[of]),
});

const sortable = (value: unknown): number | string | null =>
  typeof value === 'number' || typeof value === 'string' ? value : null;

const shownName = <Row extends object>(name: (row: Row) => string): Implied<Row> => ({
  cell: (row) => <RowName id={'id' in row ? row.id : name(row)}>{name(row)}</RowName>,
  sort: name,
});

const RowName = ({ id, children: name }: { readonly id: unknown; readonly children: string }): ComponentChildren => (
  <span
    class={id === null || id === '' ? 'table-name dim' : 'table-name'}
    title={id === null || id === '' || id === name ? name : `${name} (${id})`}
  >
    {name}
  </span>
);

const shownMoney = <Row,>(money: (row: Row) => MoneyProps | null): Implied<Row> => ({
  figure: (row) => moneyFigure(money(row) ?? { usd: null, credits: null }),
  sort: (row) => money(row)?.credits ?? null,
});

const shownSum = <Row,>(sum: (row: Row) => MoneyProps | null): Implied<Row> => {
  const { figure: amount, ...parts } = shownMoney(sum);
  return { ...parts, ...(amount && { figure: (row: Row) => asSum(amount(row)) }) };
};

const shownCount = <Row,>(count: (row: Row) => number | null): Implied<Row> => ({
  figure: (row) => figure(count(row)),
  sort: count,
});
