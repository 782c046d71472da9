import { Type } from '@sinclair/typebox';
import * as field from '../core/api/parts.ts';
import { REJECTIONS } from '../core/decision.ts';
import { LEARNING_MODES } from '../core/estimate.ts';
import { LENGTH_SOURCES } from '../core/expected-length.ts';
import { HEALTH } from '../core/readings.ts';

const list = <Word extends string>(words: Readonly<Record<Word, unknown>>): Word[] => Object.keys(words) as Word[];
const quality = field.share('The expected share of good answers.', 0.71);
const cost = field.figure('C, the expected cost. In Credits.', 0.46);
const latency = field.figure('L, the expected time to the end of the answer. In ms.', 2_300);

const Rule = Type.Object({
  name: field.text('The rule’s name.', 'eu-only'),
  file: field.text('The file of the policy that states it.', 'rules.yaml'),
  line: Type.Integer({ minimum: 1, description: 'Its line.' }),
});

const Endpoint = Type.Object({
  provider: field.text('The policy’s name of the provider.', 'openai'),
  upstream: field.text('The provider’s own name of the model.', 'gpt-6-luna'),
  health: field.word(list(HEALTH), 'The health in the readings.'),
  open: field.flag('Whether the endpoint can be tried: constraints, funds and health all allow it.', true),
});

const Rejection = Type.Object({
  kind: field.word([...list(REJECTIONS), 'strategy'], 'The kind of reason.'),
  text: field.text('The reason in words.', 'it lacks vision'),
  rules: field.arrayOf(Rule, 'The rules of the policy behind it; empty if none.'),
});

const Estimate = Type.Object({
  declared: field.share('The quality that the policy declares for the task or the mix of tasks.', 0.74),
  length: field.figure('The change by the length of the question.', -0.02),
  outcomes: field.figure('The change by outcomes, in decisions of earlier versions.', 0),
  text: field.figure('The change by the words of the question, in decisions of earlier versions.', 0),
  outcome_count: Type.Number({
    minimum: 0,
    description: 'The weight of the outcomes of this task, in decisions of earlier versions.',
    examples: [0],
  }),
  shadow_quality: field.orNull(
    Type.Number({ minimum: 0, maximum: 1 }),
    'The sum of these, if it is shown but not used: then only the length changes Q. Null if the sum is Q.',
  ),
});

const Learning = Type.Object({
  mode: field.word(
    LEARNING_MODES,
    '`off`: only the length of the question changes the declared quality. Of decisions of earlier versions, `on`: learned changes are used; `shadow`: they are shown, but not used.',
    'off',
  ),
  trust: field.share('The weight given to the words of the question; 0 but in decisions of earlier versions.', 0),
  choice_by_learnt: field.textOrNull(
    'In `shadow`, the choice if learned changes were used. Null if they are used, if nothing was learned, or if the request named a model.',
  ),
});

const Draw = Type.Object({
  probability: field.share('The probability of the choice.', 0.04),
  among: Type.Integer({ minimum: 2, description: 'The number of models in the draw.', examples: [5] }),
  best: field.modelId('The best model by utility, which can differ from the choice.'),
});

const Language = Type.Object({
  language: field.text('Its canonical name.', 'rust'),
  state: field.word(['declared', 'unknown', 'lacked'], 'What the policy declares for this model and language.'),
  adds: field.share('The change of Q.', 0.04),
});

