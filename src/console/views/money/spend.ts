import { useState } from 'preact/hooks';
import type { Action, Reach } from '../../../admin/use-cases/roles.ts';
import type { ReadOf } from '../../api/reads.ts';
import { type Resource, useResource } from '../../api/resource.ts';
import { DAY_MS } from '../../design/format.ts';
import { dayOf } from '../../shell/days.ts';
import { isKnownFrom } from '../../shell/known-before.ts';
import { endsOf, range, type TimeRange, viewerZone } from '../../shell/range.ts';
import { isToldApart, type TrafficReport, useFirstAt, useTraffic } from '../../shell/traffic.ts';
import { riseOf } from './rise.ts';

/** The dimension by which spend is divided. A label dimension has the label's name after the colon. */
export type SpendDimension = 'key' | 'team' | 'user' | 'model' | 'provider' | 'task' | `label:${string}`;

export interface Amount {
  readonly usd: string;
  readonly credits: number;
}

/** The sums of a period. Savings against the baseline are null if they are not known. */
export type Sums = Pick<
  TrafficReport['total']['whole'],
  'usd' | 'credits' | 'requests' | 'input_tokens' | 'output_tokens'
> & { readonly saved_usd: string | null; readonly saved_credits: number | null };

/** The spend of a key, team, model …. */
export interface SpenderRow {
  /** '' for none, such as keys without a team; null for the row with the sum of all other rows. */
  readonly id: string | null;
  readonly name: string;
  readonly whole: Sums;
  /** The spend in the period before; null if that spend is not known. */
  readonly before: Amount | null;
}

export const savedOf = ({ saved_usd, saved_credits }: Sums): Amount | null =>
  saved_usd === null || saved_credits === null ? null : { usd: saved_usd, credits: saved_credits };

type UsageReport = ReadOf<'/admin/usage'>;
type UsageGroup = UsageReport['groups'][number];

/**
 * Whether traffic counts a dimension for a viewer of this reach. Traffic has exact times and savings. For other dimensions the ledger has
 * whole days.
 */
export const isCounted = (by: SpendDimension, reach: Reach): boolean => by !== 'label:' && isToldApart(by, reach);

/** Whether the ledger knows a dimension. Only decision records have tasks. */
export const isBooked = (by: SpendDimension): boolean => by !== 'task' && by !== 'label:';

/** The dimensions that a viewer can select. */
export const dimensionsOf = (reach: Reach, isReport: boolean): readonly SpendDimension[] => {
  const all: readonly SpendDimension[] = ['key', 'team', 'user', 'model', 'provider', 'task', 'label:'];
  return all.filter((by) => (by === 'task' ? reach === 'all' : by === 'user' ? !isReport : true));
};

export const DIMENSION_NAMES: Readonly<Record<string, string>> = {
  key: 'Key',
  team: 'Team',
  user: 'Member',
  model: 'Model',
  provider: 'Provider',
  task: 'Task',
};
export const nounOf = (by: SpendDimension): string => DIMENSION_NAMES[by] ?? `Label ${by.slice('label:'.length)}`;

/** The name of spend without a value in the dimension: `no team`. */
export const noneOf = (by: SpendDimension): string => `no ${nounOf(by).toLowerCase()}`;

/** The rows of counted traffic. The last row is the sum of all rows that are not listed. */
function rowsOfTraffic(report: TrafficReport, by: SpendDimension): readonly SpenderRow[] {
  const { series, other } = report;
  const rowOf = (id: string | null, name: string, { whole, before }: TrafficReport['total']) => {
    return { id, name, whole, before };
  };
  return [
    ...series.map((line) => rowOf(line.value, line.name || noneOf(by), line)),
    ...(other ? [rowOf(null, 'all others', other)] : []),
  ];
}

/** The ID and name of a group in a dimension. */
export function holderOf({ group }: Pick<UsageGroup, 'group'>, by: SpendDimension): { id: string; name: string } {
  const id = group[by] ?? group[`${by}_id`] ?? group[`${by}_name`] ?? '';
  return { id, name: group[`${by}_name`] || id || noneOf(by) };
}

export const NO_AMOUNT: Amount = { usd: '0', credits: 0 };
const NO_SUMS: Sums = {
  ...NO_AMOUNT,
  requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  saved_usd: null,
  saved_credits: null,
};

/**
 * The rows of usage in two periods, including spenders that appear in only one period.
 * @param before null if the period before began before the installation
 */
function rowsOfUsage(
  now: readonly UsageGroup[],
  before: readonly UsageGroup[] | null,
  by: SpendDimension,
): readonly SpenderRow[] {
  const rows = new Map<string, SpenderRow>();
  const none = before && NO_AMOUNT;
  const put = (group: UsageGroup, part: Partial<SpenderRow>) => {
    const holder = holderOf(group, by);
    rows.set(holder.id, { ...(rows.get(holder.id) ?? { ...holder, whole: NO_SUMS, before: none }), ...part });
  };
  for (const group of now) put(group, { whole: { ...NO_SUMS, ...group, requests: group.charges } });
  for (const group of before ?? []) put(group, { before: group });
  return [...rows.values()];
}

/** Puts the row with the largest rise first and the row with the sum of all other rows last. */
const sortedRows = (rows: readonly SpenderRow[]): readonly SpenderRow[] =>
  rows.toSorted(
    (one, other) =>
      Number(one.id === null) - Number(other.id === null) ||
      (riseOf(other) ?? 0) - (riseOf(one) ?? 0) ||
      other.whole.credits - one.whole.credits,
  );

