import { modelId } from '../core/decision/shared-fields.ts';
import * as f from '../core/define/fields.ts';
import type { LearningTables, ScoreMean } from '../store/learning.ts';
import { operationsOn } from './kit/operation.ts';

/** The scores that the status reads. */
export type Outcomes = Pick<LearningTables['outcomes'], 'means' | 'count'>;

/** The services that the status of scores needs. */
export interface LearningServices {
  /** Reads the scores in one consistent state. Rejects with StoreError. */
  outcomes<T>(read: (outcomes: Outcomes) => Promise<T>): Promise<T>;
}

const places = (decimals: number) => ({ text: (figure: number) => figure.toFixed(decimals) });

export const LearningStatus = f.named('LearningStatus', 'The stored scores, with their means by model and task.', {
  outcomes: f.count('How many scores are stored.', 214),
  models: f.list(
    f.shape('The scores of a model.', {
      model: modelId('ID of the model.'),
      task: f.inCommand(f.orNull(f.text('A task type.'), 'The task type; null for all tasks together.'), {
        none: 'all',
      }),
      outcomes: f.count('The number of scores since the last reset.', 96),
      declared: f.inCommand(
        f.share('The mean of the qualities that were declared for the scored requests.', 0.8),
        places(3),
      ),
      learnt: f.as('mean', f.inCommand(f.share('The mean of the scores.', 0.84), places(3))),
      difference_points: f.inCommand(
        f.figure('The mean of the scores minus the mean of the declared qualities, in hundredths.', 4),
        places(1),
      ),
    }),
    'Models with scores, by task.',
  ),
});

/** A model’s mean over all tasks, then its mean for each task. */
const withAll = (byTask: readonly ScoreMean[]) => [{ ...byTask[0]!, ...sumOf(byTask), task: null }, ...byTask];

function sumOf(means: readonly ScoreMean[]) {
  const outcomes = means.reduce((sum, one) => sum + one.outcomes, 0);
  const meanOf = (figure: 'mean' | 'declared') =>
    means.reduce((sum, one) => sum + one.outcomes * one[figure], 0) / outcomes;
  return { outcomes, mean: meanOf('mean'), declared: meanOf('declared') };
}

const countText = ({ outcomes }: { readonly outcomes: number }) =>
  outcomes === 0
    ? 'No answer was scored yet. Score answers with POST /v1/feedback and their decision_id. See /docs/guide/route/learning.md of your server.\n'
    : `Stored scores: ${outcomes}.\n`;

/** The operation of `GET /admin/learning` and `signalbox learn status`. */
export const showLearning = operationsOn<LearningServices>()({
  name: 'learn status',
  use: 'to compare models by the scores of your callers.',
  example: 'learn status',
  http: 'GET /admin/learning',
  action: 'learning.read',
  summary: 'Show scores by model and task',
  details: 'Returns how many scores are stored, and the mean score of each model for each task.',
  output: LearningStatus,
  answer: 'The status.',
  prints: {
    of: 'models',
    columns: ['model', 'task', 'outcomes', 'declared', 'learnt', 'difference_points'],
    sum: countText,
  },
  run: ({ outcomes }) =>
    outcomes(async (table) => {
      const models = Map.groupBy(await table.means(), ({ model }) => model);
      return {
        outcomes: await table.count(),
        models: [...models.values()]
          .flatMap(withAll)
          .map((one) => ({ ...one, differencePoints: 100 * (one.mean - one.declared) })),
      };
    }),
});
