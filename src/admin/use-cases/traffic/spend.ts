import { windowAt } from '../../../core/accounting/window.ts';
import { refuse } from '../../../core/errors.ts';
import { type Caller, roleOf } from '../../../core/people/caller.ts';
import { DAY_MS, HOUR_MS } from '../../../core/time/clock.ts';
import type { LabelGrouping } from '../../../store/traffic.ts';
import type { OwnerIds, Owners } from '../people.ts';
import type { Principal } from '../principal.ts';
import { dimensionOf, GROUPINGS, groupingIn, isLabel } from '../report/grouping.ts';
import { checkZone, momentIn, type Stretch, spanOf, type UsagePeriod } from '../report/period.ts';
import { checkAction, type Reach, reachOf } from '../roles.ts';
import type { Sight } from '../sight.ts';
import { keyName, learnKeys, type UsageQuery, type UsageReport } from '../usage.ts';
import { trafficDimensions } from './selection.ts';
import { type TrafficSources, trafficOf } from './traffic.ts';

/** The dimensions of spend, in addition to `label:NAME`. Only traffic has tasks. */
export const SPEND_DIMENSIONS = ['key', 'team', 'user', 'model', 'provider', 'task'] as const;
type SpendDimension = (typeof SPEND_DIMENSIONS)[number] | LabelGrouping;

/**
 * The dimensions by which a caller may divide spend, which of them the ledger has, and by which the caller may group traffic. `label` stands
 * for every `label:NAME`.
 */
export function dimensionsFor(caller: Caller) {
  const reach = reachOf(roleOf(caller), 'traffic.read');
  if (reach === null) return { spend: [], ledger: [], traffic: [] };
  const isShown = (name: string) => name !== 'user' || roleOf(caller) !== 'report';
  const traffic = trafficDimensions(reach).filter(isShown);
  const ledger = [...SPEND_DIMENSIONS.filter((name) => isBooked(name) && isShown(name)), 'label'];
  const spend = [...SPEND_DIMENSIONS, 'label'].filter(
    (name) => ledger.includes(name) || traffic.some((one) => one === name),
  );
  return { spend, ledger, traffic };
}

const isBooked = (dimension: SpendDimension): dimension is LedgerDimension =>
  isLabel(dimension) || GROUPINGS.some((name) => name === dimension);

/** A query of spend. Absent members have defaults. */
export interface SpendQuery {
  /** By default `key`. */
  readonly by?: string | undefined;
  readonly and?: string | undefined;
  /** The key, team, model … whose spend is divided, as `key=ID`. */
  readonly of?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly step?: 'month' | undefined;
  readonly timeZone?: string | undefined;
  readonly count?: 'true' | 'false' | undefined;
}

export interface SpendSources extends TrafficSources {
  /** Finds the IDs of the team and the user that a filter names. @throws SignalboxError */
  ownersOf(owners: Owners): OwnerIds;
  report(by: Principal, query: UsageQuery, sight: Sight): Promise<UsageReport>;
}

/** A key, team, model … that spends. */
interface Spender {
  readonly dimension: SpendDimension;
  /** Empty for none, for example for keys without a team. */
  readonly id: string;
}

/** A query with the defaults. */
interface Wanted {
  readonly by: SpendDimension;
  readonly and: SpendDimension | null;
  readonly of: Spender | null;
  readonly period: Stretch;
  readonly isByMonth: boolean;
  readonly timeZone: string;
  readonly reach: Reach;
}

/** The spend of a row, in microcredits. */
interface SpendLine {
  readonly whole: {
    readonly charged: number;
    readonly requests: number;
    readonly input: number;
    readonly output: number;
    readonly saved: number | null;
  };
  readonly before: { readonly charged: number } | null;
  readonly months: readonly { readonly charged: number }[];
}
interface SpendRow extends SpendLine {
  /** Null for the row that sums up all others. */
  readonly id: string | null;
  readonly name: string;
  /** The value in the second dimension; null for one dimension. */
  readonly and: { readonly id: string; readonly name: string } | null;
}

/** The rows of one source. */
interface Found {
  readonly total: SpendLine;
  readonly rows: readonly SpendRow[];
  /** The beginnings of the months; empty without months. */
  readonly times: readonly number[];
}

/** The most rows from traffic. All others are summed up. */
const ROWS_MAX = 50;

