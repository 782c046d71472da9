import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { go } from '../shell/router.ts';
import { Button } from './button.tsx';
import { formatsOf, type inColumn } from './column.ts';
import { Explained } from './explained.tsx';
import { NONE, type WrittenFigure } from './format.ts';
import type { TermName } from './terms.ts';
import { useWindow } from './window.ts';
import { Written } from './written.tsx';

export interface TableColumn<Row> {
  readonly id: string;
  /** The heading, a noun. The heading of a column of figures contains the unit. */
  readonly head: string;
  readonly unit?: string;
  /** The glossary term that explains the head. */
  readonly term?: TermName;
  /** Figures are aligned to the right. */
  readonly isFigure?: boolean;
  /** Returns the figure of a row. The column is aligned to the right, and all its rows use one format. */
  readonly figure?: (row: Row) => WrittenFigure;
  /** Columns with the same text write all their figures in one common format, such as the months of a year. */
  readonly formatWith?: string;
  /** Renders the cell of a row from its formatted figure; by default it shows the figure. */
  readonly cell?: (row: Row, figure: WrittenFigure) => ComponentChildren;
  /**
   * Returns the value to sort by; true sorts by the figure or text of the cell. Without `sort`, the column cannot be sorted. A row with the
   * value null comes last.
   */
  readonly sort?: true | ((row: Row) => number | string | null);
  /**
   * The position on a phone's card: `main` is the name of the row, `fact` is to its right, `second` is below. A row with more facts has
   * `third` and `fourth` to the right of `second`, or any number of `more`, which wrap below `main`. Columns without a position are left
   * out. If no column is `main`, the first column is the name of the row.
   */
  readonly phone?: 'main' | 'fact' | 'second' | 'third' | 'fourth' | 'more';
}

interface TableProps<Row> {
  /** The contents of the table, for screen readers. */
  readonly label: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The address that a row opens; the first cell is the link. The address is undefined for a row that opens nothing. */
  readonly hrefOf?: (row: Row) => string | undefined;
  /** The key of the row whose detail is open. */
  readonly current?: string | undefined;
  /** Called when the end of a paged list becomes visible, to load more. */
  readonly onEnd?: (() => void) | null;
  /** The initial order of the rows. */
  readonly order?: TableOrder;
  /** How many rows to show until the viewer asks for all; by default all. */
  readonly first?: number;
  /** The row with the sums of all rows. It stays at the end. */
  readonly total?: Row;
}

interface TableOrder {
  readonly id: string;
  readonly isDown: boolean;
}

/** Tables with fewer rows than this number are rendered in full. */
const WINDOWED_MIN = 100;

/** A table, or cards on a phone. A long table renders only the visible rows. */
export function Table<Row>({
  label,
  columns: given,
  rows,
  keyOf,
  hrefOf,
  current,
  onEnd = null,
  order: firstOrder,
  first: few = rows.length,
  total,
}: TableProps<Row>) {
  const columns = given.map(filledIn);
  const [isWhole, setWhole] = useState(false);
  const [order, setOrder] = useState<TableOrder | null>(firstOrder ?? null);
  const all = sortedRows(rows, columns.find(({ id }) => id === order?.id)?.sort, order?.isDown ?? false);
  const sorted = isWhole ? all : all.slice(0, few);
  const { body, first, end, before, behind } = useWindow(sorted.length, sorted.length >= WINDOWED_MIN, onEnd);
  const formats = formatsOf(columns, total === undefined ? rows : [...rows, total]);
  const main = columns.find(({ phone }) => phone === 'main')?.id ?? columns[0]?.id;
  const turn = ({ id, isFigure }: FilledColumn<Row>) =>
    setOrder((now) => (now?.id !== id ? { id, isDown: isFigure === true } : { id, isDown: !now.isDown }));
  return (
    <div class="table-scroll">
      <table class="table table-cards" aria-label={label} aria-rowcount={onEnd ? -1 : sorted.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} order={order} onTurn={turn} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Space height={before} />
          {sorted.slice(first, end).map((row, at) => {
            const [key, href] = [keyOf(row), hrefOf?.(row)];
            return (
              <tr
                key={key}
                aria-rowindex={first + at + 2}
                aria-current={key === current ? 'true' : undefined}
                data-opens={href}
                onClick={(event) => {
                  if (href === undefined || !(event.target instanceof Element)) return;
                  if (event.target.closest('a, button, input') === null && getSelection()?.isCollapsed) go(href);
                }}
              >
                {columns.map((column, place) => (
                  <Cell
                    key={column.id}
                    column={column}
                    row={row}
                    format={formats.get(column.id)}
                    href={place === 0 ? href : undefined}
                    isMain={column.id === main}
                  />
                ))}
              </tr>
            );
          })}
          <Space height={behind} />
        </tbody>
        {total !== undefined && (
          <tfoot>
            <tr class="is-sum">
              {columns.map((column) => (
                <Cell
                  key={column.id}
                  column={column}
                  row={total}
                  format={formats.get(column.id)}
                  href={undefined}
                  isMain={column.id === main}
                />
              ))}
            </tr>
          </tfoot>
        )}
      </table>
      {rows.length > few && (
        <div class="table-more">
          <Button onClick={() => setWhole((now) => !now)}>
            {isWhole ? `Show the first ${few}` : `Show all ${rows.length}`}
          </Button>
        </div>
      )}
    </div>
  );
}

