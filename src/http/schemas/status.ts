import * as field from '../../api/parts.ts';

const quality = (description: string, example: number) => field.figureOrNull(description, example);

export const LearningStatus = field.named('LearningStatus', 'The results of learning from outcomes.', {
  mode: field.word(['off', 'shadow', 'on'], '`shadow` learns without changing decisions.', 'on'),
  estimator: field.text('The plugin that learns.', 'learned'),
  outcomes: field.rows('By source.', {
    source: field.word(['caller', 'checks', 'retry'], 'Who judged the answer.'),
    outcomes: field.count('How many are stored.', 214),
    learnt: field.figure('The weight of these outcomes.', 180.5),
    withheld: field.count('Scores that did not count because the key had reached its limit.', 3),
  }),
  examples: field.count('Answers that can still be scored.', 51),
  checkpoint: field.shapeOrNull('The last stored memory; null before the first.', {
    through: field.moment('The time of its last outcome.'),
    behind: field.count('Later outcomes.', 2),
  }),
  brier: field.shape('Mean squared errors against the latest scores of callers; null before any.', {
    declared: quality('Of the declared qualities.', 0.2104),
    estimated: quality('Of the estimated qualities.', 0.1733),
  }),
  models: field.rows('Models with outcomes.', {
    model: field.modelId('ID of the model.'),
    task: field.textOrNull('Null for all tasks together.'),
    outcomes: field.figure('The weight of its outcomes.', 96.5),
    declared: field.share('The quality that the policy declares.', 0.8),
    learnt: field.share('The quality with the outcomes.', 0.84),
    difference_points: field.figure('The difference, in hundredths.', 4),
  }),
  keys: field.rows('Keys by weight, the largest first.', {
    key_id: field.textOrNull('Null for all keys that are not counted one by one.', 'k7mw2pq9x4ta'),
    learnt: field.figure('The weight of its outcomes, halved each week.', 180.5),
    share: field.share('Its share of all weight.', 1),
    share_of_chats: field.share('Its share of all chats.', 1),
    bound: field.figureOrNull('The greatest weight that it may have; null for no bound.'),
    is_at_bound: field.flag('Whether further outcomes of it do not count.'),
  }),
  faults: field.textList('Failures of the estimator, as sentences.', []),
});

export const Health = field.named('Health', 'The process answers.', {
  status: field.always('ok'),
});

export const Readiness = field.named('Readiness', 'Whether requests should be sent here.', {
  status: field.word(
    ['ready', 'draining', 'unwritable'],
    '`draining`, with status 503, while the server is stopping. `unwritable`, with status 503, while the database cannot be written: the disk is full or broken, or another server has taken over the data folder.',
  ),
  policy_revision: field.policyRevision,
  models: field.count('How many models can be served.', 4),
  policy: field.shape('Whether the last edit of the policy is in force.', {
    state: field.word(
      ['in_force', 'edit_refused'],
      '`edit_refused`: the files have mistakes, and the previous policy stays in force.',
    ),
    message: field.text(
      'The result of the last reload. `GET /admin/policy` has the details.',
      'The policy is in force.',
    ),
  }),
});