/**
 * Returns spend by a dimension, as far as the caller may see it. Traffic has exact times and savings and is fast, so it is used if it has the
 * dimension; otherwise the ledger, which has whole days.
 * @throws SignalboxError, by rejecting
 */
export async function spendOf(by: Principal, sources: SpendSources, query: SpendQuery) {
  const wanted = read(by, query, sources.now);
  const groupings = hasTraffic(wanted) ? null : groupingsOf(wanted);
  const isCounted = groupings === null || query.count === 'true' || isFast(wanted);
  const days = daysOf(wanted);
  const found =
    groupings === null
      ? await fromTraffic(by, sources, wanted)
      : isCounted
        ? await fromLedger(by, sources, wanted, groupings, days)
        : NOTHING_FOUND;
  const { timeZone, isByMonth } = wanted;
  const nameOfMonth = (time: number) => dateOf(time, timeZone).toString().slice(0, 7);
  return {
    source: groupings === null ? ('traffic' as const) : ('ledger' as const),
    from: days.from.toString(),
    to: days.to.toString(),
    timeZone,
    counted: isCounted,
    months: found.times.map(nameOfMonth),
    total: withChange(found.total),
    rows: found.rows.toSorted(isByMonth ? byLatestMonth : byRise).map(withChange),
  };
}

/** @throws SignalboxError */
function read({ caller }: Principal, query: SpendQuery, now: number): Wanted {
  const { timeZone = 'UTC', and, of } = query;
  const reach = checkAction(caller, 'traffic.read');
  checkZone(timeZone);
  const to = momentIn('to', query.to, timeZone) ?? now;
  const from = momentIn('from', query.from, timeZone) ?? to - DAY_MS;
  if (from >= to) refuse('to', '`to` must be later than `from`.');
  const isByMonth = query.step === 'month';
  const first = groupingIn(query.by ?? 'key', SPEND_DIMENSIONS);
  const second = and === undefined ? null : groupingIn(and, SPEND_DIMENSIONS, 'and');
  if (second !== null && !isByMonth) refuse('and', '`and` needs `step=month`.');
  if (second === first) refuse('and', `\`and\` must be another dimension than \`by\`, which is ${first}.`);
  return {
    by: first,
    and: second,
    of: of === undefined ? null : spenderIn(of),
    period: { from, to },
    isByMonth,
    timeZone,
    reach,
  };
}

/** Reads `key=ID`. @throws SignalboxError */
function spenderIn(text: string): Spender {
  const at = text.indexOf('=');
  if (at < 1) refuse('of', '`of` must have the form key=ID or label:NAME=VALUE.');
  return { dimension: groupingIn(text.slice(0, at), SPEND_DIMENSIONS, 'of'), id: text.slice(at + 1) };
}

/** Whether traffic has the figures. It has one dimension, months of UTC, and of a key its models and of a model its keys. */
function hasTraffic({ by, and, of, isByMonth, timeZone, reach }: Wanted): boolean {
  // Only traffic has tasks, and it refuses callers who may not see them.
  if (by === 'task') return and === null && of === null;
  if (!trafficDimensions(reach).includes(dimensionOf(by)) || and !== null) return false;
  if (isByMonth) return of === null && timeZone === 'UTC';
  if (of === null) return true;
  if (of.id === '') return false;
  return (of.dimension === 'key' && by === 'model') || (of.dimension === 'model' && by === 'key' && reach === 'all');
}

/**
 * Whether the ledger sums the charges quickly: charges that the caller may see, months, or charges of a spender that are found without
 * reading all others.
 */
function isFast({ of, reach, isByMonth, period: { from, to } }: Wanted): boolean {
  if (reach !== 'all' || isByMonth || of === null) return true;
  const { dimension, id } = of;
  return id !== '' && (dimension === 'key' || dimension === 'user' || (dimension === 'team' && to - from <= DAY_MS));
}

const dateOf = (time: number, timeZone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone).toPlainDate();

/** The whole days that a period touches; with months, whole months. */
function daysOf({ period: { from, to }, timeZone, isByMonth }: Wanted): UsagePeriod {
  const [first, last] = [dateOf(from, timeZone), dateOf(to - 1, timeZone)];
  if (!isByMonth) return { from: first, to: last.add({ days: 1 }), timeZone };
  return { from: first.with({ day: 1 }), to: last.with({ day: 1 }).add({ months: 1 }), timeZone };
}

