import type { ComponentChildren } from 'preact';
import { inColumn } from './column.ts';
import type { WrittenFigure } from './format.ts';
import { Written } from './written.tsx';

export interface FigureRow {
  readonly name: ComponentChildren;
  readonly cells: readonly WrittenFigure[];
  /** Stands out from the others, as a sum does. */
  readonly isSum?: boolean | undefined;
}

export interface FigureTableProps {
  /** What it lists, for screen readers; absent where the place around it says it. */
  readonly label?: string;
  /** Of the names, and of each column of figures. */
  readonly heads: readonly string[];
  readonly rows: readonly FigureRow[];
}

/** A small table that is nothing but names and figures. Each column has one format. */
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