interface FilledColumn<Row> extends TableColumn<Row> {
  readonly sort?: (row: Row) => number | string | null;
}

/** Fills in the properties of a column that follow from its figure. */
function filledIn<Row>({ sort, ...column }: TableColumn<Row>): FilledColumn<Row> {
  const { figure, cell } = column;
  const shown = (row: Row) => {
    const value = figure ? figure(row).amount?.value : cell?.(row, NONE);
    return typeof value === 'number' || typeof value === 'string' ? value : null;
  };
  return {
    ...(figure && { isFigure: true }),
    ...column,
    ...(sort && { sort: sort === true ? shown : sort }),
  };
}

/** Takes the place of rows that are not rendered. */
const Space = ({ height }: { readonly height: number }) =>
  height === 0 ? null : (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
    <tr class="table-space" aria-hidden="true">
      <td style={{ height: `${height}px` }} />
    </tr>
  );

function Head<Row>({
  column,
  order,
  onTurn,
}: {
  readonly column: FilledColumn<Row>;
  readonly order: TableOrder | null;
  readonly onTurn: (column: FilledColumn<Row>) => void;
}) {
  const isOrder = order?.id === column.id;
  const text = (
    <>
      {column.head}
      {column.unit && <span class="table-unit">, {column.unit}</span>}
    </>
  );
  return (
    <th
      scope="col"
      class={column.isFigure ? 'is-figure' : undefined}
      data-column={column.id}
      aria-sort={isOrder ? (order.isDown ? 'descending' : 'ascending') : undefined}
    >
      {column.sort ? (
        <button type="button" class="table-sort" onClick={() => onTurn(column)}>
          {text}
          <span aria-hidden="true">{isOrder ? (order.isDown ? ' ↓' : ' ↑') : ''}</span>
        </button>
      ) : (
        text
      )}
      {column.term && <Explained term={column.term}>{''}</Explained>}
    </th>
  );
}

function Cell<Row>({
  column,
  row,
  format,
  href,
  isMain,
}: {
  readonly column: FilledColumn<Row>;
  readonly row: Row;
  readonly format: ReturnType<typeof inColumn> | undefined;
  readonly href: string | undefined;
  readonly isMain: boolean;
}) {
  const { head, unit, isFigure, phone } = column;
  const place = isMain ? 'is-main' : phone && phone !== 'main' ? `is-${phone}` : '';
  const classes = [isFigure ? 'is-figure' : '', place].filter(Boolean).join(' ');
  const own = column.figure?.(row) ?? NONE;
  const shown = format?.(own) ?? own;
  const content = column.cell ? column.cell(row, shown) : column.figure && <Written value={shown} />;
  return (
    <td
      class={classes || undefined}
      data-head={unit && phone !== 'more' ? `${head}, ${unit}:` : `${head}:`}
      data-unit={phone === 'more' && shown !== NONE ? unit : undefined}
    >
      {href === undefined ? content : <a href={href}>{content}</a>}
    </td>
  );
}

function sortedRows<Row>(rows: readonly Row[], by: FilledColumn<Row>['sort'], isDown: boolean): readonly Row[] {
  if (!by) return rows;
  return rows.toSorted((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    const order = typeof a === 'string' && typeof b === 'string' ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0;
    return isDown ? -order : order;
  });
}
