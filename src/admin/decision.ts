import { type TSchema, Type } from '@sinclair/typebox';
import { ERROR_CODES } from '../core/api/error-schema.ts';
import { ATTEMPT, type AttemptRecord, SPREAD, type SpreadRecord } from '../core/decision/attempt.ts';
import { type DecisionOutcome, OUTCOME } from '../core/decision/outcome.ts';
import { Platform } from '../core/decision/platform.ts';
import { DECISION_STATUSES, type DecisionRecord, isRunning, statusOf } from '../core/decision/record.ts';
import { model, type Parts, sentence, type Sentence as Told, words } from '../core/decision/sentence.ts';
import { decisionId, modelId, policyRevision, routeReason } from '../core/decision/shared-fields.ts';
import { plainVerdict } from '../core/decision/verdict.ts';
import type { WireOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { idText } from '../core/id.ts';
import { OPERATION_NAMES, OPERATIONS } from '../core/kinds/operations.ts';
import { type Microcredits, toCredits } from '../core/money/credits.ts';
import { FactsAnswer } from '../core/request/facts.ts';
import { NO_RUN, type RunNames } from '../core/request/run-names.ts';
import { usageBody } from '../dialects/openai-chat/completion.ts';
import { Usage } from '../dialects/openai-chat/completion-schema.ts';
import { platformOf } from '../gateway/money/receipt.ts';
import { recordStory } from '../gateway/request/record-story.ts';
import type { Explanation } from '../gateway/request/recorded-certificate.ts';
import { spreadReason } from '../routing/spread-text.ts';
import { story } from '../routing/story.ts';
import { CERTIFICATE, type Certified, Readings, Replay } from './certificate.ts';
import { DecisionSummary, ofKey } from './decision-list.ts';
import { sentences } from './sentence.ts';
import type { RepeatedDecision } from './use-cases/repeated-decision.ts';
import { FULL_SIGHT, type Sight } from './use-cases/sight.ts';

/** An attempt as its reader may see it. */
interface ShownAttempt extends AttemptRecord {
  readonly spread?: (SpreadRecord & { readonly reason: string }) | undefined;
}

const Spread = f.shape('How the endpoint was chosen among several.', {
  ...SPREAD,
  reason: f.text('Why the attempt got this endpoint.', 'Drawn by weight: 70 of 100.'),
});

const Attempt = f.viewRow<ShownAttempt>()({
  ...ATTEMPT,
  spread: f.orAbsent(
    null,
    f.orNull(Spread, 'Null if the endpoints of the model are tried in their order, and in old records.'),
  ),
});

/** The failures whose message the caller of the request gets. */
const TOLD_FAILURES: ReadonlySet<string | null> = new Set(['rejected', 'context']);

/** Only operators see the names of keys, what providers state as their costs, and messages of providers that the caller of the request did not get. */
export function shownAttempt(
  { spread, message, key, stated, atPrice, ...attempt }: AttemptRecord,
  { isNarrow, showsUpstream }: Sight,
): ShownAttempt {
  const isTold = showsUpstream || (TOLD_FAILURES.has(attempt.failure) && !isNarrow);
  return {
    ...attempt,
    ...(isTold && { message }),
    ...(showsUpstream && { key, stated, atPrice }),
    ...(spread && { spread: { ...spread, reason: spreadReason(spread, attempt.endpoint) } }),
  };
}

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
    'It went to gpt-6-luna, which was requested by name.',
  ),
  alias: f.inCommand(f.textOrNull('The alias that the request named as `model`; null if it used no alias.', null), {
    text: (alias: string, { selector, model }: { readonly selector: string; readonly model: string }) =>
      `${alias} stands for ${selector === 'pinned' ? model : selector}`,
  }),
  repeats: f.inCommand(
    f.textOrNull('The ID of the decision whose answer the cache repeated; null for an answer of a model.', null),
    { text: (decision: string) => `the answer of ${decision}, from the cache` },
  ),
  attempt_details: f.as('tries', f.list(Attempt, 'The attempts in the order in which they were made.')),
});

