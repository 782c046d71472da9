import { OUTCOME_SOURCES } from '../store/learning.ts';
import { total } from '../telemetry/counts.ts';
import type { Family, PlainFamily } from '../telemetry/families.ts';
import type { Learner } from './learner.ts';

/** Metrics on how much is learned, from which sources, and whether it improves the estimates. */
export function learningFamilies(learner: Pick<Learner, 'activity'>): readonly Family[] {
  const outcomes: PlainFamily = {
    name: 'signalbox_outcomes_total',
    type: 'counter',
    help: 'Outcomes of answers, by source.',
    labels: ['source'],
    samples: () => OUTCOME_SOURCES.map((source) => [{ source }, learner.activity.outcomes.get(source) ?? 0] as const),
  };
  const brier: PlainFamily = {
    name: 'signalbox_quality_brier',
    type: 'gauge',
    help: 'Mean squared error of quality against recent scores.',
    labels: ['figure'],
    *samples() {
      for (const [figure, value] of Object.entries(learner.activity.brier)) {
        if (Number.isFinite(value)) yield [{ figure }, value];
      }
    },
  };
  return [
    outcomes,
    total(
      'signalbox_outcomes_withheld_total',
      'Outcomes of keys that used up their share.',
      () => learner.activity.withheld,
    ),
    brier,
    total('signalbox_estimator_faults_total', 'Failures of the estimator plugin.', () => learner.activity.faults),
  ];
}
