import { Type } from '@sinclair/typebox';
import { ERROR_CODES } from '../core/api/error-schema.ts';
import * as field from '../core/api/parts.ts';
import { Platform } from '../core/api/platform.ts';
import { DECISION_STATUSES } from '../core/decision-record.ts';
import { Usage } from '../dialects/openai-chat/completion-schema.ts';
import { CERTIFICATE, Readings, Replay } from './certificate.ts';
import { Facts } from './decision-facts.ts';
import { ofKey } from './decision-list.ts';

const firstPart = (from: string) =>
  field.wholeOrNull(`From ${from} to the first content, in ms; null when none came.`, 430);

const Attempt = Type.Object({
  model: field.modelId('The model asked.'),
  provider: field.text('The provider asked.', 'openai'),
  upstream: field.text('The provider’s own name of the model.', 'gpt-6-luna'),
  endpoint: field.wholeOrNull('Which of the model’s endpoints it was, from 0; null in old records.', 0),
  start_ms: field.wholeOrNull('From admission to sending, in ms; null in old records.', 4),
  ms: field.milliseconds('From sending to the end.', 1_840),
  first_part_ms: firstPart('sending'),
  failure: field.orNull(field.failureKind, 'Null for a success.'),
  request_id: field.upstreamRequestId,
  finish_reasons: field.rawFinishReasons,
});

const Outcome = Type.Object({
  status: field.word(
    ['completed', 'failed', 'broken', 'abandoned'],
    '`failed`: no attempt returned content. `broken`: the answer was cut off. `abandoned`: the caller disconnected, the server stopped, or it had no memory left for the answer.',
  ),
  error: field.orNull(field.word(ERROR_CODES, 'A code.'), 'The error that the caller received, if it failed.'),
  attempts: field.arrayOf(Attempt, 'In the order in which they were made.'),
  usage: field.orNull(Usage, 'The usage of the attempt that produced the answer; null without one.'),
  estimated: field.flag('True when tokens were counted here.'),
  credits_consumed: field.credits('Charged for the request.', 0.09),
  cost_saved_credits: field.credits('Against the baseline model; negative when the choice cost more.', 0.081),
  runner_up_cost_credits: field.figureOrNull(
    'What the same tokens would have cost on the runner-up; null without one. In Credits.',
    0.028,
  ),
  baseline_cost_credits: field.figureOrNull(
    'What the same tokens would have cost on the baseline model; null for a pinned model. In Credits.',
    0.171,
  ),
  first_part_ms: firstPart('admission'),
  total_ms: field.milliseconds('From admission to the end.', 1_850),
  output_capped_by: field.textOrNull(
    field.cappedByText('the cap on the output, whether the answer reached it or not', 'Null'),
    null,
  ),
  usage_replaced: field.flag(
    'True when the answer went out as it came, but for its usage: the provider’s is missing or cannot be true, so the gateway’s count stood there.',
    false,
  ),
  adapted: field.arrayOf(
    Type.String(),
    'Fields of the request that reached the model in another form, as in `platform.adapted`.',
    [],
  ),
});

/** A record keeps no name that a caller words. */
const Receipt = Type.Object(Type.Omit(Platform, ['dropped']).properties);

export const Decision = field.named('Decision', 'Why a model was chosen, and the outcome.', {
  id: field.decisionId,
  object: field.always('decision'),
  created: field.unixTime('When it was written. While the request runs: when it was decided.'),
  time: field.moment('The same, to the millisecond.'),
  ...ofKey,
  kind: field.word(['chat', 'embed', 'route'], 'A completion, embeddings, or a recommendation.'),
  status: field.word(
    DECISION_STATUSES,
    'How its execution ended, as `outcome.status`; `recommended` for a route query, which executes nothing. `running`: the request has not ended.',
  ),
  sent_by: field.textOrNull(
    'Who sent the request by `POST /admin/playground`: the ID of a user, or of the key; null for a request with the key itself, and for a key with the scope `report`.',
  ),
  session: field.textOrNull('The session that the request names; null for none.'),
  agent: field.textOrNull('The agent of that session; null for none, or the first one.'),
  parent_agent: field.textOrNull('The agent that started it; null for none.'),
  policy_revision: field.policyRevision,
  seed: field.text('The random seed of the decision: 64 bits, hexadecimal.', '9f2c51d07be83a64'),
  route_reason: field.routeReason,
  choice: field.modelId('The model chosen.'),
  fallbacks: field.textList('Models to try next, best first.', ['mistral-small-4']),
  last_resorts: field.textList(
    'Models with endpoints that a breaker has ejected, best first: tried when all others have failed.',
    [],
  ),
  facts: Facts,
  readings: Readings,
  quality: field.mapOf(
    Type.Number({ minimum: 0, maximum: 1 }),
    'Expected share of good answers of every model for this request, by ID, from 0 to 1; of a wildcard’s model none. If the decision cannot be repeated, languages and preferences are included, and it is empty where no estimate corrected what the policy declares.',
    { 'gpt-6-luna': 0.71, 'gpt-6-astra': 0.93 },
  ),
  left_out: field.orNull(
    Type.Array(Type.String(), { examples: [['openai (OPENAI_API_KEY is not set)']] }),
    'Providers that could not serve at that time, each with the reason. Null for a key without the scope `admin`, and if the decision cannot be replayed.',
  ),
  replay: Replay,
  ...CERTIFICATE,
  outcome: field.orNull(
    Outcome,
    'The outcome; null for a route query, which executes nothing, and while the request runs.',
  ),
  trace_url: field.textOrNull(
    'Where people find its trace, by `console.trace_url` of the policy in force; null without that, and on `/v1`.',
    null,
  ),
  receipt: field.orNull(
    Receipt,
    'The `platform` object that the caller received; null for a route query, and while the request runs.',
  ),
});

export const DecisionRepeat = field.named(
  'DecisionRepeat',
  'A recorded request as the policy in force decides it. Nothing of it is recorded.',
  {
    decision_id: field.decisionId,
    object: field.always('decision.repeat'),
    policy_revision: field.text('The policy in force.', '95f1a7d5f908027b'),
    route_reason: field.textOrNull('Why the model is chosen; null for a refusal.', 'auto:balanced'),
    choice: field.textOrNull('The model that is chosen now; null for a refusal.', 'gpt-6-luna'),
    recorded_choice: field.modelId('The model that was chosen.'),
    refusal: field.shapeOrNull(
      'The error of a refusal; null for a decision.',
      {
        code: field.word(ERROR_CODES, 'A code.', 'no_eligible_model'),
        message: field.text('It in words.', 'No model can serve this request.'),
      },
      null,
    ),
    ...CERTIFICATE,
  },
);
