import { toCredits } from '../core/money/credits.ts';
import { gauge, gaugeBy, oncePerTurn, spread, totalBy } from '../host/telemetry/counts.ts';
import type { Family } from '../host/telemetry/families.ts';
import { WAIT_BOUNDS } from './contention.ts';
import type { Ledger } from './ledger.ts';
import { type BalancesSample, type BudgetSample, type LedgerSample, ratioLeft } from './sample.ts';

/** The figures of a budget are the figures of its fullest window, because the subject of that window is refused first. */
const TIGHTEST = ', of the subject with the least left';

/** The metrics of holds, of the money left in budgets and balances, and of waits for money. */
export function ledgerFamilies(ledger: Pick<Ledger, 'sample'>): readonly Family[] {
  const sample = oncePerTurn(() => ledger.sample());
  return [
    ...moneyFamilies(sample),
    ...balanceFamilies(sample),
    ...budgetFamilies(sample),
    ...contentionFamilies(sample),
  ];
}

/** True for a metric about funds. Every server that shares the database reports the same value for such a metric. */
export const isOfFunds = (family: string): boolean =>
  /^signalbox_(?:balances(?:_|$)|budget_(?!refusals_total$))/.test(family);

type SampleReader = () => LedgerSample;

function moneyFamilies(sample: SampleReader): Family[] {
  return [
    gauge('signalbox_reservations_open', 'Open holds.', () => sample().open),
    gauge('signalbox_credits_reserved', 'Credits that open holds set aside.', () => toCredits(sample().held)),
    gauge(
      'signalbox_contention_waiting',
      'Requests waiting for Credits that other requests hold.',
      () => sample().waiting,
    ),
  ];
}

/** The figures are sums over all balances, except for the tightest balance, because metrics name no caller. */
function balanceFamilies(sample: SampleReader): Family[] {
  const figure = (name: string, help: string, of: (balances: BalancesSample) => number) =>
    gauge(`signalbox_${name}`, help, () => of(sample().balances));
  return [
    figure('balances', 'Keys and wallets with a balance.', ({ holders }) => holders),
    figure('balances_exhausted', 'Balances that are used up.', ({ exhausted }) => exhausted),
    figure('balances_limit_credits', 'Credits granted to balances and paid into them.', ({ total }) =>
      toCredits(total.limit),
    ),
    figure('balances_spent_credits', 'Credits spent from balances.', ({ total }) => toCredits(total.spent)),
    figure('balances_reserved_credits', 'Credits of balances that open holds set aside.', ({ total }) =>
      toCredits(total.held),
    ),
    figure('balances_reservations_open', 'Open holds on balances.', ({ open }) => open),
    figure(
      'balances_oldest_reservation_seconds',
      'Age of the oldest open hold on a balance.',
      ({ oldestMs }) => oldestMs / 1_000,
    ),
    figure(
      'balances_headroom_ratio',
      'Share of Credits left in the balance with the smallest share that is not used up.',
      (of) => (of.tightest === null ? Number.NaN : ratioLeft(of.tightest)),
    ),
  ];
}

function budgetFamilies(sample: SampleReader): Family[] {
  const figure = (name: string, help: string, of: (budget: BudgetSample) => number) =>
    gaugeBy(`signalbox_budget_${name}`, help, 'budget', () =>
      sample().budgets.map((one) => [one.name, of(one)] as const),
    );
  const left = ({ limit, spent, held }: BudgetSample) => toCredits(limit - spent - held);
  return [
    figure('limit_credits', `Limit in Credits${TIGHTEST}.`, ({ limit }) => toCredits(limit)),
    figure('spent_credits', `Credits spent in the current window${TIGHTEST}.`, ({ spent }) => toCredits(spent)),
    figure('reserved_credits', `Credits that holds and payments set aside${TIGHTEST}.`, ({ held }) => toCredits(held)),
    figure('headroom_credits', `Limit minus spent and held Credits${TIGHTEST}.`, left),
    figure('headroom_ratio', `Headroom as a share of the limit${TIGHTEST}.`, ratioLeft),
    figure('reservations_open', 'Open holds, of all subjects.', ({ open }) => open),
    figure('oldest_reservation_seconds', 'Age of the oldest open hold.', ({ oldestMs }) => oldestMs / 1_000),
    figure('subjects', 'Subjects that spent Credits in the current window.', ({ subjects }) => subjects),
    figure('subjects_exhausted', 'Subjects with at most 1 % of their limit left.', (one) => one.exhausted),
    figure(
      'renews_timestamp_seconds',
      'Unix time at which the next window begins, if any.',
      ({ ends }) => ends / 1_000,
    ),
    totalBy(
      'signalbox_budget_refusals_total',
      'Requests refused because the budget had too little left.',
      'budget',
      () => sample().refusals,
    ),
  ];
}

function contentionFamilies(sample: SampleReader): Family[] {
  return [
    totalBy('signalbox_contention_waits_total', 'Waits for Credits, by outcome.', 'outcome', () =>
      Object.entries(sample().waits),
    ),
    spread('signalbox_contention_wait_seconds', 'Duration of waits for Credits.', WAIT_BOUNDS, () => sample().waited),
  ];
}
