import { Type } from '@sinclair/typebox';
import { ERROR_CODES } from '../core/api/error-schema.ts';
import { Platform } from '../core/api/platform.ts';
import {
  afterSignal,
  attemptCredits,
  cappedByText,
  decisionId,
  failureKind,
  modelId,
  policyRevision,
  rawFinishReasons,
  routeReason,
  upstreamRequestId,
} from '../core/api/shared-fields.ts';
import { DECISION_STATUSES } from '../core/decision/record.ts';
import * as f from '../core/define/fields.ts';
import { OPERATION_NAMES, OPERATIONS } from '../core/kinds/operations.ts';
import { ENDPOINT_LIMITS } from '../core/policy/endpoint-room.ts';
import { GUARD_SIDES, UNREADABLE } from '../core/policy/guards.ts';
import { SPREAD_MODES } from '../core/policy/spread.ts';
import { Usage } from '../dialects/openai-chat/completion-schema.ts';
import { CERTIFICATE, Readings, Replay } from './certificate.ts';
import { Facts } from './decision-facts.ts';
import { cacheWord, DecisionSummary, ofKey } from './decision-list.ts';

const firstPart = (from: string) =>
  f.wholeOrNull(`From ${from} to the first content, in ms; null if no content arrived.`, 430);

const POSITION = Type.Integer({ minimum: 0 });

const Spread = Type.Object(
  {
    mode: f.word(SPREAD_MODES, 'How the requests for the model are spread.'),
    key: f.text(
      'What places the request among the endpoints: the number of its conversation, or the seed of its decision.',
      '9f2c01d4aa07e6b3',
    ),
    draw: f.count('The number of the choice in this request, counted from 0.', 0),
    eligible: f.list(POSITION, 'The positions of the endpoints that could be tried.', [0, 1]),
    loads: f.list(Type.Number(), 'How busy each of these endpoints was.', [0.2, 0.05]),
    weights: f.list(
      Type.Number(),
      'The weight of each of these endpoints. After a failure, the weight of an endpoint returns slowly.',
      [70, 30],
    ),
    compared: f.orNull(
      f.list(POSITION, 'The two endpoints that were compared.', [1, 0]),
      'Null unless `mode` is `least_busy` and two endpoints could be compared.',
    ),
    stays: f.flag('Whether the request stayed at the endpoint whose cache has its conversation.'),
    warm: f.orNull(
      f.list(POSITION, 'The endpoints that probably had the conversation in their cache.', [1]),
      'Null in old records.',
    ),
    drawn: f.flag('Whether the weights of the keys of a pool decided, because their figures are equal.'),
    unmeasured: f.list(POSITION, 'The endpoints that `fastest` had to try, because their speed was not measured.', []),
    reason: f.text('Why the attempt got this endpoint.', 'Drawn by weight: 70 of 100.'),
  },
  { description: 'How the endpoint was chosen among several.' },
);

const Attempt = Type.Object({
  model: modelId('The model asked.'),
  provider: f.text('The provider asked.', 'openai'),
  upstream: f.text('The provider’s own name for the model.', 'gpt-6-luna'),
  endpoint: f.wholeOrNull(
    'The position of the endpoint among the model’s endpoints, counted from 0; null in old records.',
    0,
  ),
  start_ms: f.wholeOrNull('From admission to the start of the attempt, in ms; null in old records.', 4),
  ms: f.milliseconds('From the start of the attempt to its end.', 1_840),
  first_part_ms: firstPart('sending'),
  failure: f.orNull(failureKind, 'Null for a success.'),
  status: f.wholeOrNull(
    'For a failure, the HTTP status of the provider; null if there was none, and in old records.',
    null,
  ),
  message: f.textOrNull(
    'For a failure, the message of the provider, at most 500 characters. Secrets, personal data, addresses and words of the request are removed. Null for callers who may not read it, and in old records.',
    null,
  ),
  request_id: upstreamRequestId,
  finish_reasons: rawFinishReasons,
  spread: f.orNull(Spread, 'Null if the endpoints of the model are tried in their order, and in old records.'),
  key: f.textOrNull(
    'The name of the provider’s key, never its value. Null if the provider has one key, for callers who may not read it, and in old records.',
    null,
  ),
  after: f.orNull(afterSignal, 'Null for attempts that followed no answer.'),
  credits_consumed: f.orNull(
    attemptCredits,
    'Credits charged for the attempt; null without a charge of its own, and in old records.',
  ),
});

