import { gaugeBy, total, totalBy } from '../telemetry/counts.ts';
import type { Family } from '../telemetry/families.ts';
import type { Learner } from './learner.ts';

/** Metrics on how much is learned, from which sources, and whether it improves the estimates. */
export function learningFamilies(learner: Pick<Learner, 'activity'>): readonly Family[] {
  return [
    totalBy('signalbox_outcomes_total', 'Outcomes of answers, by source.', 'source', () => [
      ['caller', learner.activity.scores],
    ]),
    total(
      'signalbox_outcomes_withheld_total',
      'Outcomes of keys that used up their share.',
      () => learner.activity.withheld,
    ),
    gaugeBy('signalbox_quality_brier', 'Mean squared error of quality against recent scores.', 'figure', () =>
      Object.entries(learner.activity.brier),
    ),
    total('signalbox_estimator_faults_total', 'Failures of the estimator plugin.', () => learner.activity.faults),
  ];
}
