import { AT, curves, row } from './panels.ts';

export const learning = [
  row('Learning'),
  curves({
    title: 'Outcomes by source',
    description: 'Outcomes an hour. Empty while learning is off.',
    unit: 'short',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`3600 * sum by (source) (rate(signalbox_outcomes_total{${AT}}[$__rate_interval]))`, '{{source}}']],
  }),
  curves({
    title: 'Quality: error of estimates',
    description: 'Brier score against the latest scores of callers. Learning helps while estimated is below declared.',
    unit: 'short',
    width: 8,
    min: 0,
    decimals: 4,
    queries: [[`avg by (figure) (signalbox_quality_brier{${AT}})`, '{{figure}}']],
  }),
  curves({
    title: 'Explored, withheld and failed',
    description:
      'An hour: chats with an explored model, outcomes beyond the share of a key, and faults of the estimator.',
    unit: 'short',
    width: 8,
    min: 0,
    queries: [
      [
        `3600 * sum by (selector) (rate(signalbox_explored_total{${AT}, selector=~"$selector"}[$__rate_interval]))`,
        '{{selector}}, explored',
      ],
      [`3600 * sum(rate(signalbox_outcomes_withheld_total{${AT}}[$__rate_interval]))`, 'withheld'],
      [`3600 * sum(rate(signalbox_estimator_faults_total{${AT}}[$__rate_interval]))`, 'estimator failed'],
    ],
  }),
];