export const FoundRequest = f.named('FoundRequest', 'A request with its decision or its refusal.', {
  ...DecisionSummary.properties,
  team_name: f.as('teamName', f.textOrNull('The name of the team; null for no team.', 'search')),
  user_name: f.as(
    'userName',
    f.textOrNull('The name of the user; null for no user, and if you ask with a key with the scope `report`.', 'Ada'),
  ),
  named_model: f.as(
    'named',
    f.text(
      'What the request named as `model`: a model, a selector or an alias; empty if it named none. `model` is the model that was tried last.',
      'auto',
    ),
  ),
  explanation: f.textOrNull(
    'Why the request was refused or failed, or why its model was chosen, in sentences. Null if nothing is known.',
    'The request named this model.',
  ),
  alias: f.inCommand(f.textOrNull('The alias that the request named as `model`; null if it used no alias.', null), {
    text: (alias: string, { selector, model }: { readonly selector: string; readonly model: string }) =>
      `${alias} stands for ${selector === 'pinned' ? model : selector}`,
  }),
  repeats: f.inCommand(
    f.textOrNull('The ID of the decision whose answer the cache repeated; null for an answer of a model.', null),
    { text: (decision: string) => `the answer of ${decision}, from the cache` },
  ),
  attempt_details: f.as(
    'tries',
    f.list(Type.Unsafe<object>(f.onWire(Attempt)), 'The attempts in the order in which they were made.'),
  ),
});

const FullEndpoint = Type.Object({
  model: modelId('The model of the endpoint.'),
  provider: f.text('The provider of the endpoint.', 'openai'),
  upstream: f.text('The provider’s own name for the model.', 'gpt-6-luna'),
  endpoint: f.count('The position of the endpoint among the model’s endpoints, counted from 0.', 0),
  limit: f.word(ENDPOINT_LIMITS, 'The limit that was used up.'),
  most: f.count('The figure of the limit in the policy.', 500),
  start_ms: f.milliseconds('From admission to the first time that the endpoint had no room.', 4),
  times: f.count('How often the endpoint had no room for this request.', 1),
});

const Counts = Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
  description: 'How many matches the guard found, by kind.',
  examples: [{ email: 2 }],
});

const Verdict = Type.Object(
  {
    guard: f.text('The name of the guard in the policy.', 'personal-data'),
    side: f.word(GUARD_SIDES, '`input`: the request. `output`: the answer.'),
    action: f.word(
      ['block', 'mask', 'repair', 'flag'],
      'What the matches led to. A match that could not be masked has `block`. An answer that the guard repaired has `repair`.',
      'mask',
    ),
    matches: Counts,
    text: f.text('The verdict as a sentence.', 'The guard personal-data found 2 email in the request: masked.'),
    failed: f.flag('True if the guard failed, or took too long.', false),
    unreadable: f.orNull(
      f.word(UNREADABLE, 'A kind of content.'),
      'The kind of content that the guard refused because it cannot read it; null for none.',
    ),
  },
  { description: 'What a guard found. It contains names and numbers, no text.' },
);

const GuardCall = Type.Object(
  {
    guard: f.text('The name of the guard in the policy.', 'injection'),
    side: f.word(GUARD_SIDES, '`input`: it judged the request. `output`: it judged the answer.'),
    model: modelId('The model that the guard called.'),
    entry: decisionId,
    credits_consumed: f.credits('The charge of the call, in addition to the charge of the request.', 0.15),
    ms: f.milliseconds('From the beginning of the call to its end.', 240),
    text: f.text('The call as a sentence.', 'The guard injection asked small about the request: 240 ms, 0.15 Credits.'),
  },
  { description: 'A call of a guard to a model. `entry` is the ID of its entries in the ledger.' },
);

const Outcome = Type.Object({
  status: f.word(
    ['completed', 'failed', 'broken', 'abandoned'],
    '`failed`: no attempt returned content. `broken`: the answer was cut off. `abandoned`: the caller disconnected, the server stopped, or the server had no memory left for the answer.',
  ),
  error: f.orNull(f.word(ERROR_CODES, 'A code.'), 'The error that the caller received; null if the request succeeded.'),
  attempts: f.list(Attempt, 'The attempts in the order in which they were made.'),
  usage: f.orNull(Usage, 'The usage of the attempt that produced the answer; null if no attempt did.'),
  estimated: f.flag('True if Signalbox counted the tokens itself.'),
  credits_consumed: f.credits('Charged for the request.', 0.09),
  cost_saved_credits: f.credits(
    'The saving compared with the baseline model; negative if the choice cost more.',
    0.081,
  ),
  runner_up_cost_credits: f.figureOrNull(
    'The cost of the same tokens on the runner-up; null without a runner-up. In Credits.',
    0.028,
  ),
  baseline_cost_credits: f.figureOrNull(
    'The cost of the same tokens on the baseline model; null for a pinned model. In Credits.',
    0.171,
  ),
  first_part_ms: firstPart('admission'),
  total_ms: f.milliseconds('From admission to the end.', 1_850),
  output_capped_by: f.textOrNull(
    cappedByText('the cap on the output, whether the answer reached it or not', 'Null'),
    null,
  ),
  usage_replaced: f.flag(
    'True if the answer was passed through unchanged except for its usage. Signalbox replaced the usage by its own count, because the provider’s usage was missing or impossible.',
    false,
  ),
  adapted: f.list(
    Type.String(),
    'Fields of the request that reached the model in another form, as in `platform.adapted`.',
    [],
  ),
  full: f.list(
    FullEndpoint,
    'Endpoints that the request skipped, or waited for, because a limit in the policy was used up.',
  ),
  guards: f.list(Verdict, 'What guards found in the request and in the answer.'),
  guard_calls: f.list(GuardCall, 'The calls of guards to models of the policy.'),
  repeats: f.orNull(decisionId, 'The decision whose answer the cache repeated; null for an answer of a model.'),
  cache: cacheWord,
});