const Candidate = Type.Object({
  model: field.modelId('The model.'),
  rank: field.wholeOrNull('1 is the choice; null for a model that was left out.', 1),
  quality: field.orNull(
    quality,
    'The expected share of good answers; null where nobody states a quality, as of a wildcard’s models.',
    0.71,
  ),
  counted_quality: field.share(
    'Q, by which it was ranked: `quality` with the worth of languages and preferences.',
    0.75,
  ),
  estimate: field.orNull(
    Estimate,
    'The parts of `quality`: the declared quality, then each change in order. Null if it is the declared quality.',
  ),
  languages: field.arrayOf(
    Language,
    'The changes of Q by the programming languages of the question; empty if none matters to the task.',
    [],
  ),
  cost_credits: cost,
  latency_ms: latency,
  latency_basis: field.word(
    ['measured', 'stated', 'estimated', 'neutral'],
    'The source of the speed: answers measured by this server, the policy, the median of similar models in the catalog, or a neutral figure.',
  ),
  reasoning_tokens: field.figure('Expected hidden reasoning of one choice, tokens; part of cost and latency.', 600),
  utility: field.figureOrNull('The score by the strategy; null for a model that was left out.', 0.4),
  parts: field.mapOf(Type.Number(), 'The terms of the utility, by name; empty if the strategy does not report them.', {
    quality: 0.43,
    cost: -0.01,
    latency: -0.02,
  }),
  input_tokens: field.figure('Expected input tokens on this model.', 120),
  cached_input_tokens: field.figure('The input tokens that its provider is likely to have in its cache.'),
  max_output_tokens: field.figure('Output tokens of one choice at most.', 4_096),
  output_capped_by: field.textOrNull(field.cappedByText('`max_output_tokens`', 'Null'), null),
  adapts_forced_tool: field.flag(
    'True if the forced call of the request reaches its first endpoint as a JSON schema of the answer.',
    false,
  ),
  worst_case_credits: field.credits('The most that it can cost, which is the reserved amount.', 1.9),
  endpoints: field.arrayOf(Endpoint, 'In the order in which they are tried.'),
  rejections: field.arrayOf(Rejection, 'The reasons why it was left out; empty for an eligible model.', []),
});

const Preference = Type.Object({
  ...Rule.properties,
  worth: Type.Number({
    minimum: -1,
    maximum: 1,
    description: 'The amount that it adds to the quality of the models it prefers.',
    examples: [0.05],
  }),
  models: field.textList('IDs of these models.', ['gpt-6-luna']),
});

const other = (example: string) =>
  Type.Object({ model: field.modelId('The model.', example), quality, cost_credits: cost, latency_ms: latency });

/** The result of deciding again; every field is null where that was not possible. */
export const CERTIFICATE = {
  explanation: field.orNull(
    Type.Array(Type.String(), {
      examples: [['gpt-6-luna is the best of 2 by auto:balanced: expected quality 71 %, 0.46 Credits, 2,300 ms.']],
    }),
    'The decision in plain sentences.',
  ),
  expected_output_tokens: field.figureOrNull(
    'Expected length of the answer: visible output tokens of one choice. Cost, latency and reference cost use it.',
    400,
  ),
  expected_output_source: field.orNull(
    Type.Union(LENGTH_SOURCES.map((source) => Type.Literal(source))),
    'The source of that length: the request, the prompt, `max_tokens`, answers measured by this server (`blended` with the declared length where `answer_length` says so), or the policy.',
  ),
  answer_worth_credits: field.figureOrNull('The worth of a good answer to the request: v·C_ref. In Credits.', 32.3),
  candidates: field.orNull(
    Type.Array(Candidate),
    'Every model considered: eligible models first, best first; then the others by ID.',
  ),
  constraints: field.orNull(Type.Array(Rule), 'The constraints that applied.'),
  preferences: field.orNull(Type.Array(Preference), 'The preferences that applied.'),
  choice_without_preferences: field.textOrNull('The choice if there were no preferences; null where none applied.'),
  strategy_failed: field.flagOrNull(
    'True when the strategy gave no usable scores, so that Q, C, L and ID decided.',
    false,
  ),
  learning: field.orNull(Learning, 'How the qualities were estimated; null where they are the declared ones.'),
  draw: field.orNull(
    Draw,
    'The draw by which an earlier version tried other models than the best; null without a draw.',
    null,
  ),
  runner_up: field.orNull(other('mistral-small-4'), 'The next best candidate; null without one.'),
  baseline: field.orNull(other('gpt-6-astra'), 'The model that savings are measured against; null for a pinned model.'),
};

export const Replay = field.shape('The result of replaying the decision from its record.', {
  matches: field.flagOrNull(
    'Whether the replay gave exactly the same choice, draw, fallbacks and qualities. Null if it could not be replayed.',
    true,
  ),
  reason: field.textOrNull('Why the decision could not be replayed; null if it was.'),
});

export const Readings = field.shape('The measurements of endpoints that the decision used. They never change.', {
  frame: field.wholeOrNull('Their number; 0 before any measurement, null if none were kept.', 228_803_158_016_001),
});

export const cachedTokens = field.mapOf(
  field.tokens('Tokens.', 1_800),
  'Input tokens that the provider of a model is likely to have in its cache, by the model’s ID.',
);
