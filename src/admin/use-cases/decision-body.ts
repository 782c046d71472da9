import {
  type AttemptRecord,
  type DecisionOutcome,
  type DecisionRecord,
  isRunning,
  type SpreadRecord,
  statusOf,
} from '../../core/decision/record.ts';
import { idText } from '../../core/id.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import type { GuardCall, GuardVerdict } from '../../core/policy/guards.ts';
import { capabilityNames, SCHEMA_INSTEAD } from '../../core/request/capability.ts';
import type { Facts, FundFacts, Unescalated } from '../../core/request/facts.ts';
import { byReason, listFor } from '../../core/request/fallbacks.ts';
import { NO_RUN } from '../../core/request/run-names.ts';
import { iso } from '../../core/time/clock.ts';
import { usageBody } from '../../dialects/openai-chat/completion.ts';
import { callText, verdictText } from '../../gateway/guards/hypothetical-guards.ts';
import { platformOf } from '../../gateway/money/receipt.ts';
import type { Hindsight } from '../../gateway/request/certificate.ts';
import type { Explanation } from '../../gateway/request/explain.ts';
import { spreadReason } from '../../routing/spread-text.ts';
import { certificateBody, lengthBody, NO_CERTIFICATE } from './certificate-body.ts';
import { FULL_SIGHT, type Sight } from './sight.ts';
import { snakeKeys } from './snake-keys.ts';

/**
 * Writes a decision in the form of `GET /v1/decisions/{id}` and of the command line.
 * @param traceUrl URL of the trace of a request, with `{decision_id}` as a placeholder
 */
export function decisionBody(explanation: Explanation, sight = FULL_SIGHT, traceUrl: string | null = null): object {
  const { record, quality, certificate, matches, repeatsEndpoints, reason, hindsight, leftOut } = explanation;
  const { kind, seed, choice, fallbacks, readingsNumber, facts, outcome } = record;
  const { session, agent, parentAgent } = sight.showsRunsOf(record.keyId, record.labels) ? record : NO_RUN;
  return {
    id: idText('dec_', record.id),
    object: 'decision',
    created: Math.floor(record.time / 1000),
    time: iso(record.time),
    key_id: sight.isNarrow ? null : record.keyId,
    key_name: sight.nameOf(record.keyId),
    labels: record.labels,
    ...snakeKeys({ kind, session, agent, parentAgent }),
    status: isRunning(record) ? 'running' : statusOf(record),
    team_id: record.team,
    user_id: sight.isNarrow ? null : record.user,
    sent_by: sight.isNarrow ? null : record.sentBy,
    policy_revision: record.revision,
    seed,
    route_reason: record.reason,
    choice,
    fallbacks,
    last_resorts: record.lastResorts.map(({ model }) => model),
    facts: factsBody(facts),
    readings: { frame: readingsNumber },
    quality,
    left_out: leftOut,
    replay: { matches, reason, endpoints: repeatsEndpoints },
    ...(certificate ? certificateBody(certificate, facts) : { ...NO_CERTIFICATE, ...lengthBody(record) }),
    ...(outcome?.insteadOf && { instead_of: outcome.insteadOf }),
    outcome: outcome && outcomeBody(outcome, hindsight, sight),
    receipt: outcome && receiptBody(record, outcome),
    trace_url: traceUrl?.replaceAll('{decision_id}', idText('dec_', record.id)) ?? null,
  };
}

const unescalatedBody = ({ signal, turnsAgo, share, isUnpaid }: Unescalated): object => ({
  signal,
  turns_ago: turnsAgo,
  why: isUnpaid ? 'money' : 'share_max',
  escalated: share?.escalated ?? null,
  conversations: share?.conversations ?? null,
});

export function factsBody(facts: Facts): object {
  const { operation, model, alias, named, fallbacks, task, weights, ceilings, addOns } = facts;
  const { images, audioBytes, pdfs, pages, unboundedMedia } = facts;
  return {
    operation,
    model,
    alias,
    pinned: named !== null,
    fallbacks: fallbacks ? { by: fallbacks.by, ...byReason((reason) => listFor(fallbacks, reason)) } : null,
    task,
    task_shares: facts.mix,
    difficulty: facts.difficulty,
    stuck: facts.stuck ? snakeKeys(facts.stuck) : null,
    task_stated: facts.isTaskStated === true,
    first_tier: facts.tier ? { ...facts.tier } : null,
    escalation: facts.escalation ? snakeKeys(facts.escalation) : null,
    unescalated: facts.unescalated ? unescalatedBody(facts.unescalated) : null,
    conversation: facts.conversation ? { ...facts.conversation } : null,
    guards: facts.guards ? { ...facts.guards } : null,
    natural_language: facts.naturalLanguage,
    languages: facts.languagesSeen,
    estimated_input_tokens: facts.inputTokens,
    max_input_tokens: facts.inputTokensMax,
    counted_input_tokens: facts.inputTokensCounted,
    service_counts: facts.serviceCounts ?? null,
    cached_input_tokens: Object.fromEntries(facts.cached.map(({ model, tokens }) => [model, tokens])),
    ...snakeKeys({ images, audioBytes, pdfs, pages, unboundedMedia }),
    estimated_output_tokens: facts.outputTokens,
    asked_output_tokens: facts.outputTokensAsked,
    max_tokens: facts.outputTokensMax,
    min_output_tokens: facts.outputTokensMin ?? null,
    n: facts.choices,
    needs: capabilityNames(facts.needs),
    adapts_forced_tool: (facts.needs & SCHEMA_INSTEAD) !== 0,
    required_languages: facts.languages,
    route_strategy: weights && {
      cost_weight: weights.cost,
      quality_weight: weights.quality,
      ...(weights.latency !== undefined && { latency_weight: weights.latency }),
    },
    max_cost_credits: ceilings.costCredits,
    max_latency_ms: ceilings.latencyMs,
    budget_limit: creditsOrNull(facts.budget),
    max_funded_credits: creditsOrNull(facts.funds?.free),
    capping_fund: cappingFund(facts.funds),
    key_models: facts.allowedModels,
    key_not_models: facts.deniedModels ?? null,
    embedding: embeddingBody(facts),
    thread: facts.thread ?? null,
    thought_readers: facts.readers ?? null,
    add_ons: addOns ? snakeKeys(addOns) : null,
  };
}

