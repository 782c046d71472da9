import { useState } from 'preact/hooks';
import type { Action, Reach } from '../../../admin/use-cases/roles.ts';
import type { ReadOf } from '../../api/reads.ts';
import { type Resource, useResource } from '../../api/resource.ts';
import { DAY_MS } from '../../design/format.ts';
import { endsOf, range, type TimeRange } from '../../shell/range.ts';
import { isToldApart, type TrafficReport, useTraffic } from '../../shell/traffic.ts';

/** What spend is told apart by; a label with its name. */
export type SpendDimension = 'key' | 'team' | 'user' | 'model' | 'provider' | 'task' | `label:${string}`;

export interface Amount {
  readonly usd: string;
  readonly credits: number;
}

/** What was spent in a period; the savings against the baseline are null where they are not known. */
export type Sums = Pick<
  TrafficReport['total']['whole'],
  'usd' | 'credits' | 'requests' | 'input_tokens' | 'output_tokens'
> & { readonly saved_usd: string | null; readonly saved_credits: number | null };

/** What one key, team, model … spent. */
export interface SpenderRow {
  /** Empty for none, such as keys of no team; null for all that are not told apart. */
  readonly id: string | null;
  readonly name: string;
  readonly whole: Sums;
  /** Of the period before; null where it is not known. */
  readonly before: Amount | null;
}

export const savedOf = ({ saved_usd, saved_credits }: Sums): Amount | null =>
  saved_usd === null || saved_credits === null ? null : { usd: saved_usd, credits: saved_credits };

type UsageReport = ReadOf<'/admin/usage'>;
type UsageGroup = UsageReport['groups'][number];

/** Whether traffic counts a dimension, for one who reaches so far: to the minute, and with savings. Else the books tell it by whole days. */
export const isCounted = (by: SpendDimension, reach: Reach): boolean => by !== 'label:' && isToldApart(by, reach);

/** Whether the books have a dimension: tasks are known to records alone. */
export const isBooked = (by: SpendDimension): boolean => by !== 'task' && by !== 'label:';

/** The dimensions that a viewer can choose. */
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

/** The name of what has none. */
export const noneOf = (by: SpendDimension): string => `no ${nounOf(by).toLowerCase()}`;

/** The rows of counted traffic; with a last one for the rest. */
const rowsOfTraffic = ({ series, other }: TrafficReport, by: SpendDimension): readonly SpenderRow[] => [
  ...series.map(({ value, name, whole, before }) => ({ id: value, name: name || noneOf(by), whole, before })),
  ...(other ? [{ id: null, name: 'all others', whole: other.whole, before: other.before }] : []),
];

/** The ID and the name of a group, in a dimension. */
export function holderOf({ group }: Pick<UsageGroup, 'group'>, by: SpendDimension): { id: string; name: string } {
  const id = group[by] ?? group[`${by}_id`] ?? group[`${by}_name`] ?? '';
  return { id, name: group[`${by}_name`] || id || noneOf(by) };
}

export const NO_AMOUNT: Amount = { usd: '0', credits: 0 };
const NO_SUMS: Sums = {
  ...{ ...NO_AMOUNT, requests: 0, input_tokens: 0, output_tokens: 0 },
  ...{ saved_usd: null, saved_credits: null },
};

/** The rows of usage in two periods, also of what has spent in one of them alone. */
function rowsOfUsage(
  now: readonly UsageGroup[],
  before: readonly UsageGroup[],
  by: SpendDimension,
): readonly SpenderRow[] {
  const rows = new Map<string, SpenderRow>();
  const put = (group: UsageGroup, part: Partial<SpenderRow>) => {
    const holder = holderOf(group, by);
    rows.set(holder.id, { ...(rows.get(holder.id) ?? { ...holder, whole: NO_SUMS, before: NO_AMOUNT }), ...part });
  };
  for (const group of now) put(group, { whole: { ...NO_SUMS, ...group, requests: group.charges } });
  for (const group of before) put(group, { before: group });
  return [...rows.values()];
}

/** What a row spends more than before, in Credits; null where that is not known. */
export const riseOf = ({ whole, before }: SpenderRow): number | null => before && whole.credits - before.credits;

/** The greatest rise first; all others last. */
const sortedRows = (rows: readonly SpenderRow[]): readonly SpenderRow[] =>
  rows.toSorted(
    (one, other) =>
      Number(one.id === null) - Number(other.id === null) ||
      (riseOf(other) ?? 0) - (riseOf(one) ?? 0) ||
      other.whole.credits - one.whole.credits,
  );

/** A day where the viewer is, `YYYY-MM-DD`. */
export const dayOf = (date: Date): string =>
  [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0')).join('-');

/** The whole days that a range touches; `to` is the day after the last one. @param turns how many periods of the same length earlier */
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

export const viewerZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** One holder among those of a dimension. */
export interface Holder {
  readonly by: SpendDimension;
  readonly id: string;
}

/** The filter of usage that a holder is; what is left over is told apart by its dimension. */
function filterOf({ by, id }: Holder): Readonly<Record<string, string>> {
  if (id === '') return {};
  if (by.startsWith('label:')) return { label: `${by.slice('label:'.length)}=${id}` };
  return by === 'provider' || by === 'task' ? {} : { [by]: id };
}

interface SpendReport {
  readonly rows: readonly SpenderRow[];
  /** Of the books: the days that are told. */
  readonly days: { readonly from: string; readonly to: string } | null;
}

interface Spend extends Resource<SpendReport> {
  /** Asks the books; null where that is done or not needed. */
  readonly count: (() => void) | null;
}

/** Whether traffic counts what one holder spent by a dimension. */
const isCountedOf = ({ by: holder, id }: Holder, by: SpendDimension, reach: Reach): boolean =>
  id !== '' && ((holder === 'key' && by === 'model') || (holder === 'model' && by === 'key' && reach === 'all'));

/** Holders whose charges the books find at once: without reading those of all others, of a team for a day. */
const isSmall = ({ by, id }: Holder, { ms }: TimeRange): boolean =>
  id !== '' && (by === 'key' || by === 'user' || (by === 'team' && ms <= DAY_MS));

/** Whether the viewer has asked for an answer. @param what names it; another one is not asked for yet */
function useAsked(what: string): { readonly isAsked: boolean; ask(): void } {
  const [asked, setAsked] = useState('');
  return { isAsked: asked === what, ask: () => setAsked(what) };
}

/**
 * Spend in the range of the page and before, by a dimension, of all or of one holder: by traffic where that counts it, else by the books.
 * For those who see all they are asked at a click, and once: they add up quarters of an hour, which takes seconds with millions of requests.
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
  const before = useResource('/admin/usage', { ...query, ...daysOf(range.value, now, 1) }, { isWanted });
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
        ? { rows: sortedRows(rowsOfUsage(groupsIn(usage.data), groupsIn(before.data), by)), days }
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

/** How the address names an open row: one of no name has an ID, too. */
export const openText = (id: string): string => (id === '' ? '~' : id);

/** The actions that open a tab; null for the view's own. */
export const TAB_ACTIONS = {
  usage: null,
  months: null,
  budgets: 'ledger.read',
  payments: 'payments.read',
} as const satisfies Record<string, Action | null>;
export type MoneyTab = keyof typeof TAB_ACTIONS;