/** An outcome as its reader may see it. */
interface ShownOutcome extends DecisionOutcome, Pick<Explanation, 'hindsight'> {
  readonly attempts: readonly ShownAttempt[];
}
const ofOutcome = f.from<ShownOutcome>();

const orNoUsd = (of: string, example: string) =>
  f.orNull(
    f.usd(`The same as \`${of}\`.`, example),
    `The same as \`${of}\`. In USD, an exact decimal; null without an amount, and if the value of a Credit is unknown.`,
  );
const usdOf = <Member extends string>(member: Member, of: string, example: string) =>
  f.as(member, orNoUsd(of, example));

const Outcome = f.viewRow<ShownOutcome>()({
  ...OUTCOME,
  attempts: f.list(Attempt, 'The attempts in the order in which they were made.'),
  usage: ofOutcome(
    ({ usage, estimated }) => usage && usageBody(usage, estimated),
    f.onWire(f.orNull(Usage, 'The usage of the attempt that produced the answer; null if no attempt did.')),
  ),
  charged_usd: usdOf('charged', 'credits_consumed', '0.00009'),
  saved_usd: usdOf('saved', 'cost_saved_credits', '0.000081'),
  runner_up_cost_credits: ofOutcome(
    ({ hindsight }) => creditsOrNull(hindsight?.runnerUp),
    f.figureOrNull('The cost of the same tokens on the runner-up; null without a runner-up. In Credits.', 0.028),
  ),
  runner_up_cost_usd: ofOutcome(
    ({ hindsight }) => hindsight?.runnerUp ?? null,
    orNoUsd('runner_up_cost_credits', '0.000028'),
  ),
  baseline_cost_credits: ofOutcome(
    ({ hindsight }) => creditsOrNull(hindsight?.baseline),
    f.figureOrNull('The cost of the same tokens on the baseline model; null for a pinned model. In Credits.', 0.171),
  ),
  baseline_cost_usd: ofOutcome(
    ({ hindsight }) => hindsight?.baseline ?? null,
    orNoUsd('baseline_cost_credits', '0.000171'),
  ),
});

const creditsOrNull = (amount: Microcredits | null | undefined) => (amount == null ? null : toCredits(amount));

function shownOutcome({ record: { outcome }, hindsight, sight }: ShownDecision): ShownOutcome | null {
  if (outcome === null) return null;
  return {
    ...outcome,
    hindsight,
    attempts: outcome.attempts.map((attempt) => shownAttempt(attempt, sight)),
    ...(!sight.showsUpstream && { guards: outcome.guards?.map(plainVerdict) }),
  };
}

/** `dropped` contains names that the caller chose, and records store no text of callers. */
const Receipt = Type.Object(Type.Omit(Platform, ['dropped']).properties);

const ANSWERS = OPERATION_NAMES.map((name) => `\`${name}\`: ${OPERATIONS[name].answer}.`).join(' ');

/** A decision with what its reader may see. */
interface ShownDecision extends Explanation, Certified {
  readonly sight: Sight;
  /** URL of the trace of a request, with `{decision_id}` as a placeholder; null for none. */
  readonly traceUrl: string | null;
}

export const shownDecision = (
  explanation: Explanation,
  sight = FULL_SIGHT,
  traceUrl: string | null = null,
): ShownDecision => {
  const { facts, expectedLength, outcome } = explanation.record;
  return { ...explanation, facts, expectedLength, insteadOf: outcome?.insteadOf, sight, traceUrl };
};

const of = f.from<ShownDecision>();
const ofRecord = <Schema extends TSchema>(read: (record: DecisionRecord) => f.ValueOf<Schema>, field: Schema) =>
  of(({ record }) => read(record), field);
/** A member that a key with the scope `report` may not read. */
const personal = <Schema extends TSchema>(
  read: (record: DecisionRecord) => Exclude<f.ValueOf<Schema>, null> | null,
  field: Schema,
) => of(({ record, sight }) => (sight.isNarrow ? null : read(record)) as f.ValueOf<Schema>, field);
/** The session and the agents that the request names, if the reader may see them. */
const ofRun = <Schema extends TSchema>(read: (run: RunNames) => f.ValueOf<Schema>, field: Schema) =>
  of(({ record, sight }) => read(sight.showsRunsOf(record.keyId, record.labels) ? record : NO_RUN), field);

