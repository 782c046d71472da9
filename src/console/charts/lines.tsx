import { inColumn } from '../design/column.ts';
import { Explained } from '../design/explained.tsx';
import { momentTime, type WrittenFigure } from '../design/format.ts';
import { inkOf } from '../design/marks.ts';
import type { TermName } from '../design/terms.ts';
import { isSparse, longBucketName } from './buckets.ts';
import { Plot } from './frame.tsx';
import { basesOf, pathOf, type Scale, scaled, ticksTo } from './scale.ts';
import { TimeAxis } from './time-axis.tsx';

export interface ChartLine {
  readonly name: string;
  /** The glossary term that explains the name. */
  readonly term?: TermName;
  /** The colour token of the line, from `marksOf`. */
  readonly mark: string;
  /** The value of the line for each bucket; null is a gap. */
  readonly values: readonly (number | null)[];
}

interface LinesProps {
  /** The sentence above the chart, which contains the answer. */
  readonly heading: string;
  /** A name for the values: "Spend". */
  readonly label: string;
  /** The beginning of each bucket, ms since 1970. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly write: (value: number | null) => WrittenFigure;
  /** The first incomplete bucket; absent if all buckets are complete. */
  readonly pendingFrom?: number;
  /** The moment before which no data exist, in ms since 1970. Buckets that end before this moment are gaps. */
  readonly knownFrom?: number;
  readonly height?: number;
  /** Whether the values are shares of a sum, which the chart draws as stacked bars. */
  readonly isStacked?: boolean;
}

const [TOP, BOTTOM, RIGHT] = [12, 24, 8];

/**
 * Draws lines over time, or bars from zero if few buckets have a value. The lines are straight between buckets, have gaps where data are
 * missing, and are lighter where a bucket is incomplete.
 */
export function Lines(props: LinesProps) {
  const { heading, label, times, write, pendingFrom = times.length, knownFrom = 0, height = 216 } = props;
  const { isStacked = false } = props;
  const lines = dashed(props.lines).map((line) => ({
    ...line,
    values: line.values.map((value, bucket) => ((times[bucket + 1] ?? Infinity) <= knownFrom ? null : value)),
  }));
  const valueAt = ({ values }: ChartLine, bucket: number) => write(values[bucket] ?? null);
  const bases = isStacked ? basesOf(lines) : null;
  const tops = lines.flatMap(({ values }, place) =>
    values.map((value, at) => (value ?? 0) + (bases?.[place]?.[at] ?? 0)),
  );
  const ticks = ticksTo(Math.max(0, ...tops));
  const tickTexts = ticks.map((tick) => write(tick)).map((figure, _, all) => inColumn(all)(figure).short);
  const left = 12 + 7 * Math.max(...tickTexts.map(({ length }) => length));
  const hasBars = isStacked || isSparse(lines, times.length);
  // A bar needs half a bucket on each side, and a line begins at the edge.
  const [first, last] = hasBars ? [-0.5, times.length - 0.5] : [0, Math.max(1, times.length - 1)];
  const y = scaled(0, ticks.at(-1) ?? 1, height - BOTTOM, TOP);
  const writeTime = longBucketName(times) ?? momentTime;
  const nameOf = (bucket: number): string => writeTime(times[bucket] ?? 0) + (bucket >= pendingFrom ? ', so far' : '');
  const complete = Math.min(pendingFrom, times.length) - 1;
  const isKnown = lines.some(({ values }) => (values[complete] ?? null) !== null);
  /** The bucket of the legend while no bucket is selected. */
  const latest = isKnown ? complete : times.length - 1;
  return (
    <Plot
      heading={heading}
      twin={{
        heads: ['Time', ...lines.map(({ name }) => name)],
        rows: times.map((_, bucket) => ({ name: nameOf(bucket), cells: lines.map((line) => valueAt(line, bucket)) })),
      }}
      label={`${label} over time`}
      count={times.length}
      height={height}
      say={(at) => `${nameOf(at)}: ${lines.map((line) => `${line.name} ${valueAt(line, at).short}`).join(', ')}`}
      near={(px, _, width) => {
        const bucket = Math.round(scaled(left, width - RIGHT, first, last)(px));
        return times.length === 0 ? null : Math.max(0, Math.min(times.length - 1, bucket));
      }}
      legend={(at) => (
        <ul class="chart-legend">
          <li class="chart-when">{at === null && isKnown ? 'Last complete' : nameOf(at ?? latest)}</li>
          {lines.map((line) => (
            <li key={line.name}>
              {hasBars ? <BarKey line={line} /> : <LineKey line={line} />}
              {line.term ? <Explained term={line.term}>{line.name}</Explained> : line.name}{' '}
              <b>{valueAt(line, at ?? latest).short}</b>
            </li>
          ))}
        </ul>
      )}
    >
      {(width, at) => {
        const x = scaled(first, last, left, width - RIGHT);
        return (
          <>
            {ticks.map((tick, row) => (
              <g key={tick}>
                <path class={tick === 0 ? 'chart-axis' : 'chart-grid'} d={`M${left} ${y(tick)}H${width - RIGHT}`} />
                <text x={left - 8} y={y(tick) + 4} text-anchor="end">
                  {tickTexts[row]}
                </text>
              </g>
            ))}
            <TimeAxis times={times} x={x} left={left} right={width - RIGHT} y={height - 6} />
            {at !== null && <path class="chart-axis" d={`M${x(at)} ${TOP}V${height - BOTTOM}`} />}
            {lines.map((line, place) =>
              hasBars ? (
                <LineBars
                  key={line.name}
                  {...{ line, x, y, pendingFrom, at }}
                  bases={bases?.[place] ?? null}
                  width={isStacked ? stackWidth(x(1) - x(0)) : barWidth(x(1) - x(0), lines.length)}
                  shift={isStacked ? -0.5 : place - lines.length / 2}
                />
              ) : (
                <LinePath key={line.name} {...{ line, x, y, pendingFrom, at }} />
              ),
            )}
          </>
        );
      }}
    </Plot>
  );
}

