import { useState } from 'preact/hooks';
import type { WrittenFigure } from '../design/format.ts';
import { marksOf } from '../design/marks.ts';
import { ChartFrame, useWidth, Walk } from './frame.tsx';
import { paretoFront } from './pareto.ts';
import { logTicks, scaled } from './scale.ts';

export interface ScatterPoint {
  readonly name: string;
  /** Across, on a logarithmic scale: the cheaper the further left. Above zero. */
  readonly cost: number;
  /** Upwards, 0 to 1. */
  readonly quality: number;
  /** The area of its circle; null for a small one. */
  readonly timeMs: number | null;
  /** Why it was left out; null for one that may be chosen. It is drawn hollow and grey. */
  readonly reason: string | null;
  readonly isChosen: boolean;
}

interface ScatterProps {
  readonly heading: string;
  readonly points: readonly ScatterPoint[];
  readonly writeCost: (value: number | null) => WrittenFigure;
  readonly writeQuality: (value: number | null) => WrittenFigure;
  readonly writeTime: (value: number | null) => WrittenFigure;
  readonly height?: number;
  onChoose?(name: string): void;
}

const [TOP, BOTTOM, LEFT, RIGHT] = [28, 40, 52, 16];

/** Cost against quality, time as size, with the front of those that none beats in both. */
export function Scatter(props: ScatterProps) {
  const { heading, writeCost, writeQuality, writeTime, height = 320, onChoose } = props;
  const { box, width } = useWidth();
  const [at, setAt] = useState<number | null>(null);
  const points = props.points.toSorted((one, other) => one.cost - other.cost || one.quality - other.quality);
  const costs = points.map(({ cost }) => cost).filter((cost) => cost > 0);
  const [low, high] = costs.length === 0 ? [0.1, 10] : [Math.min(...costs) / 1.6, Math.max(...costs) * 1.6];
  const qualities = points.map(({ quality }) => quality);
  const [worst, best] = [Math.max(0, Math.min(1, ...qualities) - 0.06), Math.min(1, Math.max(0, ...qualities) + 0.06)];
  const x = (cost: number) => scaled(Math.log(low), Math.log(high), LEFT, width - RIGHT)(Math.log(Math.max(cost, low)));
  const y = scaled(worst, best, height - BOTTOM, TOP);
  const slowest = Math.max(1, ...points.map(({ timeMs }) => timeMs ?? 0));
  const radius = ({ timeMs }: ScatterPoint) => (timeMs === null ? 4 : 4 + 12 * Math.sqrt(timeMs / slowest));
  const front = paretoFront(points.filter(({ reason }) => reason === null));
  const colourOf = coloursOf(points);
  const say = (point: ScatterPoint | undefined): string =>
    point === undefined
      ? ''
      : `${point.name}${point.isChosen ? ', chosen' : ''}: ${writeCost(point.cost).short}, quality ${writeQuality(point.quality).short}, ${writeTime(point.timeMs).short}${point.reason === null ? '' : `. Left out: ${point.reason}`}`;
  const shown = at === null ? undefined : points[at];
  const near = (px: number, py: number): number | null => {
    const distances = points.map((point) => Math.hypot(x(point.cost) - px, y(point.quality) - py));
    const least = Math.min(...distances);
    return least < 40 ? distances.indexOf(least) : null;
  };
  return (
    <ChartFrame
      heading={heading}
      twin={{
        heads: ['Model', 'Cost', 'Quality', 'Time', 'State'],
        rows: points.map((point) => ({
          name: point.name,
          cells: [writeCost(point.cost), writeQuality(point.quality), writeTime(point.timeMs), stateOf(point)],
        })),
      }}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider inside takes the keys; Enter and a click choose its point */}
      <div
        ref={box}
        onClick={() => shown && onChoose?.(shown.name)}
        onKeyDown={(event) => event.key === 'Enter' && shown && onChoose?.(shown.name)}
      >
        <Walk
          label="Cost against quality"
          count={points.length}
          at={at}
          onAt={setAt}
          height={height}
          say={(place) => say(points[place])}
          near={near}
        >
          <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
            <ScatterAxes {...{ x, y, width, height, low, high, worst, best, writeCost, writeQuality }} />
            <path
              class="chart-front"
              d={front.map(({ cost, quality }, place) => `${place === 0 ? 'M' : 'L'}${x(cost)} ${y(quality)}`).join('')}
            />
            {points.map((point) => {
              return (
                <g key={point.name} class={colourOf(point)}>
                  <circle
                    cx={x(point.cost)}
                    cy={y(point.quality)}
                    r={radius(point)}
                    fill={point.reason === null ? 'currentColor' : 'none'}
                    fill-opacity={point.isChosen ? 1 : 0.35}
                    stroke="currentColor"
                    stroke-width={point === shown ? 3 : 1.5}
                    stroke-dasharray={point.reason === null ? undefined : '2 2'}
                  />
                  {(point.isChosen || point === shown) && (
                    <text
                      class="chart-name"
                      x={x(point.cost) + (x(point.cost) > width / 2 ? -1 : 1) * (radius(point) + 6)}
                      y={y(point.quality) + 4}
                      text-anchor={x(point.cost) > width / 2 ? 'end' : 'start'}
                    >
                      {point.name}
                    </text>
                  )}
                </g>
              );
            })}
          </svg>
        </Walk>
      </div>
      <p class="chart-legend">
        {shown
          ? say(shown)
          : 'Filled: may be chosen. Hollow: left out. A greater circle takes longer. Dashed: none is cheaper and better.'}
      </p>
    </ChartFrame>
  );
}

