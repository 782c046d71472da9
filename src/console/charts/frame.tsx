import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../design/button.tsx';
import { inColumn } from '../design/column.ts';
import type { WrittenFigure } from '../design/format.ts';
import { NONE } from '../design/format.ts';

/** The figures of a chart as a table: a row for each point. */
export interface ChartTwin {
  readonly heads: readonly string[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly WrittenFigure[] }[];
}

interface ChartFrameProps {
  /** A sentence with the answer in it: "Spend is 12 % above last week, mostly team search." */
  readonly heading: string;
  readonly twin: ChartTwin;
  readonly children: ComponentChildren;
}

/** What every chart has: its sentence above, and the same figures as a table, seen or heard. */
export function ChartFrame({ heading, twin, children }: ChartFrameProps) {
  const [isTable, setTable] = useState(false);
  const formats = twin.heads.slice(1).map((_, at) => inColumn(twin.rows.flatMap(({ cells }) => cells[at] ?? [])));
  return (
    <section class="chart" aria-label={heading}>
      <div class="chart-head">
        <h2>{heading}</h2>
        <Button kind="plain" aria-pressed={isTable} onClick={() => setTable((now) => !now)}>
          {isTable ? 'Chart' : 'Table'}
        </Button>
      </div>
      <div class="chart-body" hidden={isTable}>
        {children}
      </div>
      <section
        class={isTable ? 'chart-twin' : 'unseen'}
        tabIndex={isTable ? 0 : undefined}
        aria-label={`Table: ${heading}`}
      >
        <table class="table">
          <thead>
            <tr>
              {twin.heads.map((head, at) => (
                <th key={head} scope="col" class={at === 0 ? undefined : 'is-figure'}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {twin.rows.map(({ name, cells }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {cells
                  .map((cell, at) => formats[at]?.(cell) ?? cell)
                  .map(({ short, exact }, at) => (
                    <td key={at} class="is-figure" title={exact === short ? undefined : exact}>
                      {short === NONE.short ? <span class="dim">–</span> : short}
                    </td>
                  ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}

/** The width of an element, px, as it changes; a guess before it is drawn. */
export function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const shown = box.current;
    if (!shown) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0) setWidth(Math.round(entry.contentRect.width));
    });
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

interface WalkProps {
  /** What is walked: "Spend over time". */
  readonly label: string;
  readonly count: number;
  /** The point in hand; null for none. */
  readonly at: number | null;
  onAt(at: number | null): void;
  /** The point in words. */
  readonly say: (at: number) => string;
  /** The point nearest to a place, px from the upper left corner. */
  readonly near: (x: number, y: number) => number | null;
  readonly height: number;
  readonly children: ComponentChildren;
}

/** The plot of a chart whose points are walked by arrow keys and by the pointer. To a screen reader it is a slider that says each point. */
export function Walk({ label, count, at, onAt, say, near, height, children }: WalkProps) {
  const move = (event: KeyboardEvent) => {
    const from = at ?? (event.key === 'ArrowLeft' || event.key === 'ArrowDown' ? count : -1);
    const to = {
      ArrowRight: from + 1,
      ArrowUp: from + 1,
      ArrowLeft: from - 1,
      ArrowDown: from - 1,
      Home: 0,
      End: count - 1,
    }[event.key];
    if (event.key === 'Escape') onAt(null);
    if (to === undefined || count === 0) return;
    event.preventDefault();
    onAt(Math.max(0, Math.min(count - 1, to)));
  };
  return (
    <div
      class="chart-plot"
      style={{ height: `${height}px` }}
      role="slider"
      tabIndex={0}
      aria-label={`${label}. Arrow keys walk the points.`}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, count - 1)}
      aria-valuenow={at ?? 0}
      aria-valuetext={at === null ? `${count} points` : say(at)}
      onKeyDown={move}
      onBlur={() => onAt(null)}
      onPointerMove={(event) => {
        const { left, top } = event.currentTarget.getBoundingClientRect();
        onAt(near(event.clientX - left, event.clientY - top));
      }}
      onPointerLeave={() => onAt(null)}
    >
      {children}
    </div>
  );
}