async function fromTraffic(by: Principal, sources: SpendSources, wanted: Wanted): Promise<Found> {
  const { of, period, isByMonth } = wanted;
  const report = await trafficOf(by, sources, {
    by: wanted.by,
    limit: ROWS_MAX,
    from: new Date(period.from).toISOString(),
    to: new Date(period.to).toISOString(),
    ...(isByMonth
      ? { step: 'month', timeZone: wanted.timeZone }
      : { ...stepOf(wanted), compare: 'before', points: 'false' }),
    ...(of && { [of.dimension]: of.id }),
  });
  const isKnown = report.firstAt !== null && report.firstAt <= 2 * report.from - report.to;
  const lineOf = ({ whole, buckets, before }: (typeof report)['total']): SpendLine => ({
    whole: {
      charged: whole.microcredits,
      requests: whole.requests,
      input: whole.input,
      output: whole.output,
      saved: whole.saved,
    },
    before: isKnown && before ? { charged: before.microcredits } : null,
    months: isByMonth ? buckets.microcredits.map((charged) => ({ charged })) : [],
  });
  return {
    total: lineOf(report.total),
    rows: [
      ...report.series.map((line) => ({ id: line.value, name: line.name, and: null, ...lineOf(line) })),
      ...(report.other ? [{ id: null, name: 'all others', and: null, ...lineOf(report.other) }] : []),
    ],
    times: isByMonth ? report.times : [],
  };
}

/** The step of traffic for a period. Days of a zone that does not begin days on a whole hour of UTC are days of UTC. */
function stepOf({ period: { from, to }, timeZone }: Wanted) {
  const length = to - from;
  if (length <= 2 * HOUR_MS) return { step: 'minute' } as const;
  if (length <= 8 * DAY_MS) return { step: 'hour' } as const;
  const isWhole = [from, to].every((time) => windowAt('day', timeZone, time).starts % HOUR_MS === 0);
  return { step: 'day', timeZone: isWhole ? timeZone : 'UTC' } as const;
}

async function fromLedger(
  by: Principal,
  sources: SpendSources,
  { of, isByMonth, timeZone }: Wanted,
  { dimensions, groupings }: LedgerGroupings,
  days: UsagePeriod,
): Promise<Found> {
  const filter = filterOf(of, sources);
  const groupsIn = async (period: UsagePeriod) => {
    const { groups } = await sources.report(by, { ...period, by: groupings, ...filter }, sources.sight);
    const [at, id] = [isByMonth ? 1 : 0, filter.team ?? filter.user ?? of?.id];
    return of ? groups.filter(({ names }) => names[at] === id) : groups;
  };
  const length = days.from.until(days.to);
  const earlier = { ...days, from: days.from.subtract(length), to: days.from };
  const [groups, before, { firstAt }] = await Promise.all([
    groupsIn(days),
    isByMonth ? null : groupsIn(earlier),
    sources.store.traffic.progress(),
  ]);
  await learnKeys(sources.sight, groupings, [...groups, ...(before ?? [])]);
  const times = isByMonth ? monthsIn(days) : [];
  const isKnown = !isByMonth && firstAt !== null && firstAt < spanOf(earlier).from + DAY_MS;
  const total = newRow(TOTAL, times.length, isKnown);
  const rows = new Map<string, LedgerRow>();
  const rowOf = (names: readonly string[]): LedgerRow => {
    const own = names.slice(-dimensions.length);
    return rows.getOrInsertComputed(JSON.stringify(own), () => {
      const [first, and = null] = own.map((id, at) => ({ id, name: nameIn(dimensions[at]!, id, sources) }));
      return newRow({ ...first!, and }, times.length, isKnown);
    });
  };
  const months = times.map((time) => dateOf(time, timeZone).toString().slice(0, 7));
  for (const { names, charges: requests, ...sums } of groups) {
    const month = isByMonth ? months.indexOf(names[0]!) : -1;
    for (const row of [rowOf(names), total]) addTo(row, { ...sums, requests }, month);
  }
  for (const { names, charged } of before ?? [])
    for (const row of [rowOf(names), total]) if (row.before) row.before.charged += charged;
  return { total, rows: [...rows.values()], times };
}

type LedgerDimension = Exclude<SpendDimension, 'task'>;

/** How the ledger groups charges for a query. */
interface LedgerGroupings {
  /** The dimensions of the rows, which are the last groupings. */
  readonly dimensions: readonly LedgerDimension[];
  readonly groupings: readonly ('month' | LedgerDimension)[];
}