/** Models that are left out are grey, whatever their names. */
function coloursOf(points: readonly ScatterPoint[]): (point: ScatterPoint) => string {
  const markOf = marksOf(points.filter(({ reason }) => reason === null).map(({ name }) => name));
  return ({ name, reason }) => (reason === null ? markOf(name) : 'mark-other');
}

const stateOf = ({ isChosen, reason }: ScatterPoint): WrittenFigure => {
  const short = isChosen ? 'chosen' : reason === null ? 'possible' : 'left out';
  return { short, exact: reason ?? short };
};

interface AxesProps {
  readonly x: (cost: number) => number;
  readonly y: (quality: number) => number;
  readonly width: number;
  readonly height: number;
  readonly low: number;
  readonly high: number;
  readonly worst: number;
  readonly best: number;
  readonly writeCost: ScatterProps['writeCost'];
  readonly writeQuality: ScatterProps['writeQuality'];
}

function ScatterAxes({ x, y, width, height, low, high, worst, best, writeCost, writeQuality }: AxesProps) {
  const steps = [0, 0.25, 0.5, 0.75, 1].map((part) => worst + part * (best - worst));
  const costs = logTicks(low, high);
  const every = Math.ceil(costs.length / Math.max(2, Math.floor((width - LEFT - RIGHT) / 72)));
  return (
    <g>
      {steps.map((quality) => (
        <g key={quality}>
          <line class="chart-grid" x1={LEFT} x2={width - RIGHT} y1={y(quality)} y2={y(quality)} />
          <text x={LEFT - 8} y={y(quality) + 4} text-anchor="end">
            {writeQuality(Number(quality.toFixed(3))).short}
          </text>
        </g>
      ))}
      {costs
        .filter((_, at) => at % every === 0)
        .map((cost) => (
          <text key={cost} x={x(cost)} y={height - BOTTOM + 18} text-anchor="middle">
            {writeCost(cost).short}
          </text>
        ))}
      <text x={width - RIGHT} y={height - 4} text-anchor="end">
        cost →
      </text>
      <text x={0} y={10}>
        quality ↑
      </text>
    </g>
  );
}
