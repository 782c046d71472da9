import type { Caller } from '../../../core/caller.ts';
import { refuse } from '../../../core/errors.ts';
import {
  keyModelSeries,
  type TrafficDimension,
  type TrafficGrouping,
  type TrafficKind,
  type TrafficTable,
} from '../../../store/traffic.ts';
import { dimensionOf, filterSeries, prefixOf, type TrafficFilters } from '../report/grouping.ts';
import type { Reach } from '../roles.ts';
import { checkShown, type Sight } from '../sight.ts';

/** Series that are read. */
export interface SeriesChoice {
  readonly kind: TrafficKind;
  /** Null for all. */
  readonly names: readonly string[] | null;
  /** How those begin, and end, that are read; empty for all. */
  readonly prefix?: string;
  readonly suffix?: string;
  /** Looks up the keys of series before they are shown; absent where they are shown by their IDs. */
  readonly learn?: (series: readonly string[]) => Promise<void>;
}

/** What an asker gets to see of what it asks for. */
export interface TrafficSelection {
  readonly total: SeriesChoice;
  /** The series to tell apart; null for the total alone. */
  readonly lines: SeriesChoice | null;
  /** The value that a series is told by. Several may have one. */
  shownAs(series: string): string;
}

/** A label with an empty value is as none: both are left when all other values are told. */
export const isNone = ({ prefix = '' }: SeriesChoice, series: string): boolean => prefix !== '' && series === prefix;

/** The series of every request. */
const ALL: SeriesChoice = { kind: 'total', names: null };

/**
 * The series that an asker may see: of a team or a person, those of its keys, by key, model and, for a lead, its team.
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
  if (more.length > 0) refuse(more[0]!, 'Traffic is filtered by one dimension at a time.');
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
      `Traffic by ${by} is not kept for each ${filter}; GET /admin/usage has charges by several dimensions.`,
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

/** The team of a lead, as it was at each time. */
function ofTeam({ team }: Caller, reach: Reach): TrafficSelection {
  if (reach !== 'team' || team === undefined) return refuseBeyond();
  const own: SeriesChoice = { kind: 'team', names: [team] };
  return { total: own, lines: own, shownAs: (series) => series };
}

const refuseBeyond = (): never =>
  refuse('by', 'Of some keys alone, traffic is kept by key and by model, and of a team as a whole.');
