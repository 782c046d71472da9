import { refuse } from '../../../core/errors.ts';
import type { Caller } from '../../../core/people/caller.ts';
import {
  keyModelSeries,
  TRAFFIC_DIMENSIONS,
  type TrafficDimension,
  type TrafficGrouping,
  type TrafficKind,
  type TrafficTable,
} from '../../../store/traffic.ts';
import { dimensionOf, filterSeries, prefixOf, type TrafficFilters } from '../report/grouping.ts';
import type { Reach } from '../roles.ts';
import { checkShown, type Sight } from '../sight.ts';

/** The series to read. */
export interface SeriesChoice {
  readonly kind: TrafficKind;
  /** The names of the series; null for all. */
  readonly names: readonly string[] | null;
  /** The beginning (`prefix`) and the end (`suffix`) of the names to read; empty for all. */
  readonly prefix?: string;
  readonly suffix?: string;
  /** Loads the keys of series before they are shown. Absent if keys are shown by ID. */
  readonly learn?: (series: readonly string[]) => Promise<void>;
}

/** The part of a query's traffic that the caller may see. */
export interface TrafficSelection {
  readonly total: SeriesChoice;
  /** The series to show as lines; null to show only the total. */
  readonly lines: SeriesChoice | null;
  /** The value under which a series is shown. Several series may share a value. */
  shownAs(series: string): string;
}

/**
 * Whether a series belongs to an empty label. An empty label counts like a missing label, which is what remains when all other values are
 * shown.
 */
export const isNone = ({ prefix = '' }: SeriesChoice, series: string): boolean => prefix !== '' && series === prefix;

const WITHIN: Readonly<Record<Reach, readonly TrafficDimension[]>> = {
  all: TRAFFIC_DIMENSIONS,
  team: ['model', 'key', 'team'],
  own: ['model', 'key'],
};

/** The dimensions by which a caller of a reach may group traffic. */
export const trafficDimensions = (reach: Reach): readonly TrafficDimension[] => WITHIN[reach];

/** The series that contains every request. */
const ALL: SeriesChoice = { kind: 'total', names: null };

/**
 * Returns the series that the caller may see. For a team or a person, these are the series of its keys, by key or model, and for a lead the
 * series of its team.
 * @throws SignalboxError
 */
export async function selectionOf(
  traffic: Pick<TrafficTable, 'modelsOf'>,
  { caller, reach, sight }: { readonly caller: Caller; readonly reach: Reach; readonly sight: Sight },
  by: TrafficGrouping | null,
  filters: TrafficFilters,
): Promise<TrafficSelection> {
  const prefix = by === null ? '' : prefixOf(by);
  const shownAs = (series: string) => (by === 'key' ? sight.keyOf(series) : series.slice(prefix.length));
  const ids = await sight.idsWithin(reach);
  const [filter, ...more] = Object.keys(filters) as TrafficDimension[];
  checkShown(sight, { user: filters.user, by: by === 'user' ? by : undefined });
  if (more.length > 0) refuse(more[0]!, 'Traffic can be filtered by only one dimension at a time.');
  if (by !== null && !trafficDimensions(reach).includes(dimensionOf(by))) refuseBeyond();
  const keys =
    filter === 'key' ? (await sight.idsOf(filters.key!)).filter((id) => ids?.has(id) ?? true) : ids && [...ids];
  if (keys && (filter === undefined || filter === 'key')) {
    if (by === 'team' && filter === undefined) return ofTeam(caller, reach);
    if (by === 'key') await sight.learn(keys);
    return await ofKeys(traffic, keys, by, shownAs);
  }
  if (ids)
    return filter === 'team' && filters.team === caller.team && [null, 'team'].includes(by)
      ? ofTeam(caller, reach)
      : refuseBeyond();
  const kind = by && dimensionOf(by);
  const learn = by === 'key' && sight.isNarrow ? { learn: sight.learn } : {};
  if (filter === undefined) return { total: ALL, lines: kind && { kind, names: null, prefix, ...learn }, shownAs };
  const series = filterSeries(filter, filters[filter]!);
  if (filter === 'model' && by === 'key') return keysOfModel(series, sight);
  const one = { kind: filter, names: [series] };
  if (by !== null && (kind !== filter || !series.startsWith(prefix))) {
    refuse(
      filter,
      `Traffic by ${by} is not stored for each ${filter}. GET /admin/usage has charges by several dimensions.`,
    );
  }
  return { total: one, lines: by && one, shownAs };
}

async function ofKeys(
  traffic: Pick<TrafficTable, 'modelsOf'>,
  keys: readonly string[],
  by: TrafficGrouping | null,
  shownAs: TrafficSelection['shownAs'],
): Promise<TrafficSelection> {
  const total: SeriesChoice = { kind: 'key', names: keys };
  if (by === null || by === 'key') return { total, lines: by && total, shownAs };
  if (by !== 'model') return refuseBeyond();
  const names = (await Promise.all(keys.map((key) => traffic.modelsOf(key)))).flat();
  return { total, lines: { kind: 'key_model', names }, shownAs: (series) => series.slice(series.indexOf(' ') + 1) };
}

/** The keys that use a model. */
function keysOfModel(model: string, sight: Sight): TrafficSelection {
  const keyIn = (series: string) => series.slice(0, series.indexOf(' '));
  const learn = (series: readonly string[]) => sight.learn(series.map(keyIn));
  return {
    total: { kind: 'model', names: [model] },
    lines: { kind: 'key_model', names: null, suffix: keyModelSeries('', model), ...(sight.isNarrow && { learn }) },
    shownAs: (series) => sight.keyOf(keyIn(series)),
  };
}

/** The team of a lead, with the members that it had at each time. */
function ofTeam({ team }: Caller, reach: Reach): TrafficSelection {
  if (reach !== 'team' || team === undefined) return refuseBeyond();
  const own: SeriesChoice = { kind: 'team', names: [team] };
  return { total: own, lines: own, shownAs: (series) => series };
}

const refuseBeyond = (): never =>
  refuse('by', 'With your role, you can see traffic by key and by model for your keys, and the total of your team.');
