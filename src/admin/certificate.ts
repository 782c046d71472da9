import { Type } from '@sinclair/typebox';
import { cappedByText, insteadOfOrNull, modelId } from '../core/api/shared-fields.ts';
import { REJECTIONS } from '../core/decision/decision.ts';
import { HEALTH } from '../core/decision/readings.ts';
import * as field from '../core/define/fields.ts';
import { LENGTH_SOURCES } from '../core/request/expected-length.ts';
import { TIER_LISTED_MAX, TIER_REASONS, TIERS } from '../core/request/tiers.ts';
import { TIE_BREAKERS } from '../routing/rank.ts';
import { statedTiers } from './policy-shapes.ts';

const list = <Word extends string>(words: Readonly<Record<Word, unknown>>): Word[] => Object.keys(words) as Word[];
const quality = field.share('The expected share of good answers.', 0.71);
const cost = field.figure('C, the expected cost. In Credits.', 0.46);
const latency = field.figure('L, the expected time to the end of the answer. In ms.', 2_300);

const Rule = Type.Object({
  name: field.text('The rule’s name.', 'eu-only'),
  file: field.text('The policy file that states the rule.', 'rules.yaml'),
  line: Type.Integer({ minimum: 1, description: 'The line of the rule.' }),
});

const Endpoint = Type.Object({
  provider: field.text('The policy’s name of the provider.', 'openai'),
  upstream: field.text('The provider’s own name for the model.', 'gpt-6-luna'),
  health: field.word(list(HEALTH), 'The health of the endpoint when the decision was made.'),
  open: field.flag('Whether the endpoint can be tried: constraints, funds and health all allow it.', true),
});

const Rejection = Type.Object({
  kind: field.word([...list(REJECTIONS), 'strategy'], 'The kind of reason.'),
  text: field.text('The reason in words.', 'it lacks vision'),
  rules: field.list(Rule, 'The rules of the policy that caused the rejection; empty if none.'),
});

const Tier = Type.Object({
  name: field.word(TIERS, 'The tier of the request.', 'usual'),
  why: field.word(
    TIER_REASONS,
    '`hard`: the first question of the conversation is probably hard. `escalated`: an answer of the conversation failed. `usual`: neither.',
    'usual',
  ),
  order: field.textList(`The models that the selector may choose, in its order, at most ${TIER_LISTED_MAX}.`, [
    'gpt-6-luna',
  ]),
  stated: statedTiers,
  limited_by: field.textOrNull('The selector whose choice is taken if it is cheaper or faster; null for none.', null),
  hard: field.share('How likely the first question of the conversation is hard.', 0.12),
  strong_from: field.share('From which probability a conversation is hard.', 0.88),
});

const Candidate = Type.Object({
  model: modelId('The model.'),
  rank: field.wholeOrNull('The rank of the model. The choice has rank 1; null for a rejected model.', 1),
  quality: field.orNull(
    quality,
    'The expected share of good answers; null if the policy states no quality, as for models of a wildcard.',
    0.71,
  ),
  counted_quality: field.share(
    'Q, the quality as a choice counts it: `quality`, lower if it is guessed and others are measured, plus the worth of preferences.',
    0.75,
  ),
  cost_credits: cost,
  latency_ms: latency,
  latency_basis: field.word(
    ['measured', 'stated', 'estimated', 'neutral', 'slow'],
    'The source of the speed: answers measured by this server, the policy, the median of similar models in the catalog, or a neutral or slow default.',
  ),
  reasoning_tokens: field.figure(
    'Expected hidden reasoning tokens for one choice. Reasoning tokens are part of cost and latency.',
    600,
  ),
  utility: field.figureOrNull(
    'The score that the strategy gave; null for a rejected model, and for models in the order of a selector.',
    0.4,
  ),
  parts: field.mapOf(Type.Number(), 'The terms of the utility, by name; empty if the strategy does not report them.', {
    quality: 0.43,
    cost: -0.01,
    latency: -0.02,
  }),
  input_tokens: field.figure('Expected input tokens on this model.', 120),
  cached_input_tokens: field.figure('The input tokens that the model’s provider probably has in its cache.'),
  max_output_tokens: field.figure('The most output tokens of one choice.', 4_096),
  output_capped_by: field.textOrNull(cappedByText('`max_output_tokens`', 'Null'), null),
  adapts_forced_tool: field.flag(
    'True if the model’s first endpoint receives the forced function call of the request as a JSON schema for the answer.',
    false,
  ),
  worst_case_credits: field.credits(
    'The most that the request can cost on this model, which is the reserved amount.',
    1.9,
  ),
  endpoints: field.list(Endpoint, 'The endpoints of the model, in the order in which Signalbox tries them.'),
  rejections: field.list(Rejection, 'The reasons why the model was rejected; empty for an eligible model.', []),
});

