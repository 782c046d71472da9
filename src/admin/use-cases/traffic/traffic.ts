import { refuse } from '../../../core/errors.ts';
import type { Store } from '../../../store/store.ts';
import { STEP_MS, TRAFFIC_DIMENSIONS, type TrafficDimension, type TrafficTable } from '../../../store/traffic.ts';
import type { Principal } from '../principal.ts';
import { groupingIn, TRAFFIC_GROUPINGS, type TrafficFilters } from '../report/grouping.ts';
import { checkZone, momentIn, type StatedPeriod } from '../report/period.ts';
import { checkAction } from '../roles.ts';
import type { Sight } from '../sight.ts';
import type { HolderNames } from '../usage.ts';
import { lineFigures, readLines, restOf, sumsOf, type TrafficLine } from './lines.ts';
import { type AnswerStep, bucketsOf } from './periods.ts';
import { isNone, selectionOf, type TrafficSelection } from './selection.ts';

/** A query of traffic. Absent members have defaults. */
export interface TrafficQuery
  extends Omit<StatedPeriod, 'month'>,
    Readonly<Partial<Record<'by' | TrafficDimension, string | undefined>>> {
  readonly step?: AnswerStep | undefined;
  /** The most series. All other series are summed up in one series. */
  readonly limit?: number | undefined;
  /** Adds to each line the sums of the preceding period of the same length. */
  readonly compare?: 'before' | undefined;
  /** Whether the answer has figures by bucket and times. Without figures by bucket and times, the answer is faster. */
  readonly points?: 'true' | 'false' | undefined;
}

/** The sources of traffic. */
export interface TrafficSources {
  readonly store: Pick<Store, 'flush'> & { readonly traffic: TrafficTable };
  readonly sight: Sight;
  readonly nameOf: HolderNames;
  readonly now: number;
}

export const TRAFFIC_LIMIT = 10;
export const TRAFFIC_LIMIT_MAX = 50;
/** The default length of a period, in days. */
const USUAL_DAYS: Readonly<Record<AnswerStep, number>> = { minute: 1, hour: 1, day: 30, month: 180 };
/** Batches that are counted before an answer, so that it includes the most recent requests. */
const FRESH_BATCHES = 3;

/** Returns traffic by bucket, as far as the caller may see it. Rejects with SignalboxError. */
export async function trafficOf({ caller }: Principal, sources: TrafficSources, query: TrafficQuery) {
  const reach = checkAction(caller, 'traffic.read');
  const { store, sight, nameOf, now } = sources;
  const { step = 'hour', timeZone = 'UTC', limit = TRAFFIC_LIMIT, compare } = query;
  const by = query.by === undefined ? null : groupingIn(query.by, TRAFFIC_GROUPINGS);
  const period = statedPeriod(query, step, timeZone, now);
  const selection = await selectionOf(store.traffic, { caller, reach, sight }, by, filtersOf(query));
  const isWritten = await catchUp(store, now);
  const hasPoints = query.points !== 'false';
  const { from, to, unit } = period;
  // The reads run in parallel, because the database may be far away.
  const [{ total, lines, isWithoutOthers }, before, progress] = await Promise.all([
    readLines(store.traffic, selection, period, { limit, hasPoints }),
    compare ? sumsOf(store.traffic, selection, { from: 2 * from - to, to: from, unit }) : null,
    store.traffic.progress(),
  ]);
  const rest = selection.lines && restOf(total, [...lines.values()]);
  const told = rest && isWithoutOthers ? withNone(lines, rest) : lines;
  if (by === 'key' && !sight.isNarrow) await sight.learn(told.keys());
  const names = {
    key: sight.nameOf,
    team: (id: string) => nameOf('team', id),
    user: (id: string) => nameOf('user', id),
  };
  const nameIn = (value: string) => (by === 'key' || by === 'team' || by === 'user' ? names[by](value) : null) ?? value;
  const allBefore: LineSpend | null = before?.[0].all ?? null;
  const earlier = before && new Map([...told.keys()].map((value) => [value, spendBefore(selection, before, value)]));
  return {
    from,
    to,
    step,
    timeZone,
    by,
    countedUntil: Math.min(progress.freshFrom ?? (isWritten ? now : (progress.lastAt ?? 0)), now),
    firstAt: progress.firstAt,
    countingSince: progress.pastBefore === null ? null : Math.min(progress.pastBefore, now),
    times: hasPoints ? period.times : [],
    total: { ...lineFigures(total), before: allBefore },
    series: [...told].map(([value, line]) => ({
      value,
      name: nameIn(value),
      ...lineFigures(line),
      before: earlier && (earlier.get(value) ?? NOTHING),
    })),
    other:
      rest && told === lines
        ? { ...lineFigures(rest), before: earlier && [...earlier.values()].reduce(minus, allBefore ?? NOTHING) }
        : null,
  };
}

