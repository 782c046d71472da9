import { basename } from 'node:path';
import { type TSchema, Type } from '@sinclair/typebox';
import { type InsteadOf, REJECTIONS } from '../core/decision/decision.ts';
import { HEALTH } from '../core/decision/readings.ts';
import { textsOf } from '../core/decision/sentence.ts';
import { cappedByText, insteadOfOrNull, modelId } from '../core/decision/shared-fields.ts';
import * as field from '../core/define/fields.ts';
import { type ExpectedLength, LENGTH_SOURCES } from '../core/request/expected-length.ts';
import type { Facts as FactsOfRequest } from '../core/request/facts.ts';
import { TIER_LISTED_MAX, TIER_REASONS, TIERS } from '../core/request/tiers.ts';
import type { AppliedPreference, AppliedRule, CandidateEntry, TierEntry } from '../routing/certificate.ts';
import type { Certificate } from '../routing/certify.ts';
import { TIE_BREAKERS } from '../routing/rank.ts';
import { story } from '../routing/story.ts';
import { statedTiers } from './policy-shapes.ts';
import { estimatedAmount } from './sentence.ts';

const list = <Word extends string>(words: Readonly<Record<Word, unknown>>): Word[] => Object.keys(words) as Word[];
const quality = field.share('The expected share of good answers.', 0.71);
const cost = field.figure('C, the expected cost. In Credits.', 0.46);
const estimateUsd = (of: string, example: string, read: (candidate: CandidateEntry) => number) =>
  field.from<CandidateEntry>()(
    (candidate) => estimatedAmount(read(candidate)),
    field.orNull(
      field.usd(`The same as \`${of}\`.`, example),
      `The same as \`${of}\`, rounded up to a microcredit. In USD, an exact decimal; null if the value of a Credit is unknown.`,
    ),
  );
const latency = field.figure('L, the expected time to the end of the answer. In ms.', 2_300);

/** A decision that was repeated or made for nothing, or the record of a decision that cannot be repeated. */
export interface Certified {
  readonly certificate: Certificate | null;
  readonly facts: FactsOfRequest;
  /** The expected length in the record; used without a certificate. */
  readonly expectedLength?: ExpectedLength | null;
  /** What the record says about a model that was left out; it counts more than the certificate. */
  readonly insteadOf?: InsteadOf | undefined;
}

const ofRule = field.from<AppliedRule>();
const RULE = {
  name: field.text('The rule’s name.', 'eu-only'),
  file: ofRule(({ place }) => basename(place.file), field.text('The policy file that states the rule.', 'rules.yaml')),
  line: ofRule(({ place }) => place.line, Type.Integer({ minimum: 1, description: 'The line of the rule.' })),
};
const Rule = field.viewRow<AppliedRule>()(RULE);

const Endpoint = field.row({
  provider: field.text('The policy’s name of the provider.', 'openai'),
  upstream: field.text('The provider’s own name for the model.', 'gpt-6-luna'),
  health: field.word(list(HEALTH), 'The health of the endpoint when the decision was made.'),
  open: field.flag('Whether the endpoint can be tried: constraints, prices, funds and health all allow it.', true),
  unpriced: field.textList(
    'What the request may be billed for that has no price at this endpoint. The endpoint is left out if another one has all prices. Empty if no fund pays and nothing limits the cost.',
    [],
  ),
});

const Rejection = field.row({
  kind: field.word([...list(REJECTIONS), 'strategy'], 'The kind of reason.'),
  text: field.text('The reason in words.', 'it lacks vision'),
  rules: field.list(Rule, 'The rules of the policy that caused the rejection; empty if none.'),
});

const Tier = field.viewRow<TierEntry>()({
  name: field.word(TIERS, 'The tier of the request.', 'usual'),
  why: field.word(
    TIER_REASONS,
    '`hard`: the first question of the conversation is probably hard. `escalated`: an answer of the conversation failed. `usual`: neither.',
    'usual',
  ),
  order: field.from<TierEntry>()(
    ({ order }) => order.slice(0, TIER_LISTED_MAX),
    field.textList(`The models that the selector may choose, in its order, at most ${TIER_LISTED_MAX}.`, [
      'gpt-6-luna',
    ]),
  ),
  stated: statedTiers,
  limited_by: field.textOrNull('The selector whose choice is taken if it is cheaper or faster; null for none.', null),
  hard: field.share('How likely the first question of the conversation is hard.', 0.12),
  strong_from: field.share('From which probability a conversation is hard.', 0.88),
});