/** @throws SignalboxError for tasks, which only traffic has */
function groupingsOf({ by, and, of, isByMonth }: Wanted): LedgerGroupings {
  const dimensions = [by, ...(and ? [and] : [])].map(booked);
  return {
    dimensions,
    groupings: [...(isByMonth ? (['month'] as const) : []), ...(of ? [booked(of.dimension)] : []), ...dimensions],
  };
}

const booked = (dimension: SpendDimension): LedgerDimension =>
  isBooked(dimension)
    ? dimension
    : refuse('by', 'The ledger has no tasks, so spend by task is known only without `and` and `of`.');

/** The filter of the ledger for a spender. Groups are also compared, because the ledger has no filter for providers and for none. */
function filterOf(of: Spender | null, { ownersOf }: SpendSources): Omit<UsageQuery, keyof UsagePeriod | 'by'> {
  const all = { keyId: null, team: null, user: null, model: null, labels: {} };
  if (!of || of.id === '') return all;
  const { dimension, id } = of;
  if (isLabel(dimension)) return { ...all, labels: { [dimension.slice('label:'.length)]: id } };
  if (dimension === 'key') return { ...all, keyId: id };
  if (dimension === 'model') return { ...all, model: id };
  return dimension === 'team' || dimension === 'user' ? { ...all, ...ownersOf({ [dimension]: id }) } : all;
}

function monthsIn({ from, to, timeZone }: UsagePeriod): number[] {
  const times: number[] = [];
  for (let date = from; Temporal.PlainDate.compare(date, to) < 0; date = date.add({ months: 1 }))
    times.push(date.toZonedDateTime({ timeZone }).epochMilliseconds);
  return times;
}

/** The name of a value of a dimension; the value itself if it has no name that the caller may see. */
function nameIn(dimension: SpendDimension, id: string, { sight, nameOf }: SpendSources): string {
  if (id === '') return '';
  if (dimension === 'key') return keyName(id, sight) ?? id;
  return (dimension === 'team' || dimension === 'user' ? nameOf(dimension, id) : null) ?? id;
}

/** A row that is summed up from charges. */
type LedgerRow = Pick<SpendRow, 'id' | 'name' | 'and'> & {
  readonly whole: { charged: number; requests: number; input: number; output: number; readonly saved: null };
  readonly before: { charged: number } | null;
  readonly months: readonly { charged: number }[];
};

const newRow = (names: Pick<SpendRow, 'id' | 'name' | 'and'>, months: number, isKnown: boolean): LedgerRow => ({
  ...names,
  whole: { charged: 0, requests: 0, input: 0, output: 0, saved: null },
  before: isKnown ? { charged: 0 } : null,
  months: Array.from({ length: months }, () => ({ charged: 0 })),
});

type Charges = Readonly<Record<'charged' | 'requests' | 'input' | 'output', number>>;

/** @param month the index of the month of the charges; -1 for none */
function addTo({ whole, months }: LedgerRow, { charged, requests, input, output }: Charges, month: number): void {
  whole.charged += charged;
  whole.requests += requests;
  whole.input += input;
  whole.output += output;
  const own = months[month];
  if (own) own.charged += charged;
}

const TOTAL = { id: null, name: '', and: null } as const;

const NOTHING_FOUND: Found = { total: newRow(TOTAL, 0, false), rows: [], times: [] };

const changeOf = ({ whole, before }: SpendLine): number | null => before && whole.charged - before.charged;

function withChange<Line extends SpendLine>(line: Line) {
  const charged = changeOf(line);
  return { ...line, change: charged === null ? null : { charged } };
}

const byOthersLast = (one: SpendRow, other: SpendRow): number => Number(one.id === null) - Number(other.id === null);

/** Puts the row with the largest rise first. */
const byRise = (one: SpendRow, other: SpendRow): number =>
  byOthersLast(one, other) || (changeOf(other) ?? 0) - (changeOf(one) ?? 0) || other.whole.charged - one.whole.charged;

/** Sorts by spend in the latest month in which two rows differ. */
function byLatestMonth(one: SpendRow, other: SpendRow): number {
  const at = one.months.findLastIndex(({ charged }, month) => charged !== other.months[month]?.charged);
  return byOthersLast(one, other) || (other.months[at]?.charged ?? 0) - (one.months[at]?.charged ?? 0);
}