/** @throws SignalboxError */
function statedPeriod(query: TrafficQuery, step: AnswerStep, timeZone: string, now: number) {
  checkZone(timeZone);
  const to = momentIn('to', query.to, timeZone) ?? now;
  const from = momentIn('from', query.from, timeZone) ?? to - USUAL_DAYS[step] * STEP_MS.day;
  return from < to ? bucketsOf({ from, to }, step, timeZone) : refuse('to', '`to` must be later than `from`.');
}

const filtersOf = (query: TrafficQuery): TrafficFilters =>
  Object.fromEntries(TRAFFIC_DIMENSIONS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])));

/** Adds the line of keys without a label to the lines of the label's values. */
function withNone(lines: ReadonlyMap<string, TrafficLine>, none: TrafficLine): ReadonlyMap<string, TrafficLine> {
  const spendOf = ({ whole }: TrafficLine) => whole.figures.microcredits;
  return new Map([...lines, ['', none] as const].sort(([, one], [, other]) => spendOf(other) - spendOf(one)));
}

/** The sums of a line in the preceding period. */
interface LineSpend {
  readonly microcredits: number;
  readonly requests: number;
}

const NOTHING: LineSpend = { microcredits: 0, requests: 0 };
const minus = (one: LineSpend, other: LineSpend): LineSpend => ({
  microcredits: one.microcredits - other.microcredits,
  requests: one.requests - other.requests,
});

/** The spend of a line in the preceding period. For keys without the label, the spend is the part that no value of the label contains. */
function spendBefore(
  { lines }: TrafficSelection,
  [{ all }, { byValue }]: Awaited<ReturnType<typeof sumsOf>>,
  value: string,
): LineSpend {
  if (value !== '' || !lines || !isNone(lines, lines.prefix ?? '')) return byValue.get(value)?.figures ?? NOTHING;
  return [...byValue.values()].map(({ figures }) => figures).reduce<LineSpend>(minus, all);
}

/**
 * Counts the most recent requests. @returns whether everything is counted. If the store cannot count, the answer says up to when traffic is
 * counted.
 */
async function catchUp(store: TrafficSources['store'], now: number): Promise<boolean> {
  try {
    await store.flush();
  } catch {
    return false;
  }
  try {
    for (let batches = 0; batches < FRESH_BATCHES; batches++) if (!(await store.traffic.count(now))) break;
  } catch {}
  return true;
}

/**
 * Counts all buckets again for which records still exist, while a running server continues to count.
 * @returns the moment before which buckets were kept unchanged, ms since 1970; 0 if all were counted again
 * @throws SignalboxError, by rejecting, and StoreError
 */
export async function rebuildTraffic(
  { caller }: Principal,
  traffic: Pick<TrafficTable, 'count' | 'recount'>,
  now: () => number,
): Promise<number> {
  checkAction(caller, 'traffic.rebuild');
  let from = await traffic.recount();
  for (; from === null; from = await traffic.recount()) await traffic.count(now());
  while (await traffic.count(now()));
  return from;
}