export const Decision = f.view<ShownDecision>()(
  'Why a model was chosen, and how the request ended.',
  {
    id: ofRecord(({ id }) => id, f.id('dec_', decisionId)),
    object: f.always('decision'),
    created: ofRecord(
      ({ time }) => Math.floor(time / 1_000),
      f.unixTime('When the record was written. While the request runs: when the decision was made.'),
    ),
    time: ofRecord(({ time }) => time, f.moment('The same time as `created`, to the millisecond.')),
    key_id: personal(({ keyId }) => keyId, ofKey.key_id),
    key_name: of(({ record, sight }) => sight.nameOf(record.keyId), ofKey.key_name),
    labels: ofRecord(({ labels }) => labels, ofKey.labels),
    team_id: ofRecord(({ team }) => team, ofKey.team_id),
    user_id: personal(({ user }) => user, ofKey.user_id),
    kind: ofRecord(
      ({ kind }) => kind,
      f.word([...OPERATION_NAMES, 'route'], `${ANSWERS} \`route\`: a recommendation.`),
    ),
    status: ofRecord(
      (record) => (isRunning(record) ? 'running' : statusOf(record)),
      f.word(
        DECISION_STATUSES,
        'How the request ended, as in `outcome.status`; `recommended` for a route query, which calls no model. `running`: the request has not ended.',
      ),
    ),
    sent_by: personal(
      ({ sentBy }) => sentBy,
      f.textOrNull(
        'The ID of the user, or of the key, that sent the request with `POST /admin/playground`; null for a request that was sent with the key itself, and if you ask with a key with the scope `report`.',
      ),
    ),
    session: ofRun(
      ({ session }) => session,
      f.textOrNull('The session that the request names; null if it names none.'),
    ),
    agent: ofRun(
      ({ agent }) => agent,
      f.textOrNull(
        'The agent of the session that sent the request; null if the request names none, or for the first agent.',
      ),
    ),
    parent_agent: ofRun(
      ({ parentAgent }) => parentAgent,
      f.textOrNull('The agent that started this agent; null if the request names none.'),
    ),
    policy_revision: ofRecord(({ revision }) => revision, policyRevision),
    seed: ofRecord(
      ({ seed }) => seed,
      f.text('The random seed of the decision: 64 bits, hexadecimal.', '9f2c51d07be83a64'),
    ),
    route_reason: ofRecord(({ reason }) => reason, routeReason),
    choice: ofRecord(({ choice }) => choice, modelId('The model chosen.')),
    fallbacks: ofRecord(
      ({ fallbacks }) => fallbacks,
      f.textList('Models to try next, best first.', ['mistral-small-4']),
    ),
    last_resorts: ofRecord(
      ({ lastResorts }) => lastResorts.map(({ model }) => model),
      f.textList(
        'Models all of whose endpoints were ejected by a circuit breaker, best first. These models are tried only if all other models have failed.',
        [],
      ),
    ),
    facts: FactsAnswer,
    readings: ofRecord(({ readingsNumber }) => ({ frame: readingsNumber }), Readings),
    quality: f.mapOf(
      Type.Number({ minimum: 0, maximum: 1 }),
      'The expected share of good answers of every model for this request, by ID, from 0 to 1. Models of a wildcard have none. If the decision cannot be repeated, the values include the effects of languages and preferences, and the map is empty if no estimate changed the declared qualities.',
      { 'gpt-6-luna': 0.71, 'gpt-6-astra': 0.93 },
    ),
    left_out: f.orNull(
      f.items(Type.String(), { examples: [['openai (OPENAI_API_KEY is not set)']] }),
      'Providers that could not serve at that time, each with the reason. Null if you ask with a key without the scope `admin`, and if the decision cannot be repeated.',
    ),
    replay: of(({ matches, reason, repeatsEndpoints: endpoints }) => ({ matches, reason, endpoints }), Replay),
    sentences: of(
      (shown) => recordStory(shown),
      sentences(
        'The request in sentences: which model it got and why, what it cost, and whether the decision can be repeated.',
      ),
    ),
    ...CERTIFICATE,
    outcome: of(
      shownOutcome,
      f.orNull(
        Outcome,
        'How the request ended; null for a route query, which calls no model, and while the request runs.',
      ),
    ),
    trace_url: of(
      ({ traceUrl, record }) => traceUrl?.replaceAll('{decision_id}', idText('dec_', record.id)) ?? null,
      f.textOrNull(
        'The URL of the trace of this request, built from `console.trace_url` of the active policy; null if the policy has no such URL, and on `/v1`.',
        null,
      ),
    ),
    receipt: of(
      receiptIn,
      f.onWire(
        f.orNull(
          Receipt,
          'The `platform` object that the caller received; null for a route query, and while the request runs.',
        ),
      ),
    ),
  },
  { title: 'Decision' },
);

