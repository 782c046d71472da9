import { AT, bars, CHAT, CREDITS, curves, row, timeline } from './panels.ts';

const hourly = (metric: string, by: string): string =>
  `3600 * sum by (${by}) (rate(${metric}{${CHAT}}[$__rate_interval]))`;
/** Keys without the label that the policy chooses are shown as `(none)`, and so are all keys if the policy chooses none. */
const named = (query: string): string => `label_replace(${query}, "key_label", "(none)", "key_label", "")`;
const IN_USD = `* scalar(max(signalbox_usd_per_credit{${AT}}))`;
const LEFT = [
  [null, 'red'],
  [0.1, 'orange'],
  [0.25, 'green'],
] as const;

export const money = [
  row('Money'),
  curves({
    title: 'Spent by model',
    description: 'Credits an hour at the current rate.',
    unit: CREDITS,
    width: 8,
    min: 0,
    stacked: true,
    queries: [[hourly('signalbox_credits_spent_total', 'model'), '{{model}}']],
  }),
  curves({
    title: 'Spent by selector',
    description: 'Credits an hour at the current rate.',
    unit: CREDITS,
    width: 8,
    min: 0,
    stacked: true,
    queries: [[hourly('signalbox_credits_spent_total', 'selector'), '{{selector}}']],
  }),
  curves({
    title: 'Saved and spent against the baseline',
    description:
      'Credits an hour below (saved) and above (beyond) the cost with the baseline of the policy, by selector.',
    unit: CREDITS,
    width: 8,
    queries: [
      [hourly('signalbox_credits_saved_total', 'selector'), '{{selector}}, saved'],
      [`-${hourly('signalbox_credits_overspent_total', 'selector')}`, '{{selector}}, beyond'],
    ],
  }),
  curves({
    title: 'Spent by key label',
    description: 'USD an hour at the current rate, by the key label that metrics.key_label of the policy names.',
    unit: 'currencyUSD',
    width: 12,
    min: 0,
    stacked: true,
    queries: [[named(`${hourly('signalbox_credits_spent_total', 'key_label')} ${IN_USD}`), '{{key_label}}']],
  }),
  bars({
    title: 'Spent by key label over the range',
    description:
      'USD charged over the range shown, by the same key label. Exact figures are in the ledger: docs/spend/reports.md.',
    unit: 'currencyUSD',
    width: 12,
    min: 0,
    queries: [
      [
        named(`topk(20, sum by (key_label) (increase(signalbox_credits_spent_total{${CHAT}}[$__range]))) ${IN_USD}`),
        '{{key_label}}',
      ],
    ],
  }),
  bars({
    title: 'Budgets and balances: share left',
    description:
      'Share left after holds, for the subject of a budget with the least left, and for the balance that is used up next.',
    unit: 'percentunit',
    width: 8,
    min: 0,
    max: 1,
    steps: LEFT,
    queries: [
      [`min by (budget) (signalbox_budget_headroom_ratio{${AT}})`, '{{budget}}'],
      [`min(signalbox_balances_headroom_ratio{${AT}})`, 'balances'],
    ],
  }),
  curves({
    title: 'Budgets: spent and limit',
    description:
      'For the subject with the least left, in the current window. The figures jump when another subject has the least.',
    unit: CREDITS,
    width: 8,
    min: 0,
    queries: [
      [`max by (budget) (signalbox_budget_spent_credits{${AT}})`, '{{budget}}, spent'],
      [`max by (budget) (signalbox_budget_reserved_credits{${AT}})`, '{{budget}}, reserved'],
      [`max by (budget) (signalbox_budget_limit_credits{${AT}})`, '{{budget}}, limit'],
    ],
  }),
  curves({
    title: 'Budgets: subjects and refusals',
    description:
      'Subjects (keys, teams or all) that used a budget, subjects with nothing left, and refused requests a second.',
    unit: 'short',
    width: 8,
    min: 0,
    queries: [
      [`sum by (budget) (signalbox_budget_subjects_exhausted{${AT}})`, '{{budget}}, used up'],
      [`sum by (budget) (signalbox_budget_subjects{${AT}})`, '{{budget}}, subjects'],
      [`sum by (budget) (rate(signalbox_budget_refusals_total{${AT}}[$__rate_interval]))`, '{{budget}}, refused /s'],
    ],
  }),
  bars({
    title: 'Time until budgets renew',
    description: 'Time to the end of the current window. Budgets with the window total never renew and are not shown.',
    unit: 's',
    width: 4,
    min: 0,
    queries: [[`min by (budget) (signalbox_budget_renews_timestamp_seconds{${AT}}) - time()`, '{{budget}}']],
  }),
  curves({
    title: 'Reserved',
    description: 'Credits that running requests hold: the worst case of each.',
    unit: CREDITS,
    width: 4,
    min: 0,
    queries: [[`sum by (instance) (signalbox_credits_reserved{${AT}})`, '{{instance}}']],
  }),
  curves({
    title: 'Oldest hold',
    description: 'How long one request has held money of a budget, for the oldest hold of all subjects.',
    unit: 's',
    width: 4,
    min: 0,
    queries: [[`max by (budget) (signalbox_budget_oldest_reservation_seconds{${AT}})`, '{{budget}}']],
  }),
  curves({
    title: 'Holds and balances',
    description:
      'Open holds in total and for each budget, and balances of keys and wallets, with the balances that are used up.',
    unit: 'short',
    width: 4,
    min: 0,
    queries: [
      [`sum(signalbox_reservations_open{${AT}})`, 'holds open'],
      [`sum by (budget) (signalbox_budget_reservations_open{${AT}})`, '{{budget}}, open'],
      [`sum(signalbox_balances{${AT}})`, 'balances'],
      [`sum(signalbox_balances_exhausted{${AT}})`, 'balances used up'],
    ],
  }),
  curves({
    title: 'Capped outputs',
    description: 'Chats whose output limit a fund lowered. length: the answer reached the limit, or its money ran out.',
    unit: 'suffix: /s',
    width: 4,
    min: 0,
    queries: [
      [`sum by (fund, end) (rate(signalbox_chats_capped_total{${AT}}[$__rate_interval]))`, '{{fund}}, {{end}}'],
    ],
  }),
  curves({
    title: 'Waits for held money',
    description: 'Requests that waited for other requests to settle. gave_up and crowded got 429 budget_contended.',
    unit: 'suffix: /s',
    width: 4,
    min: 0,
    queries: [[`sum by (outcome) (rate(signalbox_contention_waits_total{${AT}}[$__rate_interval]))`, '{{outcome}}']],
  }),
];

