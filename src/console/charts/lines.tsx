import { Explained } from '../design/explained.tsx';
import { clockTime, DAY_MS, dayTime, momentTime, type WrittenFigure } from '../design/format.ts';
import { inkOf } from '../design/marks.ts';
import type { TermName } from '../design/terms.ts';
import { Plot } from './frame.tsx';
import { pathOf, type Scale, scaled, ticksTo } from './scale.ts';

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
}

const [TOP, BOTTOM, RIGHT] = [12, 24, 8];

/**
 * Draws lines over time. The lines are straight between buckets, have gaps where data are missing, and are lighter where a bucket is
 * incomplete.
 */
export function Lines(props: LinesProps) {
  const { heading, label, times, write, pendingFrom = times.length, knownFrom = 0, height = 216 } = props;
  const lines = dashed(props.lines).map((line) => ({
    ...line,
    values: line.values.map((value, bucket) => ((times[bucket + 1] ?? Infinity) <= knownFrom ? null : value)),
  }));
  const valueAt = ({ values }: ChartLine, bucket: number) => write(values[bucket] ?? null);
  const ticks = ticksTo(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const left = 12 + 7 * Math.max(...ticks.map((tick) => write(tick).short.length));
  const last = Math.max(1, times.length - 1);
  const y = scaled(0, ticks.at(-1) ?? 1, height - BOTTOM, TOP);
  const isDaily = (times[1] ?? 0) - (times[0] ?? 0) >= DAY_MS;
  const nameOf = (bucket: number): string => {
    const time = times[bucket] ?? 0;
    return (isDaily ? dayTime(time) : momentTime(time)) + (bucket >= pendingFrom ? ', so far' : '');
  };
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
        const bucket = Math.round(scaled(left, width - RIGHT, 0, times.length - 1)(px));
        return times.length === 0 ? null : Math.max(0, Math.min(times.length - 1, bucket));
      }}
      legend={(at) => (
        <ul class="chart-legend">
          <li class="chart-when">{at === null ? 'Last complete' : nameOf(at)}</li>
          {lines.map((line) => (
            <li key={line.name}>
              <LineKey line={line} />
              {line.term ? <Explained term={line.term}>{line.name}</Explained> : line.name}{' '}
              <b>{valueAt(line, at ?? Math.min(pendingFrom, times.length) - 1).short}</b>
            </li>
          ))}
        </ul>
      )}
    >
      {(width, at) => {
        const x = scaled(0, last, left, width - RIGHT);
        return (
          <>
            {ticks.map((tick) => (
              <g key={tick}>
                <path class={tick === 0 ? 'chart-axis' : 'chart-grid'} d={`M${left} ${y(tick)}H${width - RIGHT}`} />
                <text x={left - 8} y={y(tick) + 4} text-anchor="end">
                  {write(tick).short}
                </text>
              </g>
            ))}
            <TimeAxis times={times} x={x} width={width} y={height - 6} />
            {at !== null && <path class="chart-axis" d={`M${x(at)} ${TOP}V${height - BOTTOM}`} />}
            {lines.map((line) => (
              <LinePath key={line.name} line={line} x={x} y={y} pendingFrom={pendingFrom} at={at} />
            ))}
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

interface LinePathProps {
  readonly line: DashedLine;
  readonly x: Scale;
  readonly y: Scale;
  readonly pendingFrom: number;
  readonly at: number | null;
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

interface TimeAxisProps {
  readonly times: readonly number[];
  readonly x: Scale;
  readonly width: number;
  readonly y: number;
}

/**
 * The labels of the time axis: hours if the range is at most a day, otherwise days. Each label is at the bucket in which its hour or day
 * begins.
 */
function TimeAxis({ times, x, width, y }: TimeAxisProps) {
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > 1.5 * DAY_MS;
  const texts = times.map(isLong ? dayTime : clockTime);
  const begins = texts.flatMap((text, bucket) => (bucket > 0 && text !== texts[bucket - 1] ? [bucket] : []));
  // The axis labels only full hours, if it has any.
  const whole = isLong ? begins : begins.filter((bucket) => texts[bucket]?.endsWith(':00'));
  const every = Math.ceil(whole.length / Math.max(2, Math.floor(width / 96)));
  return (
    <g>
      {whole
        .filter((bucket, at) => at % every === 0 && x(bucket) < width - 16)
        .map((bucket) => (
          <text key={bucket} x={x(bucket)} y={y} text-anchor={x(bucket) > width - 40 ? 'end' : 'middle'}>
            {texts[bucket]}
          </text>
        ))}
    </g>
  );
}