interface DashedLine extends ChartLine {
  readonly dash: string | undefined;
}

const DASHES = [undefined, '6 3', '2 3', '10 3 2 3'];

/** Distinguishes lines of the same colour: the second is dashed, the third dotted. */
const dashed = (lines: readonly ChartLine[]): readonly DashedLine[] =>
  lines.map((line, at) => ({
    ...line,
    dash: DASHES[lines.slice(0, at).filter(({ mark }) => mark === line.mark).length % DASHES.length],
  }));

const LineKey = ({ line: { mark, dash } }: { readonly line: DashedLine }) => (
  <svg style={inkOf(mark)} width="16" height="8" aria-hidden="true">
    <path d="M0 4H16" stroke="currentColor" stroke-width="2" stroke-dasharray={dash} />
  </svg>
);

const BarKey = ({ line: { mark } }: { readonly line: DashedLine }) => (
  <svg style={inkOf(mark)} width="8" height="8" aria-hidden="true">
    <rect width="8" height="8" rx="2" fill="currentColor" />
  </svg>
);

interface LinePathProps {
  readonly line: DashedLine;
  readonly x: Scale;
  readonly y: Scale;
  readonly pendingFrom: number;
  readonly at: number | null;
}

/** The widths of bars, px. In a narrow bucket, bars are wider than their bucket, because most of its neighbours are empty. */
const [BAR_MIN, BAR_MAX] = [4, 32];
const barWidth = (bucket: number, lines: number): number =>
  Math.max(BAR_MIN, Math.min(BAR_MAX, (bucket * 0.7) / Math.max(1, lines)));

/** Stacked bars never cover the next bucket. */
const stackWidth = (bucket: number): number => Math.max(1, Math.min(BAR_MAX, bucket < 4 ? bucket : bucket * 0.8));

interface LineBarsProps extends LinePathProps {
  /** The width of a bar, px. */
  readonly width: number;
  /** Where a bar begins, in bars from the middle of its bucket. */
  readonly shift: number;
  /** The value at which each bar begins; null if all begin at zero. */
  readonly bases: readonly number[] | null;
}

/** The values of a line as bars from zero, or from the bars of other lines. */
function LineBars({ line: { mark, values }, x, y, pendingFrom, at, width, shift, bases }: LineBarsProps) {
  return (
    <g style={inkOf(mark)} fill="currentColor">
      {values.map(
        (value, bucket) =>
          value !== null &&
          value > 0 && (
            <rect
              key={bucket}
              class={bucket >= pendingFrom && bucket !== at ? 'chart-bar chart-bar-pending' : 'chart-bar'}
              x={x(bucket) + shift * width}
              y={y(value + (bases?.[bucket] ?? 0))}
              width={bases ? width : Math.max(2, width - 1)}
              height={bases ? y(0) - y(value) : Math.max(1, y(0) - y(value))}
            />
          ),
      )}
    </g>
  );
}

function LinePath({ line: { mark, dash, values }, x, y, pendingFrom, at }: LinePathProps) {
  const point = at === null ? null : (values[at] ?? null);
  // A value between two gaps has no line, so it is drawn as a point.
  const isAlone = (bucket: number) => (values[bucket - 1] ?? null) === null && (values[bucket + 1] ?? null) === null;
  return (
    <g style={inkOf(mark)} stroke="currentColor" fill="currentColor">
      <path class="chart-line" stroke-dasharray={dash} d={pathOf(values.slice(0, pendingFrom), x, y)} />
      <path
        class="chart-line chart-pending"
        stroke-dasharray="1 5"
        d={pathOf(values, x, y, Math.max(0, pendingFrom - 1))}
      />
      {values.map(
        (value, bucket) =>
          value !== null && isAlone(bucket) && <circle key={bucket} cx={x(bucket)} cy={y(value)} r="2" />,
      )}
      {at !== null && point !== null && (
        <circle cx={x(at)} cy={y(point)} r="4" stroke="var(--paper)" stroke-width="2" />
      )}
    </g>
  );
}
