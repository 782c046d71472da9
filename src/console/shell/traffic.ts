import { useEffect } from 'preact/hooks';
import type { Reach } from '../../admin/use-cases/roles.ts';
import type { TrafficDimension, TrafficGrouping, TrafficStep } from '../../store/traffic.ts';
import type { Query } from '../api/base.ts';
import type { ReadOf } from '../api/reads.ts';
import { RENEWAL_MS, type Resource, useResource } from '../api/resource.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../design/format.ts';
import { endsOf, isRangeStated, RANGES, type RangeName, range, stateRange, type TimeRange } from './range.ts';
import type { ConsoleView } from './view.ts';

export type TrafficReport = ReadOf<'/admin/traffic'>;

const STEPS: Readonly<Record<TrafficStep, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

const stepOf = (ms: number): TrafficStep => (ms <= 2 * STEPS.hour ? 'minute' : ms <= 8 * STEPS.day ? 'hour' : 'day');

/**
 * The query of traffic in a range, or in the one before it. A range that ends now begins with a bucket, so that its address changes with the
 * bucket and not with the second.
 */
export function trafficQuery(
  of: TimeRange,
  now: number,
  { by, limit, isBefore = false, isCompared = false, isCoarse = false, hasPoints = true, only = {} }: TrafficOptions,
): Query {
  const step = isCoarse && of.ms > STEPS.day ? 'day' : stepOf(of.ms);
  const { from, to } = endsOf(of, Math.floor(now / STEPS[step]) * STEPS[step] + STEPS[step]);
  const shift = isBefore ? of.ms : 0;
  const end = to ?? (isBefore ? from + of.ms : null);
  return {
    from: new Date(from - shift).toISOString(),
    to: end === null ? null : new Date(end - shift).toISOString(),
    step,
    time_zone: step === 'day' && !isCoarse ? dayZone() : null,
    by: by ?? null,
    limit: by ? (limit ?? 7) : null,
    compare: isCompared ? 'before' : null,
    points: hasPoints ? null : 'false',
    ...only,
  };
}

/** The zone in which days begin: the viewer's, or UTC where its days do not begin with an hour that traffic keeps. */
export function dayZone(): string {
  const year = new Date().getFullYear();
  const isWhole = [0, 6].every((month) => new Date(year, month, 1).getTimezoneOffset() % 60 === 0);
  return isWhole ? Intl.DateTimeFormat().resolvedOptions().timeZone : 'UTC';
}

/** Whether traffic is told apart by a dimension for one who reaches so far. The gateway refuses the others. */
export const isToldApart = (by: TrafficGrouping, reach: Reach | null): boolean =>
  reach === 'all' || by === 'key' || by === 'model' || (by === 'team' && reach === 'team');

/**
 * The shortest range that has all data; the longest where none has.
 * @param firstAt when the first request was counted, ISO 8601; null before any @param now ms since 1970
 */
export function rangeOverAll(firstAt: string | null, now: number): RangeName {
  const names = Object.keys(RANGES) as RangeName[];
  const hasAll = (name: RangeName) =>
    firstAt === null || String(trafficQuery({ name, days: null, ...RANGES[name] }, now, {}).from) <= firstAt;
  return names.find(hasAll) ?? '90d';
}

/** One bucket without points: it is the moment of the first request that is asked for. */
const firstQuery = (now: number): Query => ({ from: new Date(now).toISOString(), step: 'day', points: 'false' });

/** Puts a range into the address of a view that has none. @returns whether the view can be shown */
export function useOpeningRange(view: Pick<ConsoleView, 'range'> | null, isOpen: boolean): boolean {
  const isWanted = isOpen && view?.range === 'all' && !isRangeStated();
  const day = Math.floor(Date.now() / STEPS.day) * STEPS.day;
  const { data, failure } = useResource('/admin/traffic', firstQuery(day), { isWanted });
  useEffect(() => {
    if (!isOpen || view?.range === undefined || isRangeStated()) return;
    if (view.range === 'last' || failure) stateRange();
    else if (data) stateRange(rangeOverAll(data.first_at, Date.now()));
  });
  return !isWanted;
}

interface TrafficOptions {
  readonly by?: TrafficGrouping | null;
  /** Series at most; the rest is "other". */
  readonly limit?: number;
  /** The period of the same length before it, to compare with. */
  readonly isBefore?: boolean;
  /** For lists of names, which need no buckets: by days of UTC, which are kept as they are, they come sooner. */
  readonly isCoarse?: boolean;
  /** Whether figures by bucket are told; a table of sums needs none. */
  readonly hasPoints?: boolean;
  /** Whether each line has the sums of that period, too. */
  readonly isCompared?: boolean;
  /** One key, team, model …, by its ID. */
  readonly only?: Readonly<Partial<Record<TrafficDimension, string>>>;
  readonly isWanted?: boolean;
}

/** Traffic in the time range of the page, renewed while it is seen. */
export function useTraffic(options: TrafficOptions = {}): Resource<TrafficReport> {
  const { isBefore = false, isWanted = true } = options;
  return useResource('/admin/traffic', trafficQuery(range.value, Date.now(), options), {
    every: isBefore ? null : RENEWAL_MS,
    isWanted,
  });
}

/**
 * The buckets of a report as a chart of lines has them: their beginnings, ms since 1970; the moment before which a figure of zero says
 * nothing; and the first bucket that still grows, or as many as there are.
 */
export function axisOf(report: Pick<TrafficReport, 'times' | 'first_at' | 'counted_until'>) {
  const times = report.times.map((time) => Date.parse(time));
  const growing = times.findIndex((_, at) => (times[at + 1] ?? Infinity) > Date.parse(report.counted_until));
  return {
    times,
    pendingFrom: Math.max(0, growing),
    knownFrom: report.first_at === null ? Number.POSITIVE_INFINITY : Date.parse(report.first_at),
  };
}