/** `dropped` contains names that the caller chose, and records store no text of callers. */
const Receipt = Type.Object(Type.Omit(Platform, ['dropped']).properties);

const ANSWERS = OPERATION_NAMES.map((name) => `\`${name}\`: ${OPERATIONS[name].answer}.`).join(' ');

export const Decision = f.named('Decision', 'Why a model was chosen, and how the request ended.', {
  id: decisionId,
  object: f.always('decision'),
  created: f.unixTime('When the record was written. While the request runs: when the decision was made.'),
  time: f.moment('The same time as `created`, to the millisecond.'),
  ...ofKey,
  kind: f.word([...OPERATION_NAMES, 'route'], `${ANSWERS} \`route\`: a recommendation.`),
  status: f.word(
    DECISION_STATUSES,
    'How the request ended, as in `outcome.status`; `recommended` for a route query, which calls no model. `running`: the request has not ended.',
  ),
  sent_by: f.textOrNull(
    'The ID of the user, or of the key, that sent the request with `POST /admin/playground`; null for a request that was sent with the key itself, and if you ask with a key with the scope `report`.',
  ),
  session: f.textOrNull('The session that the request names; null if it names none.'),
  agent: f.textOrNull(
    'The agent of the session that sent the request; null if the request names none, or for the first agent.',
  ),
  parent_agent: f.textOrNull('The agent that started this agent; null if the request names none.'),
  policy_revision: policyRevision,
  seed: f.text('The random seed of the decision: 64 bits, hexadecimal.', '9f2c51d07be83a64'),
  route_reason: routeReason,
  choice: modelId('The model chosen.'),
  fallbacks: f.textList('Models to try next, best first.', ['mistral-small-4']),
  last_resorts: f.textList(
    'Models all of whose endpoints were ejected by a circuit breaker, best first. These models are tried only if all other models have failed.',
    [],
  ),
  facts: Facts,
  readings: Readings,
  quality: f.mapOf(
    Type.Number({ minimum: 0, maximum: 1 }),
    'The expected share of good answers of every model for this request, by ID, from 0 to 1. Models of a wildcard have none. If the decision cannot be repeated, the values include the effects of languages and preferences, and the map is empty if no estimate changed the declared qualities.',
    { 'gpt-6-luna': 0.71, 'gpt-6-astra': 0.93 },
  ),
  left_out: f.orNull(
    Type.Array(Type.String(), { examples: [['openai (OPENAI_API_KEY is not set)']] }),
    'Providers that could not serve at that time, each with the reason. Null if you ask with a key without the scope `admin`, and if the decision cannot be repeated.',
  ),
  replay: Replay,
  ...CERTIFICATE,
  outcome: f.orNull(
    Outcome,
    'How the request ended; null for a route query, which calls no model, and while the request runs.',
  ),
  trace_url: f.textOrNull(
    'The URL of the trace of this request, built from `console.trace_url` of the active policy; null if the policy has no such URL, and on `/v1`.',
    null,
  ),
  receipt: f.orNull(
    Receipt,
    'The `platform` object that the caller received; null for a route query, and while the request runs.',
  ),
});

export const DecisionRepeat = f.named(
  'DecisionRepeat',
  'How the active policy decides a recorded request. This decision is not recorded.',
  {
    decision_id: decisionId,
    object: f.always('decision.repeat'),
    policy_revision: f.text('The revision of the active policy.', '95f1a7d5f908027b'),
    route_reason: f.textOrNull('Why the active policy chooses the model; null for a refusal.', 'auto:usual'),
    choice: f.textOrNull('The model that the active policy chooses; null for a refusal.', 'gpt-6-luna'),
    recorded_choice: modelId('The model that was chosen when the request was made.'),
    refusal: f.shapeOrNull(
      'The error of a refusal; null for a decision.',
      {
        code: f.word(ERROR_CODES, 'A code.', 'no_eligible_model'),
        message: f.text('The error in words.', 'No model can serve this request.'),
      },
      null,
    ),
    ...CERTIFICATE,
  },
);
