import { Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';
import { HEALTH } from '../../core/readings.ts';
import { POLICY_ORIGINS } from '../../store/instance-reports.ts';
import { NEWS_SUBJECTS } from '../../store/news.ts';

const quantiles = (description: string, p50: number, p90: number) =>
  field.shapeOrNull(`${description} Null without measurements.`, {
    p50: field.figure('The median.', p50),
    p90: field.figure('The 90th percentile.', p90),
  });

const EndpointStatus = field.named('EndpointStatus', 'The health and speed of one upstream model at one provider.', {
  provider: field.text('Name of the provider in the policy.', 'openai'),
  model: field.text('ID of the model in the policy.', 'gpt-6-luna'),
  upstream: field.text('The provider’s name for the model.', 'gpt-6-luna-2026-09-01'),
  state: field.word(
    Object.keys(HEALTH),
    '`ejected`: the circuit breaker is open; `cooling`: after a 429; `misconfigured`: the provider refuses the key; `out_of_credit`: the account at the provider has no credit left.',
    'ejected',
  ),
  since: field.momentOrNull(
    'Since when it is in that state; null while it was in no other since this server started.',
    '2026-11-20T09:30:00.000Z',
  ),
  why: field.textOrNull('Why it is not healthy; null where it is.', '5 faults in a row; the last: timeout'),
  breaker: field.shape('Its circuit breaker.', {
    state: field.word(
      ['closed', 'open', 'half_open'],
      '`open` until `retry_at`, then `half_open`: one attempt may try, and its answer closes it.',
      'open',
    ),
    faults_in_a_row: field.count('Faults since the last complete answer.', 5),
    opens_at_faults_in_a_row: field.count('So many open it.', 5),
    recent_answers: field.count('Complete answers and faults of the last 10 seconds.', 6),
    recent_faults: field.count('The faults among them.', 5),
    opens_at_fault_share: field.share('This share of faults opens it, too.', 0.5),
    opens_from_answers: field.count('From so many answers and faults on.', 20),
  }),
  declared: field.orNull(
    field.shape('The speed by the policy.', {
      ttft_ms: field.milliseconds('Time to the first token, ms.', 400),
      warm_ttft_ms: field.milliseconds('The same with most of the prompt in the provider’s cache.', 200),
      tokens_per_second: field.figure('Rate of output.', 90),
      basis: field.word(
        ['stated', 'estimated', 'neutral'],
        '`stated` by the policy; else `estimated` from models of its kind, or `neutral`, the same for all.',
        'stated',
      ),
    }),
    'The speed that the policy declares, to compare with the measured one below.',
  ),
  recent_attempts: field.count('Attempts that ended in the last 15 minutes.', 96),
  recent_faults: field.count('Those among them that failed.', 3),
  recent_share: field.figureOrNull('Its share of the recent attempts at its model; null for none.', 0.75),
  retry_at: field.textOrNull(
    'The time from which it is tried again, ISO 8601, UTC. Null where it may be tried now.',
    '2026-11-20T09:30:12.000Z',
  ),
  ttft_ms: quantiles('Time to the first token, ms.', 412.5, 901),
  warm_ttft_ms: quantiles(
    'Time to the first token where most of the prompt was in the provider’s cache, ms.',
    180.2,
    333,
  ),
  tokens_per_second: quantiles('Rate of output.', 88.1, 120.4),
  attempts: field.mapOf(Type.Integer(), 'Attempts by outcome: `ok`, `dropped`, or the kind of failure.', {
    ok: 1_204,
    timeout: 7,
  }),
  retries: field.count('Attempts of requests that had tried this provider before.', 5),
  retries_denied: field.count('Retries that the provider’s retry budget denied.', 0),
  ejections: field.count('How often the circuit breaker opened.', 1),
  broken_declaration: field.orNull(
    field.shape('The broken declaration.', {
      since: field.moment('When it was first broken.', '2026-11-20T09:30:12.000Z'),
      excess_credits: field.credits('Billed beyond what was held, which nobody was charged.', 0.42),
      margin_tokens: field.tokens('As declared.', 64),
      margin_ms: field.milliseconds('As declared.', 250),
    }),
    'The `after_abort` that it has not kept: it is held whole until the policy declares another. Null for none.',
  ),
});

export const EndpointList = field.named(
  'EndpointList',
  'The endpoints of the policy in force.',
  field.listOf(EndpointStatus, 'By provider, model and upstream model.'),
);

export const InstanceStatus = field.named('InstanceStatus', 'This server among those of its database.', {
  version: field.text('The build that answers: its version and, behind the plus, its commit.', '0.2.0-dev+7e7a9e75'),
  policy_revision: field.text(
    'The policy in force here; instances of one database may differ while a policy is rolled out.',
    '95f1a7d5f908027b',
  ),
  slot: field.count('The number of its place, 0 to 127; 0 for the one server of a data folder.', 0),
  epoch: field.count('Grows with each server that takes the place.', 12),
  is_current: field.flag('Whether it may write. Where it may not, it refuses requests that cost.'),
  problem: field.textOrNull(
    'Where it may not write, what happened and what to do, in one sentence.',
    'The database cannot be written: another server has taken over this data folder; stop this one.',
  ),
  clock_offset_ms: Type.Integer({
    description:
      'The clock of the database less that of this server, in ms. IDs and windows of budgets go by the former.',
    examples: [0],
  }),
  copies: field.rows('What it keeps in memory of the database.', {
    subject: field.word(NEWS_SUBJECTS, 'What it is.', 'keys'),
    age_ms: field.wholeOrNull(
      'For how long a change by another server may be unknown, in ms; null before the first reading.',
      0,
    ),
  }),
});

export const ClusterStatus = field.named('ClusterStatus', 'The servers that run at this database.', {
  object: field.word(['cluster'], 'Always `cluster`.', 'cluster'),
  is_split: field.flag('Whether they run different policies, or one with different variables set.'),
  data: field.rows('By slot. On SQLite there is one.', {
    slot: field.count('The number of its place, 0 to 127.', 0),
    epoch: field.count('Grows with each server that takes the place.', 12),
    name: field.text('Its host and the ID of its process.', 'gateway-7d9f:1'),
    version: field.text('Its build.', '0.2.0-dev+7e7a9e75'),
    policy_revision: field.text('The policy in force there.', '95f1a7d5f908027b'),
    policy_since: field.moment('Since when it is.', '2026-11-20T09:30:00.000Z'),
    policy_rank: field.count('The rank of its budgets: the greatest decides the limits of all servers.', 7),
    policy_error: field.textOrNull(
      'Why the last policy that it read is not in force there.',
      'policy.yaml:3:5 unknown-key: `modles` is no key',
    ),
    policies_from: field.word(
      POLICY_ORIGINS,
      'Whether it follows its files, or the revisions that are pushed.',
      'files',
    ),
    pushed: field.wholeOrNull('The number of the pushed revision in force there; null for files.', 3),
    clock_offset_ms: Type.Integer({
      description: 'The clock of the database less its own, in ms, as it was when it last changed.',
      examples: [0],
    }),
    renewed: field.momentOrNull('When it last renewed its place; null on SQLite, where the lock of the folder is it.'),
  }),
});

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
