import { Type } from '@sinclair/typebox';
import { CAPABILITY_NAMES } from '../../core/capability.ts';
import { DIFFICULTIES } from '../../core/facts.ts';
import { OPERATION_NAMES } from '../../core/operation.ts';
import { Usage } from '../../surface/openai-chat/completion-schema.ts';
import { ERROR_CODES } from '../../surface/openai-chat/error-schema.ts';
import {
  credits,
  decisionId,
  failureKind,
  milliseconds,
  modelId,
  named,
  orNull,
  policyRevision,
  rawFinishReasons,
  routeReason,
  tokens,
  unixTime,
  upstreamRequestId,
  word,
} from '../../surface/schemas/parts.ts';
import { Platform } from '../../surface/schemas/platform.ts';
import { CERTIFICATE, cachedTokens, Readings, Replay } from './certificate.ts';

const Facts = Type.Object(
  {
    operation: word(OPERATION_NAMES, 'The operation that was asked for.'),
    model: Type.String({ description: '`model` of the request: a selector, or a model’s ID.', examples: ['auto'] }),
    pinned: Type.Boolean({ description: 'True when the request named one model.' }),
    task: Type.String({ description: 'The task type it was taken for.', examples: ['coding'] }),
    task_shares: Type.Array(
      Type.Object({
        task: Type.String({ description: 'A task type.', examples: ['coding'] }),
        share: Type.Number({ minimum: 0, maximum: 1, description: 'How likely it is.' }),
      }),
      { description: 'The tasks that it may be, the likeliest first; empty where `task` is certain.', examples: [[]] },
    ),
    difficulty: word(
      DIFFICULTIES,
      '`easy` where it is plainly so, as a greeting or a small sum is; `hard` where it takes an expert, as a proof does; else `usual`.',
      'usual',
    ),
    natural_language: Type.String({
      description: 'Of the question, ISO 639-1; `und` where it cannot be told.',
      examples: ['en'],
    }),
    languages: Type.Array(Type.String(), {
      description: 'Programming languages that the question is about, in canonical names. They exclude no model.',
      examples: [['python']],
    }),
    estimated_input_tokens: tokens('Expected input tokens.', 120),
    max_input_tokens: tokens('Input tokens that the text cannot exceed under any tokenizer.', 400),
    counted_input_tokens: orNull(
      Type.Record(Type.String(), Type.Integer()),
      'Input tokens that the text cannot exceed, by the tokenizer that counted it; null where none had to.',
    ),
    cached_input_tokens: cachedTokens,
    images: Type.Integer({ minimum: 0, description: 'Images in the request.' }),
    audio_bytes: Type.Integer({ minimum: 0, description: 'Bytes of audio in the request, decoded.' }),
    unbounded_media: Type.Integer({ minimum: 0, description: 'Other media, for which no bound of tokens is known.' }),
    estimated_output_tokens: orNull(
      Type.Integer(),
      'Output tokens of one choice that the caller expects; null where none are stated.',
    ),
    asked_output_tokens: orNull(
      Type.Integer(),
      'Output tokens of one choice as the request lets expect them: by words, a schema, its text; null where the task’s figure stands.',
    ),
    max_tokens: orNull(Type.Integer(), 'The caller’s cap on the output tokens of one choice.'),
    n: Type.Integer({ minimum: 1, description: 'Choices asked for.' }),
    needs: Type.Array(word(CAPABILITY_NAMES, 'A capability.'), {
      description: 'What the model must be able to do.',
      examples: [['tools']],
    }),
    required_languages: Type.Array(Type.String(), {
      description: 'Programming languages that the model must handle, in canonical names.',
      examples: [['typescript']],
    }),
    route_strategy: orNull(
      Type.Object({
        cost_weight: Type.Number({ description: 'How much cost counts. Only the ratio matters.' }),
        quality_weight: Type.Number({ description: 'How much quality counts.' }),
      }),
      'The caller’s weights, completed by the policy’s; null when none were sent.',
      null,
    ),
    max_cost_credits: orNull(Type.Number(), 'The caller’s ceiling of the expected cost. In Credits.'),
    max_latency_ms: orNull(Type.Number(), 'The caller’s ceiling of the expected latency. In ms.'),
    budget_limit: orNull(Type.Number(), 'Most that the request may consume. In Credits.'),
    max_funded_credits: orNull(
      Type.Number(),
      'What budgets with `on_exhausted: downgrade` left for the worst case; null without such a budget. In Credits.',
    ),
    key_models: orNull(Type.Array(Type.String()), 'The models that the key may use; null for all.'),
  },
  { description: 'All that the decision knew of the request. Holds no text of it.' },
);