const Preference = Type.Object({
  ...Rule.properties,
  worth: Type.Number({
    minimum: -1,
    maximum: 1,
    description: 'How much the preference adds to the quality of the models that it prefers.',
    examples: [0.05],
  }),
  models: field.textList('IDs of the preferred models.', ['gpt-6-luna']),
});

const other = (example: string) =>
  Type.Object({ model: modelId('The model.', example), quality, cost_credits: cost, latency_ms: latency });

/** The result of repeating the decision. Every field is null if the decision could not be repeated. */
export const CERTIFICATE = {
  instead_of: insteadOfOrNull(),
  explanation: field.orNull(
    Type.Array(Type.String(), {
      examples: [['gpt-6-luna was requested by name: expected quality 71 %, 0.46 Credits, 2.3 s.']],
    }),
    'The decision in plain sentences.',
  ),
  expected_output_tokens: field.figureOrNull(
    'Expected length of the answer: visible output tokens of one choice. Cost and latency are computed from it.',
    400,
  ),
  expected_output_source: field.orNull(
    Type.Union(LENGTH_SOURCES.map((source) => Type.Literal(source))),
    'The source of the expected length: the request, the prompt, `max_tokens`, answers measured by this server, or the policy.',
  ),
  choice_reason: field.textOrNull(
    'Why the selector chose the model, in one sentence; null if no order of the selector decided.',
    'gpt-6-luna costs least within 0.03 of the best quality (0.915 of 0.94); the request is not hard',
  ),
  candidates: field.orNull(
    Type.Array(Candidate),
    'All models considered: eligible models first, in the order in which Signalbox chooses them; then rejected models by ID.',
  ),
  constraints: field.orNull(Type.Array(Rule), 'The constraints that applied.'),
  preferences: field.orNull(Type.Array(Preference), 'The preferences that applied.'),
  choice_without_preferences: field.textOrNull(
    'The choice if there were no preferences; null if no preference applied.',
  ),
  tier: field.orNull(
    Tier,
    'The kind of request, with the order of the selector; null if no order of a selector decided.',
  ),
  tie_decided_by: field.orNull(
    Type.Union(TIE_BREAKERS.map((breaker) => Type.Literal(breaker))),
    'What decided between the choice and the next best model, if their utilities are equal; otherwise null.',
  ),
  strategy_failed: field.flagOrNull(
    'True if the strategy gave no usable scores, so that Q, C, L and the ID decided.',
    false,
  ),
  runner_up: field.orNull(other('mistral-small-4'), 'The next best candidate; null if there was none.'),
  baseline: field.orNull(
    other('gpt-6-astra'),
    'The model that savings are compared with; null if the request named a model.',
  ),
};

export const Replay = field.shape('The result of repeating the decision from its record.', {
  matches: field.flagOrNull(
    'Whether the repetition gave exactly the same choice, fallbacks and qualities, and each attempt the same endpoint. Null if the decision could not be repeated.',
    true,
  ),
  endpoints: field.flagOrNull(
    'Whether each attempt at a model with `spread` gets the same endpoint again. Null if no endpoint was chosen among several, or the choice could not be repeated.',
    true,
  ),
  reason: field.textOrNull('Why the decision could not be repeated; null if it was repeated.'),
});

export const Readings = field.shape('The stored measurements of endpoints that the decision used. They never change.', {
  frame: field.wholeOrNull(
    'The number of the stored measurements; 0 before any measurement, null if none were stored.',
    228_803_158_016_001,
  ),
});

export const cachedTokens = field.mapOf(
  field.count('Tokens.', 1_800),
  'By ID of the model, the input tokens that its provider probably has in its cache.',
);
