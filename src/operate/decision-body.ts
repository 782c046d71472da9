import type { AskedAddOns } from '../core/add-ons.ts';
import { capabilityNames } from '../core/capability.ts';
import { toCredits } from '../core/credits.ts';
import type { AttemptRecord, DecisionOutcome, DecisionRecord } from '../core/decision-record.ts';
import type { Facts, FundFacts } from '../core/facts.ts';
import { idText } from '../core/id.ts';
import { platformAttempt } from '../money/receipt.ts';
import type { Hindsight } from '../request/certificate.ts';
import type { Explanation } from '../request/explain.ts';
import { usageBody } from '../surface/openai-chat/completion.ts';
import { certificateBody, NO_CERTIFICATE } from './certificate-body.ts';

/** A decision as `GET /v1/decisions/{id}` answers and the command line prints it. */
export function decisionBody(explanation: Explanation): object {
  const { record, quality, certificate, matches, reason, hindsight, leftOut } = explanation;
  return {
    id: idText('dec_', record.id),
    object: 'decision',
    created: Math.floor(record.time / 1000),
    kind: record.kind,
    session: record.session,
    agent: record.agent,
    parent_agent: record.parentAgent,
    policy_revision: record.revision,
    seed: record.seed,
    route_reason: record.reason,
    choice: record.choice,
    fallbacks: record.fallbacks,
    last_resorts: record.lastResorts.map(({ model }) => model),
    facts: factsBody(record.facts),
    readings: { frame: record.readingsNumber },
    quality,
    left_out: leftOut,
    replay: { matches, reason },
    ...(certificate ? certificateBody(certificate, record.facts) : NO_CERTIFICATE),
    outcome: record.outcome && outcomeBody(record.outcome, hindsight),
    receipt: record.outcome && receiptBody(record, record.outcome),
  };
}

export function factsBody(facts: Facts): object {
  const { operation, model, alias, pinned, task } = facts;
  return {
    ...{ operation, model, alias, pinned, task },
    task_shares: facts.mix,
    difficulty: facts.difficulty,
    quality_factor: facts.qualityFactor ?? null,
    natural_language: facts.naturalLanguage,
    languages: facts.languagesSeen,
    estimated_input_tokens: facts.inputTokens,
    max_input_tokens: facts.inputTokensMax,
    counted_input_tokens: facts.inputTokensCounted,
    service_counts: facts.serviceCounts ?? null,
    cached_input_tokens: Object.fromEntries(facts.cached.map(({ model, tokens }) => [model, tokens])),
    images: facts.images,
    audio_bytes: facts.audioBytes,
    pdfs: facts.pdfs,
    pages: facts.pages,
    unbounded_media: facts.unboundedMedia,
    estimated_output_tokens: facts.outputTokens,
    asked_output_tokens: facts.outputTokensAsked,
    max_tokens: facts.outputTokensMax,
    n: facts.choices,
    needs: capabilityNames(facts.needs),
    required_languages: facts.languages,
    route_strategy: facts.weights && { cost_weight: facts.weights.cost, quality_weight: facts.weights.quality },
    max_cost_credits: facts.ceilings.costCredits,
    max_latency_ms: facts.ceilings.latencyMs,
    budget_limit: facts.budget === null ? null : toCredits(facts.budget),
    max_funded_credits: facts.funds?.free == null ? null : toCredits(facts.funds.free),
    capping_fund: cappingFund(facts.funds),
    key_models: facts.allowedModels,
    embedding: embeddingBody(facts),
    thread: facts.thread ?? null,
    thought_readers: facts.readers ?? null,
    add_ons: facts.addOns ? addOnsBody(facts.addOns) : null,
  };
}

const addOnsBody = ({ hourCache, toolUses, rereadings, unpriced }: AskedAddOns): object => ({
  hour_cache: hourCache,
  tool_uses: toolUses,
  rereadings,
  unpriced,
});

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

function outcomeBody(outcome: DecisionOutcome, hindsight: Hindsight | null): object {
  const credits = (cost: number | null | undefined) => (cost == null ? null : toCredits(cost));
  return {
    status: outcome.status,
    error: outcome.error,
    attempts: outcome.attempts.map((attempt) => ({
      ...platformAttempt(attempt),
      upstream: attempt.upstream,
      endpoint: attempt.endpoint,
      first_part_ms: attempt.firstPartMs,
    })),
    usage: outcome.usage && usageBody(outcome.usage, outcome.estimated),
    estimated: outcome.estimated,
    credits_consumed: toCredits(outcome.charged),
    cost_saved_credits: toCredits(outcome.saved),
    runner_up_cost_credits: credits(hindsight?.runnerUp),
    baseline_cost_credits: credits(hindsight?.baseline),
    first_part_ms: outcome.firstPartMs,
    total_ms: outcome.totalMs,
    output_capped_by: outcome.cappedBy,
    usage_replaced: outcome.usageReplaced,
  };
}

/** The caller's `platform` without the names of dropped fields, which are the caller's own words. */
function receiptBody({ id, revision, reason, choice }: DecisionRecord, outcome: DecisionOutcome): object {
  const { attempts } = outcome;
  const last = attempts.at(-1);
  const model = last && isAnswer(last, outcome) ? last.model : choice;
  return {
    routed_model: model,
    route_reason: model === choice ? reason : `${reason}:fallback`,
    credits_consumed: toCredits(outcome.charged),
    cost_saved_credits: toCredits(outcome.saved),
    decision_id: idText('dec_', id),
    policy_revision: revision,
    estimated: outcome.estimated,
    attempts: attempts.map(platformAttempt),
    ...(outcome.cappedBy !== null && { output_capped_by: outcome.cappedBy }),
    ...(outcome.usageReplaced && { usage_replaced: true }),
  };
}

/** Whether the last attempt is the one that the caller saw: it showed content, or was charged. */
function isAnswer({ failure }: AttemptRecord, { status, usage }: DecisionOutcome): boolean {
  if (status === 'abandoned') return failure === null;
  return status !== 'failed' || usage !== null;
}
