import type { WrittenFigure } from '../design/format.ts';
import { inkOf, marksOf } from '../design/marks.ts';
import { Plot } from './frame.tsx';
import { type NamedCircle, placeLabels } from './labels.ts';
import { logTicks, paretoFront, type Scale, scaled } from './scale.ts';

export interface ScatterPoint {
  readonly name: string;
  /** The horizontal value, above zero. The scale is logarithmic, with cheap points at the left. */
  readonly cost: number;
  /** The vertical value, 0 to 1. */
  readonly quality: number;
  /** Determines the area of the circle, in ms; null draws a small circle. */
  readonly timeMs: number | null;
  /** Why the model was left out; null if it may be chosen. A model that was left out is hollow and grey. */
  readonly reason: string | null;
  readonly isChosen: boolean;
}

type Write = (value: number | null) => WrittenFigure;

interface ScatterProps {
  readonly heading: string;
  readonly points: readonly ScatterPoint[];
  readonly writeCost: Write;
  readonly writeQuality: Write;
  readonly writeTime: Write;
}

const HEIGHT = 280;
const [TOP, BOTTOM, LEFT, RIGHT] = [28, 40, 52, 16];

/**
 * Plots cost against quality. The size of a circle shows the time of a model. A dashed line connects the models for which no model is both
 * cheaper and better.
 */
export function Scatter({ heading, points: given, writeCost, writeQuality, writeTime }: ScatterProps) {
  const points = given.toSorted((one, other) => one.cost - other.cost || one.quality - other.quality);
  const costs = points.map(({ cost }) => cost).filter((cost) => cost > 0);
  const [low, high] = costs.length === 0 ? [0.1, 10] : [Math.min(...costs) / 1.6, Math.max(...costs) * 1.6];
  const qualities = points.map(({ quality }) => quality);
  const [worst, best] = [Math.max(0, Math.min(1, ...qualities) - 0.06), Math.min(1, Math.max(0, ...qualities) + 0.06)];
  const xIn = (width: number): Scale => {
    const x = scaled(Math.log(low), Math.log(high), LEFT, width - RIGHT);
    return (cost) => x(Math.log(Math.max(cost, low)));
  };
  const y = scaled(worst, best, HEIGHT - BOTTOM, TOP);
  const slowest = Math.max(1, ...points.map(({ timeMs }) => timeMs ?? 0));
  const radius = ({ timeMs }: ScatterPoint) => (timeMs === null ? 4 : 4 + 12 * Math.sqrt(timeMs / slowest));
  const open = points.filter(({ reason }) => reason === null);
  // Models that were left out are grey, so only the other models need a colour.
  const markOf = marksOf(open.map(({ name }) => name));
  const say = (at: number): string => {
    const point = points[at];
    if (!point) return '';
    const { name, isChosen, cost, quality, timeMs, reason } = point;
    const figures = `${writeCost(cost).short}, quality ${writeQuality(quality).short}, ${writeTime(timeMs).short}`;
    return `${name}${isChosen ? ', chosen' : ''}: ${figures}${reason === null ? '' : `. Left out: ${reason}`}`;
  };
  return (
    <Plot
      heading={heading}
      twin={{
        heads: ['Model', 'Cost', 'Quality', 'Time', 'State'],
        rows: points.map((point) => ({
          name: point.name,
          cells: [writeCost(point.cost), writeQuality(point.quality), writeTime(point.timeMs), stateOf(point)],
        })),
      }}
      label="Cost against quality"
      count={points.length}
      height={HEIGHT}
      say={say}
      near={(px, py, width) => {
        const distances = points.map(({ cost, quality }) => Math.hypot(xIn(width)(cost) - px, y(quality) - py));
        const least = Math.min(...distances);
        return least < 40 ? distances.indexOf(least) : null;
      }}
      legend={(at) => (
        <p class="chart-legend">
          {at === null
            ? 'Filled circles can be chosen, hollow circles are left out. Larger circles take longer. No model is both cheaper and better than a model on the dashed line.'
            : say(at)}
        </p>
      )}
    >
      {(width, at) => {
        const x = xIn(width);
        const circleOf = (point: ScatterPoint) => {
          return { name: point.name, x: x(point.cost), y: y(point.quality), radius: radius(point) };
        };
        return (
          <>
            <ScatterAxes {...{ x, y, width, low, high, worst, best, writeCost, writeQuality }} />
            <path
              class="chart-front"
              d={paretoFront(open)
                .map(({ cost, quality }, place) => `${place === 0 ? 'M' : 'L'}${x(cost)} ${y(quality)}`)
                .join('')}
            />
            {points.map((point, place) => (
              <ScatterCircle
                key={point.name}
                {...{ point, ...circleOf(point), isShown: place === at }}
                mark={point.reason === null ? markOf(point.name) : 'mark-other'}
              />
            ))}
            <ScatterLabels {...{ points, circleOf, width }} shown={at === null ? undefined : points[at]} />
          </>
        );
      }}
    </Plot>
  );
}

