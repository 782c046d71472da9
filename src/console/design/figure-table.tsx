import type { ComponentChildren } from 'preact';
import { inColumn } from './column.ts';
import type { WrittenFigure } from './format.ts';
import { Written } from './written.tsx';

export interface FigureRow {
  readonly name: ComponentChildren;
  readonly cells: readonly WrittenFigure[];
  /** Whether the row is emphasised, because it is a sum. */
  readonly isSum?: boolean | undefined;
}

export interface FigureTableProps {
  /** The contents of the table, for screen readers; absent if the surrounding text says it. */
  readonly label?: string;
  /** The heads of the name column and of each column of figures. */
  readonly heads: readonly string[];
  readonly rows: readonly FigureRow[];
}

/** A small table of names and figures. All figures of a column have one format. */
export function FigureTable({ label, heads, rows }: FigureTableProps) {
  const formats = heads.slice(1).map((_, at) => inColumn(rows.flatMap(({ cells }) => cells[at] ?? [])));
  return (
    <table class="table table-figures" aria-label={label}>
      <thead>
        <tr>
          {heads.map((head, at) => (
            <th key={head} scope="col" class={at === 0 ? undefined : 'is-figure'}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, cells, isSum }, row) => (
          <tr key={row} class={isSum ? 'is-sum' : undefined}>
            <th scope="row">{name}</th>
            {cells.map((cell, at) => (
              <td key={at} class="is-figure">
                <Written value={formats[at]?.(cell) ?? cell} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
