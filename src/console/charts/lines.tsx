import { useState } from 'preact/hooks';
import { Explained } from '../design/explained.tsx';
import { clockTime, dayTime, momentTime, type WrittenFigure } from '../design/format.ts';
import type { TermName } from '../design/terms.ts';
import { ChartFrame, useWidth, Walk } from './frame.tsx';
import { scaled, ticksTo } from './scale.ts';

export interface ChartLine {
  readonly name: string;
  /** Explains the name. */
  readonly term?: TermName;
  /** Its colour, by `marksOf`. */
  readonly mark: string;
  /** By bucket; null is a gap. */
  readonly values: readonly (number | null)[];
}

interface LinesProps {
  /** The sentence above, with the answer in it. */
  readonly heading: string;
  /** What the values are: "Spend". */
  readonly label: string;
  /** The beginning of each bucket, ms since 1970. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly write: (value: number | null) => WrittenFigure;
  /** Buckets from this one on are not complete; absent where all are. */
  readonly pendingFrom?: number;
  /** Before this moment nothing is known, ms since 1970: buckets that end by then are gaps. */
  readonly knownFrom?: number;
  readonly height?: number;
}

const DAY_MS = 86_400_000;
const [TOP, BOTTOM, RIGHT] = [12, 24, 8];

/** Lines over time: straight from bucket to bucket, with gaps where there is nothing, and lighter where a bucket still grows. */
export function Lines({
  heading,
  label,
  times,
  lines: given,
  write,
  pendingFrom = times.length,
  knownFrom = 0,
  height = 216,
}: LinesProps) {
  const { box, width } = useWidth();
  const lines = dashed(given).map((line) => ({
    ...line,
    values: line.values.map((value, bucket) => ((times[bucket + 1] ?? Infinity) <= knownFrom ? null : value)),
  }));
  const [at, setAt] = useState<number | null>(null);
  const ticks = ticksTo(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const left = 12 + 7 * Math.max(...ticks.map((tick) => write(tick).short.length));
  const x = scaled(0, Math.max(1, times.length - 1), left, width - RIGHT);
  const y = scaled(0, ticks.at(-1) ?? 1, height - BOTTOM, TOP);
  const isDaily = (times[1] ?? 0) - (times[0] ?? 0) >= DAY_MS;
  const nameOf = (bucket: number): string => {
    const time = times[bucket] ?? 0;
    return (isDaily ? dayTime(time) : momentTime(time)) + (bucket >= pendingFrom ? ', so far' : '');
  };
  const shown = at !== null && at < times.length ? at : null;
  const twin = {
    heads: ['Time', ...lines.map(({ name }) => name)],
    rows: times.map((_, bucket) => ({
      name: nameOf(bucket),
      cells: lines.map(({ values }) => write(values[bucket] ?? null)),
    })),
  };
  return (
    <ChartFrame heading={heading} twin={twin}>
      <div ref={box}>
        <Walk
          label={`${label} over time`}
          count={times.length}
          at={shown}
          onAt={setAt}
          height={height}
          say={(point) =>
            `${nameOf(point)}: ${lines.map(({ name, values }) => `${name} ${write(values[point] ?? null).short}`).join(', ')}`
          }
          near={(px) =>
            times.length === 0
              ? null
              : clamp(Math.round(((px - left) / (width - RIGHT - left)) * (times.length - 1)), times.length)
          }
        >
          <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
            {ticks.map((tick) => (
              <g key={tick}>
                <line
                  class={tick === 0 ? 'chart-axis' : 'chart-grid'}
                  x1={left}
                  x2={width - RIGHT}
                  y1={y(tick)}
                  y2={y(tick)}
                />
                <text x={left - 8} y={y(tick) + 4} text-anchor="end">
                  {write(tick).short}
                </text>
              </g>
            ))}
            <TimeAxis times={times} x={x} width={width} y={height - 6} />
            {shown !== null && <line class="chart-cursor" x1={x(shown)} x2={x(shown)} y1={TOP} y2={height - BOTTOM} />}
            {lines.map((line) => (
              <LinePath key={line.name} line={line} x={x} y={y} pendingFrom={pendingFrom} at={shown} />
            ))}
          </svg>
        </Walk>
      </div>
      <ul class="chart-legend">
        <li class="chart-when">{shown === null ? 'Last complete' : nameOf(shown)}</li>
        {lines.map((line) => (
          <li key={line.name}>
            <LineKey line={line} />
            {line.term ? <Explained term={line.term}>{line.name}</Explained> : line.name}{' '}
            <b>{write(line.values[shown ?? Math.min(pendingFrom, times.length) - 1] ?? null).short}</b>
          </li>
        ))}
      </ul>
    </ChartFrame>
  );
}

interface DashedLine extends ChartLine {
  readonly dash: string | undefined;
}

const DASHES = [undefined, '6 3', '2 3', '10 3 2 3'];

/** Tells lines of one colour apart: the second of them is dashed, the third dotted. */
const dashed = (lines: readonly ChartLine[]): readonly DashedLine[] =>
  lines.map((line, at) => ({
    ...line,
    dash: DASHES[lines.slice(0, at).filter(({ mark }) => mark === line.mark).length % DASHES.length],
  }));

const clamp = (point: number, count: number): number => Math.max(0, Math.min(count - 1, point));

const LineKey = ({ line: { mark, dash } }: { readonly line: DashedLine }) => (
  <svg class={mark} width="16" height="8" aria-hidden="true">
    <line x1="0" x2="16" y1="4" y2="4" stroke="currentColor" stroke-width="2" stroke-dasharray={dash} />
  </svg>
);

type Place = (value: number) => number;

function LinePath({
  line: { mark, dash, values },
  x,
  y,
  pendingFrom,
  at,
}: {
  readonly line: DashedLine;
  readonly x: Place;
  readonly y: Place;
  readonly pendingFrom: number;
  readonly at: number | null;
}) {
  const pathOf = (from: number, to: number): string => {
    let text = '';
    let isOpen = false;
    for (let bucket = from; bucket < to; bucket++) {
      const value = values[bucket] ?? null;
      if (value !== null) text += `${isOpen ? 'L' : 'M'}${x(bucket).toFixed(1)} ${y(value).toFixed(1)}`;
      isOpen = value !== null;
    }
    return text;
  };
  const point = at === null ? null : (values[at] ?? null);
  // A value between two gaps has no line to be seen by.
  const alone = values.flatMap((value, bucket) =>
    value !== null && (values[bucket - 1] ?? null) === null && (values[bucket + 1] ?? null) === null
      ? [{ value, bucket }]
      : [],
  );
  return (
    <g class={mark} stroke="currentColor" fill="currentColor">
      <path class="chart-line" stroke-dasharray={dash} d={pathOf(0, pendingFrom)} />
      <path
        class="chart-line chart-pending"
        stroke-dasharray="1 5"
        d={pathOf(Math.max(0, pendingFrom - 1), values.length)}
      />
      {alone.map(({ value, bucket }) => (
        <circle key={bucket} cx={x(bucket)} cy={y(value)} r="2" />
      ))}
      {at !== null && point !== null && (
        <circle cx={x(at)} cy={y(point)} r="4" stroke="var(--paper)" stroke-width="2" />
      )}
    </g>
  );
}

/** The moments below: hours within a day, else days, each at the bucket in which it begins. */
function TimeAxis({
  times,
  x,
  width,
  y,
}: {
  readonly times: readonly number[];
  readonly x: Place;
  readonly width: number;
  readonly y: number;
}) {
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > 1.5 * DAY_MS;
  const write = isLong ? dayTime : clockTime;
  const texts = times.map(write);
  const begins = texts.flatMap((text, bucket) => (bucket > 0 && text !== texts[bucket - 1] ? [bucket] : []));
  // Hours are written where a whole one begins, as far as there are any.
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
