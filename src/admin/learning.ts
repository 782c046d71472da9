import * as parts from '../core/api/parts.ts';
import type { LearningTables, ScoreMean, SourceSums } from '../store/learning.ts';
import { OUTCOME_SOURCES } from '../store/learning.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';

type Outcomes = Pick<LearningTables['outcomes'], 'means' | 'sums'>;

/** The services that the status of scores needs. */
export interface LearningServices {
  /** Reads the scores in one consistent state. Rejects with StoreError. */
  outcomes<T>(read: (outcomes: Outcomes) => Promise<T>): Promise<T>;
}

const places = (decimals: number) => ({ text: (figure: number) => figure.toFixed(decimals) });

export const LearningStatus = f.named('LearningStatus', 'The stored scores, with their means by model and task.', {
  mode: f.word(['off'], 'Always `off`: scores change no decision.', 'off'),
  estimator: f.text('Always `learned`.', 'learned'),
  outcomes: f.list(
    f.shape('A source.', {
      source: f.word(OUTCOME_SOURCES, 'Who judged the answer.'),
      outcomes: f.count('How many scores of this source are stored.', 214),
      learnt: parts.figure('The weight of these scores.', 180.5),
      withheld: f.count('Scores that an earlier version did not count because the key had reached its limit.', 0),
    }),
    'The stored scores, by source.',
  ),
  examples: f.count('Always 0.', 0),
  checkpoint: parts.shapeOrNull('Always null.', {
    through: parts.moment('The time of its last outcome.'),
    behind: parts.count('Later outcomes.', 2),
  }),
  brier: parts.shape('Always null.', {
    declared: parts.figureOrNull('The Brier score of the declared qualities.', 0.2104),
    estimated: parts.figureOrNull('The Brier score of the estimated qualities.', 0.1733),
  }),
  models: f.list(
    f.shape('The scores of a model.', {
      model: parts.modelId('ID of the model.'),
      task: f.inCommand(f.orNull(f.text('A task type.'), 'The task type; null for all tasks together.'), {
        none: 'all',
      }),
      outcomes: parts.figure('The weight of the model’s scores since the last reset.', 96),
      declared: f.inCommand(
        parts.share('The mean of the qualities that were declared for the scored requests.', 0.8),
        places(3),
      ),
      learnt: f.as('mean', f.inCommand(parts.share('The mean of the scores.', 0.84), places(3))),
      difference_points: f.inCommand(
        parts.figure('The mean of the scores minus the mean of the declared qualities, in hundredths.', 4),
        places(1),
      ),
    }),
    'Models with scores, by task.',
  ),
  keys: f.list(
    parts.shape('A key.', {
      key_id: parts.textOrNull('Null for all keys that are not counted one by one.', 'k7mw2pq9x4ta'),
      learnt: parts.figure('The weight of its outcomes, halved each week.', 180.5),
      share: parts.share('The share of the model in all weight.', 1),
      share_of_chats: parts.share('The share of the model in all chats.', 1),
      bound: parts.figureOrNull('The greatest weight that it may have; null for no bound.'),
      is_at_bound: parts.flag('Whether further outcomes of it do not count.'),
    }),
    'Always empty.',
  ),
  faults: parts.textList('Always empty.', []),
});

/** Members that earlier versions had because they learned from scores. These members always have the same values now. */
const NOTHING_LEARNED = {
  mode: 'off' as const,
  estimator: 'learned',
  examples: 0,
  checkpoint: null,
  brier: { declared: null, estimated: null },
  keys: [],
  faults: [],
};

/** A model’s mean over all tasks, then its mean for each task. */
const withAll = (byTask: readonly ScoreMean[]) => [{ ...byTask[0]!, ...sumOf(byTask), task: null }, ...byTask];

function sumOf(means: readonly ScoreMean[]) {
  const outcomes = means.reduce((sum, one) => sum + one.outcomes, 0);
  const meanOf = (figure: 'mean' | 'declared') =>
    means.reduce((sum, one) => sum + one.outcomes * one[figure], 0) / outcomes;
  return { outcomes, mean: meanOf('mean'), declared: meanOf('declared') };
}

const SOURCES: Readonly<Record<SourceSums['source'], string>> = {
  caller: 'by callers',
  checks: 'by checks of answers',
  retry: 'by retries',
};
const sourcesText = ({ outcomes }: { readonly outcomes: readonly Pick<SourceSums, 'source' | 'outcomes'>[] }) =>
  outcomes.length === 0
    ? 'No answer was scored yet. Score answers with POST /v1/feedback and their decision_id. See /docs/guide/route/learning.md of your server.\n'
    : `Stored scores: ${outcomes.map((one) => `${one.outcomes} ${SOURCES[one.source]}`).join(', ')}.\n`;

/** The operation of `GET /admin/learning` and `signalbox learn status`. */
export const showLearning = operationsOn<LearningServices>()({
  name: 'learn status',
  http: 'GET /admin/learning',
  action: 'learning.read',
  summary: 'Show scores by model and task',
  details:
    'Returns how many scores are stored, and the mean score of each model for each task. The members `mode`, `estimator`, `examples`, `checkpoint`, `brier`, `keys` and `faults` no longer have a meaning and always have the same value.',
  output: LearningStatus,
  answer: 'The status.',
  prints: {
    of: 'models',
    columns: ['model', 'task', 'outcomes', 'declared', 'learnt', 'difference_points'],
    sum: sourcesText,
  },
  run: ({ outcomes }) =>
    outcomes(async (table) => {
      const models = Map.groupBy(await table.means(), ({ model }) => model);
      return {
        ...NOTHING_LEARNED,
        outcomes: await table.sums(),
        models: [...models.values()]
          .flatMap(withAll)
          .map((one) => ({ ...one, differencePoints: 100 * (one.mean - one.declared) })),
      };
    }),
});
