import { Type } from '@sinclair/typebox';
import { CAPABILITY_NAMES } from '../../core/capability.ts';
import { Usage } from './completion.ts';
import { ERROR_CODES } from './error.ts';
import {
  credits,
  decisionId,
  failureKind,
  milliseconds,
  modelId,
  named,
  orNull,
  policyRevision,
  routeReason,
  tokens,
  unixTime,
  word,
} from './parts.ts';

const Facts = Type.Object(
  {
    model: Type.String({ description: '`model` of the request: a selector, or a model’s ID.', examples: ['auto'] }),
    pinned: Type.Boolean({ description: 'True when the request named one model.' }),
    task: Type.String({ description: 'The task type it was taken for.', examples: ['coding'] }),
    estimated_input_tokens: tokens('Expected input tokens.', 120),
    max_input_tokens: tokens('Input tokens that the text cannot exceed under any tokenizer.', 400),
    images: Type.Integer({ minimum: 0, description: 'Images in the request.' }),
    estimated_output_tokens: orNull(
      Type.Integer(),
      'Expected output tokens of one choice; null for the task’s figure.',
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
    ),
    max_cost_credits: orNull(Type.Number(), 'The caller’s ceiling of the expected cost. In Credits.'),
    max_latency_ms: orNull(Type.Number(), 'The caller’s ceiling of the expected latency. In ms.'),
    budget_limit: orNull(Type.Number(), 'Most that the request may consume. In Credits.'),
    max_funded_credits: orNull(
      Type.Number(),
      'What budgets with `on_exhausted: downgrade` left for the worst case; null without such a budget. In Credits.',
    ),
  },
  { description: 'All that the decision knew of the request. Holds no text of it.' },
);

const firstPart = (from: string) =>
  orNull(Type.Integer(), `From ${from} to the first content, in ms; null when none came.`);

const Attempt = Type.Object({
  model: modelId('The model asked.'),
  provider: Type.String({ description: 'The provider asked.', examples: ['openai'] }),
  ms: milliseconds('From sending to the end.', 1_840),
  first_part_ms: firstPart('sending'),
  failure: orNull(failureKind, 'Null for a success.'),
});

const Outcome = Type.Object({
  status: word(
    ['completed', 'failed', 'broken', 'abandoned'],
    '`failed`: no attempt showed content. `broken`: the answer was cut off. `abandoned`: the caller went away, or the process stopped.',
  ),
  error: orNull(word(ERROR_CODES, 'A code.'), 'What the caller was told, when it failed.'),
  attempts: Type.Array(Attempt, { description: 'In the order in which they were made.' }),
  usage: orNull(Usage, 'Of the attempt that was answered with; null when none was.'),
  estimated: Type.Boolean({ description: 'True when tokens were counted here.' }),
  credits_consumed: credits('Charged for the request.', 0.09),
  cost_saved_credits: credits('Against the baseline model; negative when the choice cost more.', 0.081),
  first_part_ms: firstPart('admission'),
  total_ms: milliseconds('From admission to the end.', 1_850),
});

export const Decision = named('Decision', 'Why a model was chosen, and what came of it.', {
  id: decisionId,
  object: Type.Literal('decision', { description: 'Always `decision`.' }),
  created: unixTime('When it was written.'),
  kind: word(['chat', 'route'], 'Whether a completion or a recommendation was asked for.'),
  policy_revision: policyRevision,
  seed: Type.String({ description: 'Replays whatever chance there was. 64 bits, hexadecimal.' }),
  route_reason: routeReason,
  choice: modelId('The model chosen.'),
  fallbacks: Type.Array(Type.String(), { description: 'Models to try next, best first.' }),
  facts: Facts,
  quality: Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1 }), {
    description: 'Expected quality of every model for this request, by ID, from 0 to 1.',
    examples: [{ 'gpt-6-astra': 0.93 }],
  }),
  outcome: orNull(Outcome, 'What came of it; null for a route query, which carries nothing out.'),
});