/** Returns the caller's `platform` object without the names of dropped fields, because the caller chose these names. */
function receiptIn({ record }: ShownDecision): WireOf<typeof Receipt> | null {
  const { outcome, choice } = record;
  if (outcome === null) return null;
  const last = outcome.attempts.at(-1);
  const model = last && isAnswer(last, outcome) ? last.model : choice;
  const { dropped: _, ...receipt } = platformOf(outcome, record, choice, model);
  return receipt;
}

/** Whether the last attempt produced the answer that the caller saw: it showed content, or was charged. */
function isAnswer({ failure }: AttemptRecord, { status, usage }: DecisionOutcome): boolean {
  if (status === 'abandoned') return failure === null;
  return status !== 'failed' || usage !== null;
}

const ofRepeat = f.from<RepeatedDecision>();

export const DecisionRepeat = f.view<RepeatedDecision>()(
  'How the active policy decides a recorded request. This decision is not recorded.',
  {
    decision_id: ofRepeat(({ record }) => record.id, f.id('dec_', decisionId)),
    object: f.always('decision.repeat'),
    policy_revision: f.as('revision', f.text('The revision of the active policy.', '95f1a7d5f908027b')),
    route_reason: ofRepeat(
      ({ certificate, refusal }) => (certificate && refusal === null ? certificate.reason : null),
      f.textOrNull('Why the active policy chooses the model; null for a refusal.', 'auto:usual'),
    ),
    choice: ofRepeat(
      ({ certificate }) => certificate?.choice ?? null,
      f.textOrNull('The model that the active policy chooses; null for a refusal.', 'gpt-6-luna'),
    ),
    recorded_choice: ofRepeat(
      ({ record }) => record.choice,
      modelId('The model that was chosen when the request was made.'),
    ),
    refusal: f.shapeOrNull(
      'The error of a refusal; null for a decision.',
      {
        code: f.word(ERROR_CODES, 'A code.', 'no_eligible_model'),
        message: f.text('The error in words.', 'No model can serve this request.'),
      },
      null,
    ),
    sentences: ofRepeat(
      repeatStory,
      sentences('The decision in sentences, beginning with a comparison with the recorded choice.'),
    ),
    ...CERTIFICATE,
  },
  { title: 'DecisionRepeat' },
);

function repeatStory({ record, facts, certificate, refusal }: RepeatedDecision): readonly Told[] {
  return [
    sentence('outcome', againWords(record.choice, certificate?.choice ?? null)),
    ...(certificate ? story(certificate, facts) : []),
    ...(refusal && !certificate?.refusal ? [sentence('refusal', [refusal.message])] : []),
  ];
}

/** Compares the choice of today with the recorded choice. @param today null for a refusal */
function againWords(recorded: string, today: string | null): Parts {
  if (today === null) return ['Today it would be refused.'];
  if (today === recorded) return words`Today it would go to ${model(today)} again.`;
  return words`Today it would go to ${model(today)} instead of ${model(recorded)}.`;
}
