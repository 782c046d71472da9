import type { ExhaustedAction, WindowKind } from './budget.ts';

/** This file writes budgets for people. JSON members, metrics and the log name a budget by its ID instead. */

/** Writes a time zone for people: `Berlin time`, `UTC`, `UTC+02:00`. */
export function timeZoneText(timeZone: string): string {
  if (/^[+-]/.test(timeZone)) return `UTC${timeZone}`;
  // The signs of `Etc/GMT+5` are the opposite of what people expect, so only the whole name is clear.
  if (timeZone.startsWith('Etc/') && timeZone !== 'Etc/UTC') return timeZone;
  const city = timeZone.slice(timeZone.lastIndexOf('/') + 1).replaceAll('_', ' ');
  return city === 'UTC' ? city : `${city} time`;
}

/** The words after the amount or the name of a budget: its time zone, unless that is UTC or the window never ends. */
const inZone = (window: WindowKind, timeZone: string): string =>
  window === 'total' || timeZone === 'UTC' ? '' : `, ${timeZoneText(timeZone)}`;

const PER: Readonly<Record<WindowKind, string>> = {
  day: 'a day',
  week: 'a week',
  month: 'a month',
  total: 'in total',
  every: 'in each window',
};
/** Writes the window of a budget after its amount: `a day`, `in total`. */
export const perWindow = (window: WindowKind): string => PER[window];

/** Writes the length of a window: `30d`, `12h`, `15m`. */
export function lengthText(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400}d`;
  return seconds % 3_600 === 0 ? `${seconds / 3_600}h` : `${seconds / 60}m`;
}

const THEN: Readonly<Record<ExhaustedAction, string>> = {
  cap: 'then shorter answers',
  reject: 'then refusals',
  downgrade: 'then cheaper models',
};

/** A budget as JSON states it. */
export interface StatedBudget {
  readonly limit_credits: number;
  /** The same amount as an exact decimal; null if the worth of a Credit is unknown. */
  readonly limit_usd: string | null;
  readonly window: WindowKind;
  readonly time_zone: string;
  readonly on_exhausted: ExhaustedAction;
  /** When the budget ends, ISO 8601; absent for never. */
  readonly until?: string;
  /** The length of a window and the beginning of one, for the window `every`. */
  readonly every?: { readonly seconds: number; readonly from: string };
  /** The amount spent at another gateway; absent for nothing. */
  readonly opening?: { readonly spent_credits: number };
}

/** Writes when a budget ends: `; ends at 2026-11-29 00:00 UTC`. Empty for a budget that never ends. */
const endText = (until: string | undefined): string => (until === undefined ? '' : `; ends at ${minuteText(until)}`);

const minuteText = (moment: string): string => `${moment.slice(0, 16).replace('T', ' ')} UTC`;

/** Writes the terms of a budget: `20,000 Credits (20 USD) a month, Berlin time, then cheaper models`. */
export function budgetTermsText({ window, time_zone, on_exhausted, until, ...limit }: StatedBudget): string {
  const { every, opening } = limit;
  const per = every ? `every ${lengthText(every.seconds)} from ${minuteText(every.from)}` : PER[window];
  const before = opening ? `; ${bothAmounts(opening.spent_credits, null)} spent before the import` : '';
  const then = limit.limit_credits === 0 ? 'only for free requests' : THEN[on_exhausted];
  const amount = bothAmounts(limit.limit_credits, limit.limit_usd);
  return `${amount} ${per}${inZone(window, time_zone)}, ${then}${endText(until)}${before}`;
}

/** Writes an amount in both units: `20,000 Credits (20 USD)`. */
export const bothAmounts = (credits: number, usd: string | null): string => {
  const text = `${credits.toLocaleString('en', { maximumFractionDigits: 6 })} ${Math.abs(credits) === 1 ? 'Credit' : 'Credits'}`;
  return usd === null ? text : `${text} (${usd} USD)`;
};

const WALLET = /^0x[0-9a-f]{40}$/;

/** A budget or a balance to name. */
export interface FundToName {
  readonly kind: 'budget' | 'balance';
  /** The name in JSON. For a balance: the ID or the name of its key, or the address of its wallet. */
  readonly name: string;
  /** Whose share of the budget this is, as an ID or a name; '' for a shared budget and for a balance. */
  readonly subject: string;
  /** The level that the budget belongs to; null for a budget of the policy. */
  readonly holder: 'organization' | 'team' | 'user' | 'key' | null;
  readonly window: WindowKind | null;
  readonly timeZone: string | null;
}

/**
 * Names a budget or a balance for people: `month of team search, Berlin time`, `balance of key k7mw2pq9x4ta`. A budget of the policy keeps the
 * name that its author gave it: `team-month of search`.
 */
export function fundText({ kind, name, subject, holder, window, timeZone }: FundToName): string {
  if (kind === 'balance') return `balance of ${WALLET.test(name) ? 'wallet' : 'key'} ${name}`;
  if (holder === null || window === null) return subject === '' ? name : `${name} of ${subject}`;
  const owner = holder === 'organization' ? 'the organization' : `${holder} ${subject}`;
  const words = window === 'every' ? (EVERY.exec(name)?.[1] ?? window) : window;
  return `${words} of ${owner}${inZone(window, timeZone ?? 'UTC')}`;
}

/** The length of the windows in the name of a budget. */
const EVERY = /-every-(\d+[dhm])-/;

/** The ID of a budget of a key. No budget of a policy may have such a name. */
const OF_KEY = /^key-(day|week|month|total)(?:@([^:]+(?::\d\d)?))?(?::(?:cap|downgrade))?$/;
const ADJECTIVES: Readonly<Record<string, string>> = { day: 'daily ', week: 'weekly ', month: 'monthly ' };

/** Names the fund that caps an output, within a sentence. @param id as `cappingName` returns it */
export function cappingText(id: string): string {
  if (id === 'balance') return 'the balance';
  const [, window, zone = 'UTC'] = OF_KEY.exec(id) ?? [];
  if (window === undefined) return `budget \`${id}\``;
  return `the ${ADJECTIVES[window] ?? ''}budget of the key${zone === 'UTC' || window === 'total' ? '' : ` (${timeZoneText(zone)})`}`;
}
