import { Type } from '@sinclair/typebox';
import { ERROR_CODES } from '../api/error-schema.ts';
import * as field from '../api/parts.ts';
import { Platform } from '../api/platform.ts';
import { CAPABILITY_NAMES } from '../core/capability.ts';
import { DIFFICULTIES } from '../core/facts.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import { Usage } from '../surface/openai-chat/completion-schema.ts';
import { CERTIFICATE, cachedTokens, Readings, Replay } from './certificate.ts';
import { ofKey } from './decision-list.ts';

export const Facts = field.shape('The facts that the decision was based on. They contain no text of the request.', {
  operation: field.word(OPERATION_NAMES, 'The operation of the request.'),
  model: field.text('The selector or the model’s ID that `model` of the request stands for.', 'auto'),
  alias: field.textOrNull('The alias that the request used as `model`; null for the name itself.'),
  pinned: field.flag('True when the request named one model.'),
  task: field.text(
    'The task type that Signalbox recognized; `unread` if the request named a model and nothing depended on it.',
    'coding',
  ),
  task_shares: field.rows(
    'The possible tasks, most likely first; empty if `task` is certain.',
    {
      task: field.text('A task type.', 'coding'),
      share: field.share('The probability of this task.'),
    },
    [],
  ),
  difficulty: field.word(
    DIFFICULTIES,
    '`easy` for a plainly easy question such as a greeting; `hard` for one that needs an expert, such as a proof; otherwise `usual`.',
    'usual',
  ),
  quality_factor: field.figureOrNull(
    'How many times as much quality weighed because the request is hard; null for a request that is not, and where `hard_quality_factor` is `none`.',
    null,
  ),
  natural_language: field.text('The language of the question, as ISO 639-1; `und` if unknown.', 'en'),
  languages: field.textList(
    'Programming languages that the question is about, in canonical names. They exclude no model.',
    ['python'],
  ),
  estimated_input_tokens: field.tokens('Expected input tokens.', 120),
  max_input_tokens: field.tokens('Input tokens that the text cannot exceed under any tokenizer.', 400),
  counted_input_tokens: field.orNull(
    Type.Record(Type.String(), Type.Integer()),
    'Input tokens that the text cannot exceed, by the tokenizer that counted it; null where none had to.',
  ),
  service_counts: field.orNull(
    Type.Record(Type.String(), Type.Object({ tokens: Type.Integer(), margin: Type.Integer() })),
    'The prompt with its PDFs as the service of a model counted it, and the most tokens that it may bill beyond its count, by model; null where none had to.',
    null,
  ),
  cached_input_tokens: cachedTokens,
  images: field.count('Images in the request.'),
  audio_bytes: field.count('Bytes of audio in the request, decoded.'),
  pdfs: field.count('PDF files in the request, files by an address or an ID included.'),
  pages: field.count('Pages expected of them, by their bytes.'),
  unbounded_media: field.count('Other media, for which no bound of tokens is known.'),
  estimated_output_tokens: field.wholeOrNull(
    'Output tokens of one choice that the caller expects; null where none are stated.',
  ),
  asked_output_tokens: field.wholeOrNull(
    'Output tokens of one choice, estimated from the request: its words, a schema, its text. Null if the figure of the task is used.',
  ),
  max_tokens: field.wholeOrNull('The caller’s cap on the output tokens of one choice.'),
  min_output_tokens: field.wholeOrNull('The least output tokens of one choice that the answer may be capped at.'),
  n: Type.Integer({ minimum: 1, description: 'The number of choices requested.' }),
  needs: field.arrayOf(field.word(CAPABILITY_NAMES, 'A capability.'), 'The capabilities that the model must have.', [
    'tools',
  ]),
  adapts_forced_tool: field.flag(
    'True when a model that refuses the forced call may answer in a JSON schema of the function’s parameters.',
    false,
  ),
  required_languages: field.textList('Programming languages that the model must handle, in canonical names.', [
    'typescript',
  ]),
  route_strategy: field.shapeOrNull(
    'The caller’s weights, completed by the policy’s; null when none were sent.',
    {
      cost_weight: field.figure('How much cost counts. Only the ratio matters.'),
      quality_weight: field.figure('How much quality counts.'),
      latency_weight: Type.Optional(field.figure('How much latency counts; absent for 0.')),
    },
    null,
  ),
  max_cost_credits: field.figureOrNull('The caller’s ceiling of the expected cost. In Credits.'),
  max_latency_ms: field.figureOrNull('The caller’s ceiling of the expected latency. In ms.'),
  budget_limit: field.figureOrNull('Most that the request may consume. In Credits.'),
  max_funded_credits: field.figureOrNull(
    'The amount that budgets with `on_exhausted: downgrade` had left; null without such a budget. In Credits.',
  ),
  capping_fund: field.shapeOrNull('The fund with the least money of those that cap outputs; null without one.', {
    name: field.text('A budget; `balance` for a balance.', 'team-month'),
    unspent_credits: field.credits(
      'What it had left, requests in progress aside: the output was capped at that.',
      4.67,
    ),
  }),
  key_models: field.textListOrNull('The models that the key may use; null for all.'),
  embedding: field.shapeOrNull(
    'The texts to embed; null for another operation.',
    {
      inputs: field.count('Number of texts.', 3),
      longest_input_tokens: field.tokens('Expected tokens of the longest text.', 120),
      dimensions: field.wholeOrNull('The length of vectors asked for; null for the model’s own.', null),
    },
    null,
  ),
  thread: field.shapeOrNull(
    'The history that a service keeps of the conversation; null for none.',
    {
      model: field.modelId('The model that goes on with it.'),
      endpoints: field.arrayOf(Type.Integer(), 'The endpoints of that model at the service, from 0.', [0]),
      tokens: field.tokens('Expected tokens of the history.', 4_200),
    },
    null,
  ),
  thought_readers: field.textListOrNull(
    'The models that can read the thoughts of the tool calls under way; null where all can, or none.',
    null,
  ),
  add_ons: field.shapeOrNull('What the request lets a provider bill beside tokens; null for nothing.', {
    hour_cache: field.flag('Whether parts of the prompt are to be kept in the cache for an hour.'),
    tool_uses: field.mapOf(Type.Integer(), 'The most uses of each tool that the provider runs, by name.'),
    rereadings: field.count('Times that the model may read its context anew, after each use of such a tool.'),
    unpriced: field.textList('Fields of the request that change the bill by no price of the catalog.', []),
  }),
});

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
  created: field.unixTime('When it was written.'),
  time: field.moment('The same, to the millisecond.'),
  ...ofKey,
  kind: field.word(['chat', 'embed', 'route'], 'A completion, embeddings, or a recommendation.'),
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
  outcome: field.orNull(Outcome, 'The outcome; null for a route query, which executes nothing.'),
  trace_url: field.textOrNull(
    'Where people find its trace, by `console.trace_url` of the policy in force; null without that, and on `/v1`.',
    null,
  ),
  receipt: field.orNull(Receipt, 'The `platform` object that the caller received; null for a route query.'),
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
