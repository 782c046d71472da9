import * as field from '../../api/parts.ts';

const quality = (description: string, example: number) => field.figureOrNull(description, example);

export const LearningStatus = field.named('LearningStatus', 'The stored scores, with their means by model and task.', {
  mode: field.word(['off'], 'Always `off`: scores change no decision.', 'off'),
  estimator: field.text('Always `learned`.', 'learned'),
  outcomes: field.rows('By source.', {
    source: field.word(['caller', 'checks', 'retry'], 'Who judged the answer.'),
    outcomes: field.count('How many are stored.', 214),
    learnt: field.figure('The weight of these outcomes.', 180.5),
    withheld: field.count('Scores that an earlier version did not count because the key had reached its limit.', 0),
  }),
  examples: field.count('Always 0.', 0),
  checkpoint: field.shapeOrNull('Always null.', {
    through: field.moment('The time of its last outcome.'),
    behind: field.count('Later outcomes.', 2),
  }),
  brier: field.shape('Always null.', {
    declared: quality('Of the declared qualities.', 0.2104),
    estimated: quality('Of the estimated qualities.', 0.1733),
  }),
  models: field.rows('Models with scores, by task.', {
    model: field.modelId('ID of the model.'),
    task: field.textOrNull('Null for all tasks together.'),
    outcomes: field.figure('The weight of its scores since the last reset.', 96),
    declared: field.share('The mean of the qualities that were declared for the scored requests.', 0.8),
    learnt: field.share('The mean of the scores.', 0.84),
    difference_points: field.figure('The difference, in hundredths.', 4),
  }),
  keys: field.rows('Always empty.', {
    key_id: field.textOrNull('Null for all keys that are not counted one by one.', 'k7mw2pq9x4ta'),
    learnt: field.figure('The weight of its outcomes, halved each week.', 180.5),
    share: field.share('Its share of all weight.', 1),
    share_of_chats: field.share('Its share of all chats.', 1),
    bound: field.figureOrNull('The greatest weight that it may have; null for no bound.'),
    is_at_bound: field.flag('Whether further outcomes of it do not count.'),
  }),
  faults: field.textList('Always empty.', []),
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