const Candidate = field.viewRow<CandidateEntry>()({
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
  cost_usd: estimateUsd('cost_credits', '0.00046', ({ costCredits }) => costCredits),
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
  max_output_tokens: field.as('outputCap', field.figure('The most output tokens of one choice.', 4_096)),
  output_capped_by: field.as('cappedBy', field.textOrNull(cappedByText('`max_output_tokens`', 'Null'), null)),
  adapts_forced_tool: field.flag(
    'True if the model’s first endpoint receives the forced function call of the request as a JSON schema for the answer.',
    false,
  ),
  worst_case_credits: field.onWire(
    field.credits('The most that the request can cost on this model, which is the reserved amount.', 1.9),
  ),
  worst_case_usd: estimateUsd('worst_case_credits', '0.0019', ({ worstCaseCredits }) => worstCaseCredits),
  endpoints: field.list(Endpoint, 'The endpoints of the model, in the order in which Signalbox tries them.'),
  rejections: field.list(Rejection, 'The reasons why the model was rejected; empty for an eligible model.', []),
});

const Preference = field.viewRow<AppliedPreference>()({
  ...RULE,
  worth: Type.Number({
    minimum: -1,
    maximum: 1,
    description: 'How much the preference adds to the quality of the models that it prefers.',
    examples: [0.05],
  }),
  models: field.textList('IDs of the preferred models.', ['gpt-6-luna']),
});

const other = (example: string) =>
  field.row({ model: modelId('The model.', example), quality, cost_credits: cost, latency_ms: latency });

/** A member of the certificate; null without a certificate. */
const of = <Schema extends TSchema>(
  read: (certificate: Certificate, facts: FactsOfRequest) => field.ValueOf<Schema>,
  schema: Schema,
) =>
  field.from<Certified>()(
    ({ certificate, facts }) => (certificate ? read(certificate, facts) : null) as field.ValueOf<Schema>,
    schema,
  );
const lengthOf = ({ certificate, expectedLength = null }: Certified): ExpectedLength | null =>
  certificate ? certificate.expectedLength : expectedLength;

/** The result of repeating the decision. Every field is null if the decision could not be repeated. */
export const CERTIFICATE = {
  instead_of: field.from<Certified>()(
    ({ insteadOf, certificate }) => insteadOf ?? certificate?.insteadOf ?? null,
    insteadOfOrNull(),
  ),
  explanation: of(
    (certificate, facts) => textsOf(story(certificate, facts)),
    field.orNull(
      Type.Array(Type.String(), {
        examples: [['gpt-6-luna was requested by name: expected quality 71 %, 0.46 Credits, 2.3 s.']],
      }),
      'The decision in plain sentences.',
    ),
  ),
  expected_output_tokens: field.from<Certified>()(
    (certified) => lengthOf(certified)?.tokens ?? null,
    field.figureOrNull(
      'Expected length of the answer: visible output tokens of one choice. Cost and latency are computed from it.',
      400,
    ),
  ),
  expected_output_source: field.from<Certified>()(
    (certified) => lengthOf(certified)?.source ?? null,
    field.orNull(
      Type.Union(LENGTH_SOURCES.map((source) => Type.Literal(source))),
      'The source of the expected length: the request, the prompt, `max_tokens`, answers measured by this server, or the policy.',
    ),
  ),
  choice_reason: of(
    (certificate) => certificate.choiceReason,
    field.textOrNull(
      'Why the selector chose the model, in one sentence; null if no order of the selector decided.',
      'gpt-6-luna costs least within 0.03 of the best quality (0.915 of 0.94); the request is not hard',
    ),
  ),
  candidates: of(
    ({ candidates }) => candidates,
    field.orNull(
      field.items(Candidate),
      'All models considered: eligible models first, in the order in which Signalbox chooses them; then rejected models by ID.',
    ),
  ),
  constraints: of(({ constraints }) => constraints, field.orNull(field.items(Rule), 'The constraints that applied.')),
  preferences: of(
    ({ preferences }) => preferences,
    field.orNull(field.items(Preference), 'The preferences that applied.'),
  ),
  choice_without_preferences: of(
    ({ unpreferred }) => unpreferred,
    field.textOrNull('The choice if there were no preferences; null if no preference applied.'),
  ),
  tier: of(
    ({ tier }) => tier,
    field.orNull(Tier, 'The kind of request, with the order of the selector; null if no order of a selector decided.'),
  ),
  tie_decided_by: of(
    ({ tieDecidedBy }) => tieDecidedBy,
    field.orNull(
      Type.Union(TIE_BREAKERS.map((breaker) => Type.Literal(breaker))),
      'What decided between the choice and the next best model, if their utilities are equal; otherwise null.',
    ),
  ),
  strategy_failed: of(
    ({ faulty }) => faulty,
    field.flagOrNull('True if the strategy gave no usable scores, so that Q, C, L and the ID decided.', false),
  ),
  runner_up: of(
    ({ runnerUp }) => runnerUp,
    field.orNull(other('mistral-small-4'), 'The next best candidate; null if there was none.'),
  ),
  baseline: of(
    ({ baseline }) => baseline,
    field.orNull(other('gpt-6-astra'), 'The model that savings are compared with; null if the request named a model.'),
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