/**
 * The whole days that a range touches; `to` is the day after the last day.
 * @param turns how many periods of the same length earlier
 */
export function daysOf(of: TimeRange, now: number, turns = 0): { readonly from: string; readonly to: string } {
  const { from, to } = endsOf(of, now);
  const first = new Date(from);
  first.setHours(0, 0, 0, 0);
  const end = new Date((to ?? now) - (to === null ? 0 : 1));
  end.setHours(0, 0, 0, 0);
  end.setDate(end.getDate() + 1);
  const days = Math.round((end.getTime() - first.getTime()) / DAY_MS);
  for (const date of [first, end]) date.setDate(date.getDate() - turns * days);
  return { from: dayOf(first), to: dayOf(end) };
}

/** A key, team, model … that spends, given by its dimension and ID. */
export interface Holder {
  readonly by: SpendDimension;
  readonly id: string;
}

/** The usage filter that selects a holder; null if usage has no such filter. */
export function filterOf({ by, id }: Holder): Readonly<Record<string, string>> | null {
  if (id === '') return null;
  if (by.startsWith('label:')) return { label: `${by.slice('label:'.length)}=${id}` };
  return by === 'provider' || by === 'task' ? null : { [by]: id };
}

interface SpendReport {
  readonly rows: readonly SpenderRow[];
  /** The days that the figures of the ledger cover; null for counted traffic. */
  readonly days: { readonly from: string; readonly to: string } | null;
}

interface Spend extends Resource<SpendReport> {
  /** Requests figures of the ledger; null if the figures were requested already or are not needed. */
  readonly count: (() => void) | null;
}

/** Whether traffic counts the spend of one holder by a dimension. */
const isCountedOf = ({ by: holder, id }: Holder, by: SpendDimension, reach: Reach): boolean =>
  id !== '' && ((holder === 'key' && by === 'model') || (holder === 'model' && by === 'key' && reach === 'all'));

/** Whether the ledger finds the charges of a holder quickly, without reading the charges of all other holders: at most a day of a team. */
const isSmall = ({ by, id }: Holder, { ms }: TimeRange): boolean =>
  id !== '' && (by === 'key' || by === 'user' || (by === 'team' && ms <= DAY_MS));

/**
 * Whether the viewer has requested figures.
 * @param what names the figures; a new name starts as not requested
 */
function useAsked(what: string): { readonly isAsked: boolean; ask(): void } {
  const [asked, setAsked] = useState('');
  return { isAsked: asked === what, ask: () => setAsked(what) };
}

/**
 * Reads spend in the selected range and the range before, by a dimension, for everything or for one holder. Traffic is used if it counts
 * the dimension, otherwise the ledger. A viewer who sees all spend must click first, because the ledger then sums quarters of an hour,
 * which takes seconds with millions of requests.
 */
export function useSpend(by: SpendDimension, reach: Reach, of: Holder | null = null): Spend {
  const now = Date.now();
  const isTraffic = isCounted(by, reach) && (of === null || isCountedOf(of, by, reach));
  const traffic = useTraffic({
    by: isTraffic ? by : null,
    limit: 50,
    isCompared: true,
    hasPoints: false,
    only: of && isTraffic ? { [of.by]: of.id } : {},
    isWanted: isTraffic,
  });
  const query = { by: of ? `${of.by},${by}` : by, time_zone: viewerZone(), ...(of && filterOf(of)) };
  const days = daysOf(range.value, now);
  const asked = useAsked(JSON.stringify([query, days]));
  const isAsked = asked.isAsked || reach !== 'all' || (of !== null && isSmall(of, range.value));
  const isWanted = !isTraffic && by !== 'label:' && isAsked;
  const usage = useResource('/admin/usage', { ...query, ...days }, { isWanted });
  const earlier = daysOf(range.value, now, 1);
  const before = useResource('/admin/usage', { ...query, ...earlier }, { isWanted });
  const firstAt = useFirstAt();
  const isKnown = isKnownFrom(new Date(`${earlier.from}T23:59:59`).getTime(), firstAt);
  if (isTraffic) {
    return {
      ...traffic,
      count: null,
      data: traffic.data && { rows: sortedRows(rowsOfTraffic(traffic.data, by)), days: null },
    };
  }
  const groupsIn = ({ groups }: UsageReport) =>
    of ? groups.filter((group) => holderOf(group, of.by).id === of.id) : groups;
  return {
    ...usage,
    count: isAsked || by === 'label:' ? null : asked.ask,
    failure: usage.failure ?? before.failure,
    data:
      usage.data && before.data
        ? { rows: sortedRows(rowsOfUsage(groupsIn(usage.data), isKnown ? groupsIn(before.data) : null, by)), days }
        : null,
    renew() {
      usage.renew();
      before.renew();
    },
  };
}

/** The dimension that an address names. */
export const dimensionOf = (text: string, known: readonly SpendDimension[]): SpendDimension =>
  text.startsWith('label:') && known.includes('label:')
    ? `label:${text.slice('label:'.length)}`
    : (known.find((by) => by === text) ?? 'key');

/** The ID of an open row in the address: `~` if the ID is empty. */
export const openText = (id: string): string => (id === '' ? '~' : id);

/** The action that each tab needs; null if the view's own action suffices. */
export const TAB_ACTIONS = {
  usage: null,
  months: null,
  budgets: 'ledger.read',
  payments: 'payments.read',
} as const satisfies Record<string, Action | null>;
export type MoneyTab = keyof typeof TAB_ACTIONS;
