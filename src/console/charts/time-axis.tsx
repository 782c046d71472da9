import { labelledBuckets, writerOf } from './buckets.ts';
import type { Scale } from './scale.ts';

interface TimeAxisProps {
  readonly times: readonly number[];
  readonly x: Scale;
  /** The positions of the first and the last pixel of the axis. */
  readonly left: number;
  readonly right: number;
  readonly y: number;
}

/** The labels of the time axis. A label at an edge of the chart is aligned with it. */
export function TimeAxis({ times, x, left, right, y }: TimeAxisProps) {
  const write = writerOf(times);
  return (
    <g>
      {labelledBuckets(times, right - left).map((bucket) => {
        const at = x(bucket);
        const anchor = at > right - 32 ? 'end' : at < left + 16 ? 'start' : 'middle';
        return (
          <text key={bucket} x={anchor === 'end' ? right : anchor === 'start' ? left : at} y={y} text-anchor={anchor}>
            {write(times[bucket] ?? 0)}
          </text>
        );
      })}
    </g>
  );
}
