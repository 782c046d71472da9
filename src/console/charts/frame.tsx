import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../design/button.tsx';
import { FigureTable, type FigureTableProps } from '../design/figure-table.tsx';

interface ChartFrameProps {
  /** A sentence with the answer in it: "Spend is 12 % above last week, mostly team search." */
  readonly heading: string;
  /** The figures of the chart as a table: a row for each point. */
  readonly twin: FigureTableProps;
  readonly children: ComponentChildren;
}

/** The frame of every chart: its sentence above, and the same figures as a table that can be opened or heard with a screen reader. */
export function ChartFrame({ heading, twin, children }: ChartFrameProps) {
  const [isTable, setTable] = useState(false);
  return (
    <section class="chart" aria-label={heading}>
      <div class="chart-head">
        <h2>{heading}</h2>
        <Button kind="plain" aria-pressed={isTable} onClick={() => setTable((now) => !now)}>
          {isTable ? 'Chart' : 'Table'}
        </Button>
      </div>
      <div hidden={isTable}>{children}</div>
      <section
        class={isTable ? 'chart-twin' : 'unseen'}
        tabIndex={isTable ? 0 : undefined}
        aria-label={`Table: ${heading}`}
      >
        <FigureTable {...twin} />
      </section>
    </section>
  );
}

interface PlotProps extends Omit<ChartFrameProps, 'children'> {
  /** The name of the series that the arrow keys walk: "Spend over time". */
  readonly label: string;
  /** The number of points. */
  readonly count: number;
  /** The height in px. */
  readonly height: number;
  /** Describes a point in words. */
  readonly say: (at: number) => string;
  /** Finds the point nearest to a position, in px from the upper left corner. */
  readonly near: (x: number, y: number, width: number) => number | null;
  /**
   * The legend below the plot.
   * @param at the selected point; null if none is selected
   */
  readonly legend: (at: number | null) => ComponentChildren;
  /**
   * Draws the plot.
   * @param width of the plot, px
   */
  readonly children: (width: number, at: number | null) => ComponentChildren;
}

/**
 * A chart whose points can be walked with the arrow keys and the pointer. For a screen reader the plot is a slider that reads each point
 * aloud. The chart is as wide as its container.
 */
export function Plot({ heading, twin, label, count, height, say, near, legend, children }: PlotProps) {
  const plot = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [chosen, setAt] = useState<number | null>(null);
  const at = chosen !== null && chosen < count ? chosen : null;
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0) setWidth(Math.round(entry.contentRect.width));
    });
    if (plot.current) observer.observe(plot.current);
    return () => observer.disconnect();
  }, []);
  const move = (event: KeyboardEvent) => {
    const isBack = event.key === 'ArrowLeft' || event.key === 'ArrowDown';
    const from = at ?? (isBack ? count : -1);
    const isStep = isBack || event.key === 'ArrowRight' || event.key === 'ArrowUp';
    const to = isStep ? from + (isBack ? -1 : 1) : { Home: 0, End: count - 1 }[event.key];
    if (event.key === 'Escape') setAt(null);
    if (to === undefined || count === 0) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(count - 1, to)));
  };
  return (
    <ChartFrame heading={heading} twin={twin}>
      <div
        ref={plot}
        class="chart-plot"
        style={{ height: `${height}px` }}
        role="slider"
        tabIndex={0}
        aria-label={`${label}. Use the arrow keys to walk the points.`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, count - 1)}
        aria-valuenow={at ?? 0}
        aria-valuetext={at === null ? `${count} points` : say(at)}
        onKeyDown={move}
        onBlur={() => setAt(null)}
        onPointerMove={(event) => {
          const { left, top } = event.currentTarget.getBoundingClientRect();
          setAt(near(event.clientX - left, event.clientY - top, width));
        }}
        onPointerLeave={() => setAt(null)}
      >
        <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {children(width, at)}
        </svg>
      </div>
      {legend(at)}
    </ChartFrame>
  );
}