const firstPart = (from: string) =>
  orNull(Type.Integer(), `From ${from} to the first content, in ms; null when none came.`, 430);

const Attempt = Type.Object({
  model: modelId('The model asked.'),
  provider: Type.String({ description: 'The provider asked.', examples: ['openai'] }),
  upstream: Type.String({ description: 'The provider’s own name of the model.', examples: ['gpt-6-luna'] }),
  endpoint: orNull(Type.Integer(), 'Which of the model’s endpoints it was, from 0; null in old records.', 0),
  ms: milliseconds('From sending to the end.', 1_840),
  first_part_ms: firstPart('sending'),
  failure: orNull(failureKind, 'Null for a success.'),
  request_id: upstreamRequestId,
  finish_reasons: rawFinishReasons,
});

const Outcome = Type.Object({
  status: word(
    ['completed', 'failed', 'broken', 'abandoned'],
    '`failed`: no attempt showed content. `broken`: the answer was cut off. `abandoned`: the caller went away, the process stopped, or memory had no room for the answer.',
  ),
  error: orNull(word(ERROR_CODES, 'A code.'), 'What the caller was told, when it failed.'),
  attempts: Type.Array(Attempt, { description: 'In the order in which they were made.' }),
  usage: orNull(Usage, 'Of the attempt that was answered with; null when none was.'),
  estimated: Type.Boolean({ description: 'True when tokens were counted here.' }),
  credits_consumed: credits('Charged for the request.', 0.09),
  cost_saved_credits: credits('Against the baseline model; negative when the choice cost more.', 0.081),
  runner_up_cost_credits: orNull(
    Type.Number(),
    'What the same tokens would have cost on the runner-up; null without one. In Credits.',
    0.028,
  ),
  baseline_cost_credits: orNull(
    Type.Number(),
    'What the same tokens would have cost on the baseline model; null for a pinned model. In Credits.',
    0.171,
  ),
  first_part_ms: firstPart('admission'),
  total_ms: milliseconds('From admission to the end.', 1_850),
});

/** A record keeps no name that a caller words. */
const Receipt = Type.Object(Type.Omit(Platform, ['dropped']).properties);

export const Decision = named('Decision', 'Why a model was chosen, and what came of it.', {
  id: decisionId,
  object: Type.Literal('decision', { description: 'Always `decision`.' }),
  created: unixTime('When it was written.'),
  kind: word(['chat', 'route'], 'Whether a completion or a recommendation was asked for.'),
  policy_revision: policyRevision,
  seed: Type.String({
    description: 'Replays whatever chance there was. 64 bits, hexadecimal.',
    examples: ['9f2c51d07be83a64'],
  }),
  route_reason: routeReason,
  choice: modelId('The model chosen.'),
  fallbacks: Type.Array(Type.String(), {
    description: 'Models to try next, best first.',
    examples: [['mistral-small-4']],
  }),
  last_resorts: Type.Array(Type.String(), {
    description: 'Models with endpoints that a breaker has ejected, best first: tried when all others have failed.',
    examples: [[]],
  }),
  facts: Facts,
  readings: Readings,
  quality: Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1 }), {
    description: 'Expected quality of every model for this request, by ID, from 0 to 1.',
    examples: [{ 'gpt-6-luna': 0.71, 'gpt-6-astra': 0.93 }],
  }),
  left_out: orNull(
    Type.Array(Type.String(), { examples: [['openai (OPENAI_API_KEY is not set)']] }),
    'Providers of the policy that could not serve when it was made, each with what it lacked; null for a key without the scope `admin`, and where the decision cannot be made again.',
  ),
  replay: Replay,
  ...CERTIFICATE,
  outcome: orNull(Outcome, 'What came of it; null for a route query, which carries nothing out.'),
  receipt: orNull(Receipt, 'What the caller was told in `platform`; null for a route query.'),
});