const creditsOrNull = (amount: Microcredits | null | undefined) => (amount == null ? null : toCredits(amount));

function embeddingBody({ embedding }: Facts): object | null {
  if (embedding === undefined) return null;
  const { inputs, longest, dimensions } = embedding;
  return { inputs, longest_input_tokens: longest, dimensions };
}

function cappingFund(funds: FundFacts | null): object | null {
  if (funds?.cap === undefined) return null;
  const { by, unspent } = funds.cap;
  return { name: by, unspent_credits: toCredits(unspent) };
}

/** The failures whose message the caller of the request gets. */
const TOLD_FAILURES: ReadonlySet<string | null> = new Set(['rejected', 'context']);

/** Writes an attempt. Only operators see messages of providers that the caller of the request did not get. */
export function attemptBody(attempt: AttemptRecord, { isNarrow, showsUpstream }: Sight): object {
  const { status = null, message = null, failure, spread, key = null, after = null, charged, ...usual } = attempt;
  const isShown = showsUpstream || (TOLD_FAILURES.has(failure) && !isNarrow);
  return {
    ...snakeKeys({ ...usual, failure }),
    status,
    message: isShown ? message : null,
    spread: spread ? spreadBody(spread, attempt.endpoint) : null,
    key: showsUpstream ? key : null,
    after,
    credits_consumed: creditsOrNull(charged),
  };
}

function outcomeBody(outcome: DecisionOutcome, hindsight: Hindsight | null, sight: Sight): object {
  const { status, error, firstPartMs, totalMs, usageReplaced } = outcome;
  return {
    status,
    error,
    attempts: outcome.attempts.map((attempt) => attemptBody(attempt, sight)),
    usage: outcome.usage && usageBody(outcome.usage, outcome.estimated),
    estimated: outcome.estimated,
    credits_consumed: toCredits(outcome.charged),
    cost_saved_credits: toCredits(outcome.saved),
    runner_up_cost_credits: creditsOrNull(hindsight?.runnerUp),
    baseline_cost_credits: creditsOrNull(hindsight?.baseline),
    ...snakeKeys({ firstPartMs, totalMs, usageReplaced }),
    output_capped_by: outcome.cappedBy,
    adapted: outcome.adapted ?? [],
    full: (outcome.full ?? []).map(snakeKeys),
    guards: (outcome.guards ?? []).map((verdict) => verdictBody(verdict, sight)),
    guard_calls: (outcome.guardCalls ?? []).map(callBody),
    repeats: outcome.repeats === undefined ? null : idText('dec_', outcome.repeats),
    cache: outcome.cache ?? null,
  };
}

const verdictBody = (verdict: GuardVerdict, { showsUpstream }: Sight): object => {
  const { guard, side, action, matches, failed, unreadable } = verdict;
  return {
    ...{ guard, side, action, matches: { ...matches }, text: verdictText(verdict, showsUpstream) },
    failed: failed ?? false,
    unreadable: unreadable ?? null,
  };
};

const callBody = (call: GuardCall): object => {
  const { guard, side, model, entry, charged, ms } = call;
  const credits = toCredits(charged);
  return { guard, side, model, entry: idText('dec_', entry), credits_consumed: credits, ms, text: callText(call) };
};

/** Returns the caller's `platform` object without the names of dropped fields, because the caller chose these names. */
function receiptBody(record: DecisionRecord, outcome: DecisionOutcome): object {
  const last = outcome.attempts.at(-1);
  const model = last && isAnswer(last, outcome) ? last.model : record.choice;
  const { dropped: _, ...receipt } = platformOf(outcome, record, record.choice, model);
  return receipt;
}

/** Whether the last attempt produced the answer that the caller saw: it showed content, or was charged. */
function isAnswer({ failure }: AttemptRecord, { status, usage }: DecisionOutcome): boolean {
  if (status === 'abandoned') return failure === null;
  return status !== 'failed' || usage !== null;
}

function spreadBody(spread: SpreadRecord, endpoint: number | null): object {
  const { isDrawn, warm, unmeasured, ...others } = spread;
  return {
    ...others,
    warm: warm ?? null,
    unmeasured: unmeasured ?? [],
    drawn: isDrawn === true,
    reason: spreadReason(spread, endpoint),
  };
}
