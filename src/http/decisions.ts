import { Elysia } from 'elysia';
import { capabilityNames } from '../core/capability.ts';
import { toCredits } from '../core/credits.ts';
import type { Facts } from '../core/facts.ts';
import { idText } from '../core/id.ts';
import { type Explanation, explain } from '../gateway/explain.ts';
import type { Outcome } from '../records/record.ts';
import { usageBody } from './completion.ts';
import type { RouteContext } from './context.ts';
import { DECISION_ANSWER } from './docs/examples.ts';
import { operation } from './docs/operation.ts';
import { Decision } from './schemas/decision.ts';

/** `GET /v1/decisions/{id}`: why a model was chosen and what came of it. */
export const decisionRoutes = ({ gateway, callerOf }: RouteContext) =>
  new Elysia({ name: 'decisions' }).get(
    '/v1/decisions/:id',
    async ({ params: { id }, request }) => decisionBody(await explain(gateway, id, callerOf(request))),
    operation({
      summary: 'Explain a decision',
      description:
        'The facts (never text), the quality of each model, the choice, and what came of it. For the key that asked, or an admin’s.',
      tag: 'decisions',
      answer: { schema: Decision, description: 'The record of the decision.', example: DECISION_ANSWER },
      errors: ['not_found'],
    }),
  );

function decisionBody({ record, quality }: Explanation): object {
  return {
    id: idText('dec_', record.id),
    object: 'decision',
    created: Math.floor(record.time / 1000),
    kind: record.kind,
    policy_revision: record.revision,
    seed: record.seed,
    route_reason: record.reason,
    choice: record.choice,
    fallbacks: record.fallbacks,
    facts: factsBody(record.facts),
    quality,
    outcome: record.outcome && outcomeBody(record.outcome),
  };
}

function factsBody(facts: Facts): object {
  return {
    model: facts.model,
    pinned: facts.pinned,
    task: facts.task,
    estimated_input_tokens: facts.inputTokens,
    max_input_tokens: facts.inputTokensMax,
    images: facts.images,
    estimated_output_tokens: facts.outputTokens,
    max_tokens: facts.outputTokensMax,
    n: facts.choices,
    needs: capabilityNames(facts.needs),
    required_languages: facts.languages,
    route_strategy: facts.weights && { cost_weight: facts.weights.cost, quality_weight: facts.weights.quality },
    max_cost_credits: facts.ceilings.costCredits,
    max_latency_ms: facts.ceilings.latencyMs,
    budget_limit: facts.budget === null ? null : toCredits(facts.budget),
    max_funded_credits: facts.funds?.free == null ? null : toCredits(facts.funds.free),
  };
}

function outcomeBody(outcome: Outcome): object {
  return {
    status: outcome.status,
    error: outcome.error,
    attempts: outcome.attempts.map(({ model, provider, ms, firstPartMs, failure }) => ({
      model,
      provider,
      ms,
      first_part_ms: firstPartMs,
      failure,
    })),
    usage: outcome.usage && usageBody(outcome.usage, outcome.estimated),
    estimated: outcome.estimated,
    credits_consumed: toCredits(outcome.charged),
    cost_saved_credits: toCredits(outcome.saved),
    first_part_ms: outcome.firstPartMs,
    total_ms: outcome.totalMs,
  };
}