export const payments = [
  row('Payments'),
  curves({
    title: 'Quotes',
    description: 'x402 quotes, by purpose.',
    unit: 'suffix: /s',
    width: 6,
    min: 0,
    queries: [[`sum by (purpose) (rate(signalbox_payment_quotes_total{${AT}}[$__rate_interval]))`, '{{purpose}}']],
  }),
  curves({
    title: 'Payments',
    description: 'captured: the money arrived. failed: no money moved.',
    unit: 'suffix: /s',
    width: 6,
    min: 0,
    queries: [
      [`sum by (network, state) (rate(signalbox_payments_total{${AT}}[$__rate_interval]))`, '{{network}} {{state}}'],
    ],
  }),
  curves({
    title: 'Paid in',
    description: 'Credits an hour paid in.',
    unit: CREDITS,
    width: 6,
    min: 0,
    queries: [
      [`3600 * sum by (network) (rate(signalbox_payments_credits_total{${AT}}[$__rate_interval]))`, '{{network}}'],
    ],
  }),
  curves({
    title: 'Unsettled payments',
    description: 'Payments with an unknown outcome. Signalbox queries the chain until it has an answer.',
    unit: 'short',
    width: 6,
    min: 0,
    queries: [[`sum by (network) (signalbox_payments_unsettled{${AT}})`, '{{network}}']],
  }),
  timeline({
    title: 'Networks',
    description: 'Whether each network can accept payments. Empty if the policy accepts none.',
    unit: 'short',
    width: 16,
    states: { 0: ['not ready', 'red'], 1: ['ready', 'green'] },
    queries: [[`min by (network) (signalbox_payment_network_ready{${AT}})`, '{{network}}']],
  }),
  bars({
    title: 'Gas',
    description: 'Last known balance of the gas key, as a multiple of the alarm threshold.',
    unit: 'suffix:×',
    width: 8,
    min: 0,
    decimals: 1,
    steps: [
      [null, 'red'],
      [1, 'orange'],
      [2, 'green'],
    ],
    queries: [[`min by (network) (signalbox_payment_gas_ratio{${AT}})`, '{{network}}']],
  }),
];
