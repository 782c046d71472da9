import { duration } from '../design/format.ts';
import { inkOf } from '../design/marks.ts';
import { Plot } from './frame.tsx';
import { scaled, ticksTo } from './scale.ts';

export interface WaterfallSpan {
  readonly name: string;
  /** The start in ms after the request's admission. */
  readonly startMs: number;
  readonly endMs: number;
  /** The time of the first token within this span, ms; null if the span has no token. */
  readonly firstTokenMs: number | null;
  readonly tone: 'accent' | 'bad' | 'mark-other';
  /** A note after the name: "failed: timeout". */
  readonly note: string;
}

const ROW = 40;
const [TOP, RIGHT] = [24, 8];

/** Shows a request over time. Each step or attempt is a row that begins at its start time. */
export function Waterfall({ heading, spans }: { readonly heading: string; readonly spans: readonly WaterfallSpan[] }) {
  const end = Math.max(1, ...spans.map(({ endMs }) => endMs));
  const height = TOP + spans.length * ROW;
  const say = (at: number): string => {
    const span = spans[at];
    if (!span) return '';
    const { name, startMs, endMs, firstTokenMs, note } = span;
    const first = firstTokenMs === null ? '' : `, first token at ${duration(firstTokenMs).short}`;
    const long = duration(endMs - startMs).short;
    return `${name}: from ${duration(startMs).short}, ${long} long${first}${note === '' ? '' : `, ${note}`}`;
  };
  return (
    <Plot
      heading={heading}
      twin={{
        heads: ['Step', 'Begins', 'Takes', 'First token', 'Result'],
        rows: spans.map(({ name, startMs, endMs, firstTokenMs, note }) => ({
          name,
          cells: [
            ...[startMs, endMs - startMs, firstTokenMs].map(duration),
            { short: note || '–', exact: note || '–' },
          ],
        })),
      }}
      label="Steps of the request"
      count={spans.length}
      height={height}
      say={say}
      near={(_, py) =>
        py < TOP || spans.length === 0 ? null : Math.min(spans.length - 1, Math.floor((py - TOP) / ROW))
      }
      legend={(at) => (
        <p class="chart-legend">{at === null ? 'The lighter part is the time before the first token.' : say(at)}</p>
      )}
    >
      {(width, at) => {
        const x = scaled(0, end, 1, width - RIGHT);
        const ticks = ticksTo(end, Math.max(2, Math.floor(width / 160))).filter((tick) => tick <= end * 1.02);
        return (
          <>
            {ticks.map((tick) => (
              <g key={tick}>
                <path class="chart-grid" d={`M${x(tick)} ${TOP - 6}V${height}`} />
                <text x={x(tick)} y={12} text-anchor={tick === 0 ? 'start' : x(tick) > width - 48 ? 'end' : 'middle'}>
                  {duration(tick).short}
                </text>
              </g>
            ))}
            {spans.map(({ name, note, tone, startMs, endMs, firstTokenMs }, row) => {
              const bar = (from: number, least: number) => ({
                x: x(from),
                y: TOP + row * ROW + 20,
                width: Math.max(least, x(endMs) - x(from)),
                height: row === at ? 12 : 10,
                rx: 2,
                fill: 'currentColor',
              });
              return (
                <g key={row} style={inkOf(tone)}>
                  <text class="chart-name" x={Math.min(x(startMs), width * 0.6)} y={TOP + row * ROW + 14}>
                    {name} <tspan fill="var(--dim)">{note}</tspan>
                  </text>
                  <rect {...bar(startMs, 2)} fill-opacity={firstTokenMs === null ? 1 : 0.4} />
                  {firstTokenMs !== null && <rect {...bar(firstTokenMs, 1)} />}
                </g>
              );
            })}
          </>
        );
      }}
    </Plot>
  );
}
