import { AT, curves, row } from './panels.ts';

export const scores = [
  row('Scores'),
  curves({
    title: 'Scores of answers',
    description: 'Scores that callers give in an hour.',
    unit: 'short',
    width: 24,
    min: 0,
    stacked: true,
    queries: [[`3600 * sum by (source) (rate(signalbox_outcomes_total{${AT}}[$__rate_interval]))`, '{{source}}']],
  }),
];
