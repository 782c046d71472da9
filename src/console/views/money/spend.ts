import { useState } from 'preact/hooks';
import type { Action } from '../../../admin/use-cases/roles.ts';
import type { ReadOf } from '../../api/reads.ts';
import { RENEWAL_MS, type Resource, useResource } from '../../api/resource.ts';
import { dayOf } from '../../shell/days.ts';
import { endsOf, range, type TimeRange, viewerZone } from '../../shell/range.ts';
import { mayGroup } from '../../shell/session.ts';
import { trafficQuery } from '../../shell/traffic.ts';

/** The dimension by which spend is divided. A label dimension has the label's name after the colon. */
export type SpendDimension = 'key' | 'team' | 'user' | 'model' | 'provider' | 'task' | `label:${string}`;

export interface Amount {
  readonly usd: string;
  readonly credits: number;
}

export type SpendReport = ReadOf<'/admin/spend'>;
/** The spend of a key, team, model …. */
export type SpenderRow = SpendReport['rows'][number];
export type Sums = SpenderRow['whole'];

/** The savings against the baseline; null if they are not known. */
export const savedOf = ({ saved_usd, saved_credits }: Sums): Amount | null =>
  saved_usd === null || saved_credits === null ? null : { usd: saved_usd, credits: saved_credits };

/** Whether a dimension is a label whose name the viewer has not stated yet. */
const isUnnamed = (by: SpendDimension): boolean => by === 'label:';

/** Whether the viewer may read the course of spend by a dimension. */
export const hasCourse = (by: SpendDimension): boolean => !isUnnamed(by) && mayGroup('traffic', by);

/** Whether the viewer may read charges by a dimension in any time zone, and together with a second dimension. */
export const hasCharges = (by: SpendDimension): boolean => !isUnnamed(by) && mayGroup('ledger', by);

/** The dimensions that a viewer can select. */
export const dimensionsOfViewer = (): readonly SpendDimension[] =>
  (['key', 'team', 'user', 'model', 'provider', 'task', 'label:'] as const).filter((by) => mayGroup('spend', by));

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

/** The name of a row, also for spend without a value. */
export const nameOf = ({ name }: Pick<SpenderRow, 'name'>, by: SpendDimension): string => name || noneOf(by);

/** The whole days that a range touches, for exports; `to` is the day after the last day. */
export function daysOf(of: TimeRange, now: number): { readonly from: string; readonly to: string } {
  const { from, to } = endsOf(of, now);
  const end = new Date((to ?? now) - (to === null ? 0 : 1));
  end.setDate(end.getDate() + 1);
  return { from: dayOf(new Date(from)), to: dayOf(end) };
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

/** The part of a query that selects the spend of one key, team, model …. */
const holderText = ({ by, id }: Holder): string => `${by}=${id}`;

interface Spend extends Resource<SpendReport> {
  /** Requests figures of the ledger that take seconds; null if the answer has its figures. */
  readonly count: (() => void) | null;
}

/**
 * Reads spend in the selected range and the range before, by a dimension, for everything or for one holder. The server takes it from traffic
 * or from the ledger. If the ledger would need seconds, the viewer must click first.
 */
export function useSpend(by: SpendDimension, of: Holder | null = null): Spend {
  const { from, to } = trafficQuery(range.value, Date.now(), {});
  const query = { by, of: of && holderText(of), from, to, time_zone: viewerZone() };
  const name = JSON.stringify([by, query.of, range.value.label]);
  const [counted, setCounted] = useState('');
  const [isLive, setLive] = useState(false);
  const spend = useResource(
    '/admin/spend',
    { ...query, count: counted === name ? 'true' : null },
    { every: isLive ? RENEWAL_MS : null, isWanted: by !== 'label:' },
  );
  // Only figures of traffic are fast enough to be read again and again.
  const isTraffic = spend.data?.source === 'traffic';
  if (isTraffic !== isLive) setLive(isTraffic);
  return { ...spend, count: spend.data?.counted === false ? () => setCounted(name) : null };
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
