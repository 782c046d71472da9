import { useState } from 'preact/hooks';
import { duration } from '../design/format.ts';
import { ChartFrame, useWidth, Walk } from './frame.tsx';
import { scaled, ticksTo } from './scale.ts';

export interface WaterfallSpan {
  readonly id: string;
  readonly name: string;
  /** From the request's admission, ms. */
  readonly startMs: number;
  readonly endMs: number;
  /** The first token, within it; null for none. */
  readonly firstTokenMs: number | null;
  readonly tone: 'accent' | 'good' | 'bad' | 'other';
  /** Beside the name: "failed: timeout". */
  readonly note: string;
}

const ROW = 40;
const [TOP, RIGHT] = [24, 8];

/** One request over its time: a row for each step or attempt, from the left where it began. */
export function Waterfall({ heading, spans }: { readonly heading: string; readonly spans: readonly WaterfallSpan[] }) {
  const { box, width } = useWidth();
  const [at, setAt] = useState<number | null>(null);
  const end = Math.max(1, ...spans.map(({ endMs }) => endMs));
  const ticks = ticksTo(end, Math.max(2, Math.floor(width / 160))).filter((tick) => tick <= end * 1.02);
  const x = scaled(0, end, 1, width - RIGHT);
  const height = TOP + spans.length * ROW;
  const say = (span: WaterfallSpan | undefined): string =>
    span === undefined
      ? ''
      : `${span.name}: from ${duration(span.startMs).short}, ${duration(span.endMs - span.startMs).short} long${span.firstTokenMs === null ? '' : `, first token at ${duration(span.firstTokenMs).short}`}${span.note === '' ? '' : `, ${span.note}`}`;
  return (
    <ChartFrame
      heading={heading}
      twin={{
        heads: ['Step', 'Begins', 'Takes', 'First token', 'Result'],
        rows: spans.map((span) => ({
          name: span.name,
          cells: [
            duration(span.startMs),
            duration(span.endMs - span.startMs),
            duration(span.firstTokenMs),
            { short: span.note || '–', exact: span.note || '–' },
          ],
        })),
      }}
    >
      <div ref={box}>
        <Walk
          label="Steps of the request"
          count={spans.length}
          at={at}
          onAt={setAt}
          height={height}
          say={(place) => say(spans[place])}
          near={(_, py) =>
            py < TOP || spans.length === 0 ? null : Math.min(spans.length - 1, Math.floor((py - TOP) / ROW))
          }
        >
          <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
            {ticks.map((tick) => (
              <g key={tick}>
                <line class="chart-grid" x1={x(tick)} x2={x(tick)} y1={TOP - 6} y2={height} />
                <text x={x(tick)} y={12} text-anchor={tick === 0 ? 'start' : x(tick) > width - 48 ? 'end' : 'middle'}>
                  {duration(tick).short}
                </text>
              </g>
            ))}
            {spans.map((span, row) => (
              <g key={span.id} class={`mark-${span.tone}`}>
                <text class="chart-name" x={Math.min(x(span.startMs), width * 0.6)} y={TOP + row * ROW + 14}>
                  {span.name} <tspan fill="var(--dim)">{span.note}</tspan>
                </text>
                <rect
                  x={x(span.startMs)}
                  y={TOP + row * ROW + 20}
                  width={Math.max(2, x(span.endMs) - x(span.startMs))}
                  height={row === at ? 12 : 10}
                  rx="2"
                  fill="currentColor"
                  fill-opacity={span.firstTokenMs === null ? 1 : 0.4}
                />
                {span.firstTokenMs !== null && (
                  <rect
                    x={x(span.firstTokenMs)}
                    y={TOP + row * ROW + 20}
                    width={Math.max(1, x(span.endMs) - x(span.firstTokenMs))}
                    height={row === at ? 12 : 10}
                    rx="2"
                    fill="currentColor"
                  />
                )}
              </g>
            ))}
          </svg>
        </Walk>
      </div>
      <p class="chart-legend">{at === null ? 'Lighter: before the first token.' : say(spans[at])}</p>
    </ChartFrame>
  );
}
