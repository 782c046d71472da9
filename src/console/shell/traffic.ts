import { useEffect } from 'preact/hooks';
import type { TrafficDimension, TrafficGrouping, TrafficStep } from '../../store/traffic.ts';
import type { Query } from '../api/base.ts';
import type { ReadOf } from '../api/reads.ts';
import { RENEWAL_MS, type Resource, useResource } from '../api/resource.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../design/format.ts';
import { withKnownBefore } from './known-before.ts';
import { recall } from './memory.ts';
import { endsOf, isRangeStated, RANGES, type RangeName, range, stateRange, type TimeRange } from './range.ts';
import { reachOfViewer } from './session.ts';
import type { ConsoleView } from './view.ts';

export type TrafficReport = ReadOf<'/admin/traffic'>;

const STEPS: Readonly<Record<TrafficStep, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

const stepOf = (ms: number): TrafficStep => (ms <= 2 * STEPS.hour ? 'minute' : ms <= 8 * STEPS.day ? 'hour' : 'day');

/**
 * The query for traffic in a range, or in the range before it. A range that ends now begins at the start of a bucket, so the address of the
 * query changes once for each bucket and not every second.
 */
export function trafficQuery(
  of: Pick<TimeRange, 'ms' | 'days'>,
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

/**
 * The time zone in which days begin: the viewer's zone, or UTC if the viewer's days do not begin at a full hour, because traffic is counted
 * by the hour.
 */
export function dayZone(): string {
  const year = new Date().getFullYear();
  const isWhole = [0, 6].every((month) => new Date(year, month, 1).getTimezoneOffset() % 60 === 0);
  return isWhole ? Intl.DateTimeFormat().resolvedOptions().timeZone : 'UTC';
}

/**
 * The shortest range that contains all data; if no range contains all data, the longest range.
 * @param firstAt when the first request was counted, ISO 8601; null if there is none
 * @param now ms since 1970
 */
export function rangeOverAll(firstAt: string | null, now: number): RangeName {
  const names = Object.keys(RANGES) as RangeName[];
  const hasAll = (name: RangeName) =>
    firstAt === null || String(trafficQuery({ days: null, ...RANGES[name] }, now, {}).from) <= firstAt;
  return names.find(hasAll) ?? '90d';
}

/** A minimal query, because only the time of the first request is needed. */
const firstQuery = (now: number): Query => ({ from: new Date(now).toISOString(), step: 'day', points: 'false' });

const useFirst = (isWanted: boolean) =>
  useResource('/admin/traffic', firstQuery(Math.floor(Date.now() / STEPS.day) * STEPS.day), { isWanted });

/** When the first request was counted, ISO 8601; null if there is none, or the viewer may not know. */
export const useFirstAt = (): string | null => useFirst(reachOfViewer('traffic.read') !== null).data?.first_at ?? null;

/**
 * Writes a range into the address if the view needs one and the address has none.
 * @returns whether the view can be shown
 */
export function useOpeningRange(view: Pick<ConsoleView, 'range'> | null, isOpen: boolean): boolean {
  // A browser that has no last range would open an empty list if the last day has no request.
  const isOverAll = view?.range === 'all' || (view?.range === 'last' && recall('range') === null);
  const isWanted = isOpen && isOverAll && !isRangeStated();
  const { data, failure } = useFirst(isWanted);
  useEffect(() => {
    if (!isOpen || view?.range === undefined || isRangeStated()) return;
    if (!isOverAll || failure) stateRange();
    else if (data) stateRange(rangeOverAll(data.first_at, Date.now()));
  });
  return !isWanted;
}

interface TrafficOptions {
  readonly by?: TrafficGrouping | null;
  /** The maximum number of series; all further series are summed as "other". */
  readonly limit?: number;
  /** Whether to read the period of the same length before the selected one, to compare with. */
  readonly isBefore?: boolean;
  /** Whether to read days of UTC, which load faster. Lists of names need no buckets, so they use days of UTC. */
  readonly isCoarse?: boolean;
  /** Whether to read figures for each bucket; a table of sums needs no figures for buckets. */
  readonly hasPoints?: boolean;
  /** Whether each line also has the sums of the period before. */
  readonly isCompared?: boolean;
  /** Restricts the report to one key, team, model …, by ID. */
  readonly only?: Readonly<Partial<Record<TrafficDimension, string>>>;
  readonly isWanted?: boolean;
}

/** Reads traffic in the selected time range, and refreshes it while the page is visible. */
export function useTraffic(options: TrafficOptions = {}): Resource<TrafficReport> {
  const { isBefore = false, isWanted = true } = options;
  const { data, ...resource } = useResource('/admin/traffic', trafficQuery(range.value, Date.now(), options), {
    every: isBefore ? null : RENEWAL_MS,
    isWanted,
  });
  return { ...resource, data: data && withKnownBefore(data) };
}