interface CircleProps {
  readonly point: ScatterPoint;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly mark: string;
  readonly isShown: boolean;
}

const ScatterCircle = ({ point, x, y, radius, mark, isShown }: CircleProps) => (
  <circle
    style={inkOf(mark)}
    cx={x}
    cy={y}
    r={radius}
    fill={point.reason === null ? 'currentColor' : 'none'}
    fill-opacity={point.isChosen ? 1 : 0.35}
    stroke="currentColor"
    stroke-width={isShown ? 3 : 1.5}
    stroke-dasharray={point.reason === null ? undefined : '2 2'}
  />
);

interface LabelsProps extends Pick<ScatterProps, 'points'> {
  /** The point under the pointer, which is named first. */
  readonly shown: ScatterPoint | undefined;
  readonly circleOf: (point: ScatterPoint) => NamedCircle;
  readonly width: number;
}

/** The names next to the circles: first the point under the pointer and the choice, then the models that could be chosen. */
function ScatterLabels({ points, shown, circleOf, width }: LabelsProps) {
  const rank = (point: ScatterPoint): number =>
    point === shown ? 3 : point.isChosen ? 2 : Number(point.reason === null);
  const ranked = points.toSorted((one, other) => rank(other) - rank(one));
  const left = new Set(points.flatMap(({ name, reason }) => (reason === null ? [] : [name])));
  const plot = { left: LEFT, right: width, top: 12, bottom: HEIGHT - BOTTOM + 4 };
  return (
    <>
      {placeLabels(ranked.map(circleOf), plot).map(({ name, x, y, anchor }) => (
        <text
          key={name}
          class={left.has(name) ? 'chart-label' : 'chart-label chart-name'}
          x={x}
          y={y}
          text-anchor={anchor}
        >
          {name}
        </text>
      ))}
    </>
  );
}

const stateOf = ({ isChosen, reason }: ScatterPoint): WrittenFigure => {
  const short = isChosen ? 'chosen' : reason === null ? 'possible' : 'left out';
  return { short, exact: reason ?? short };
};

interface AxesProps extends Pick<ScatterProps, 'writeCost' | 'writeQuality'> {
  readonly x: Scale;
  readonly y: Scale;
  readonly width: number;
  readonly low: number;
  readonly high: number;
  readonly worst: number;
  readonly best: number;
}

function ScatterAxes({ x, y, width, low, high, worst, best, writeCost, writeQuality }: AxesProps) {
  const steps = [0, 0.25, 0.5, 0.75, 1].map((part) => worst + part * (best - worst));
  const costs = logTicks(low, high);
  const every = Math.ceil(costs.length / Math.max(2, Math.floor((width - LEFT - RIGHT) / 72)));
  return (
    <g>
      {steps.map((quality) => (
        <g key={quality}>
          <path class="chart-grid" d={`M${LEFT} ${y(quality)}H${width - RIGHT}`} />
          <text x={LEFT - 8} y={y(quality) + 4} text-anchor="end">
            {writeQuality(Number(quality.toFixed(3))).short}
          </text>
        </g>
      ))}
      {costs
        .filter((_, at) => at % every === 0)
        .map((cost) => (
          <text key={cost} x={x(cost)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
            {writeCost(cost).short}
          </text>
        ))}
      <text x={width - RIGHT} y={HEIGHT - 4} text-anchor="end">
        cost →
      </text>
      <text x={0} y={10}>
        quality ↑
      </text>
    </g>
  );
}
