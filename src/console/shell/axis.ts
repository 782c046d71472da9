import type { ReadOf } from '../api/reads.ts';

type TrafficReport = ReadOf<'/admin/traffic'>;

/**
 * Converts the buckets of a report for a line chart: their start times in ms since 1970; the moment before which zero means "no data"; and
 * the index of the first incomplete bucket, or the number of buckets if all are complete.
 */
export function axisOf(report: Pick<TrafficReport, 'times' | 'to' | 'first_at' | 'counted_until'>) {
  const times = report.times.map((time) => Date.parse(time));
  const end = Date.parse(report.to);
  const growing = times.findIndex((_, at) => (times[at + 1] ?? end) > Date.parse(report.counted_until));
  return {
    times,
    pendingFrom: growing < 0 ? times.length : growing,
    knownFrom: report.first_at === null ? Number.POSITIVE_INFINITY : Date.parse(report.first_at),
  };
}
