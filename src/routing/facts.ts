import type { Caller } from '../core/caller.ts';
import { CAPABILITIES } from '../core/capability.ts';
import type { ChatRequest, RouteConstraints, RouteStrategy } from '../core/chat-request.ts';
import { limitFromCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Facts } from '../core/facts.ts';
import { canonicalLanguage } from '../core/languages.ts';
import type { RouteQuery } from '../core/route-query.ts';
import { NO_RULES } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { type Profile, profile } from './profile.ts';

/** The facts of a chat request. Throws SignalboxError where the request contradicts itself or the key. */
export function chatFacts(request: ChatRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  const { messages, tools, tool_choice, response_format, n, logprobs } = request;
  return {
    ...aimOf(request.model, caller, snapshot),
    ...wishesOf(request, snapshot),
    ...profile({ messages, tools, tool_choice, response_format, n, logprobs }),
    outputTokens: null,
    outputTokensMax: request.max_completion_tokens ?? request.max_tokens ?? null,
    choices: n ?? 1,
    budget: request.budget_limit == null ? null : limitFromCredits(request.budget_limit),
    rules: NO_RULES,
  };
}

/** What every chat request of a task needs, by how the task is told from its content. */
const NEEDS_OF_TASK: Readonly<Record<string, number>> = {
  vision: CAPABILITIES.vision.bit,
  tool_use: CAPABILITIES.tools.bit,
};

/** The facts of a route query; a task type that the policy does not know counts as `general`. */
export function routeFacts(query: RouteQuery, caller: Caller, snapshot: PolicySnapshot): Facts {
  const read: Profile | null = query.messages ? profile({ messages: query.messages }) : null;
  const task = query.task_type === undefined ? (read?.task ?? 'general') : taskNamed(query.task_type, snapshot);
  const expected = snapshot.tasks[snapshot.taskIndex.get(task) ?? 0]!.defaultInputTokens;
  const inputTokens = query.estimated_input_tokens ?? read?.inputTokens ?? expected;
  return {
    ...aimOf(query.model ?? 'auto', caller, snapshot),
    ...wishesOf(query, snapshot),
    task,
    inputTokens,
    inputTokensMax: Math.max(read?.inputTokensMax ?? 0, inputTokens),
    images: read?.images ?? 0,
    unboundedMedia: read?.unboundedMedia ?? 0,
    needs: (read?.needs ?? 0) | (NEEDS_OF_TASK[task] ?? 0),
    outputTokens: query.estimated_output_tokens ?? null,
    outputTokensMax: null,
    choices: 1,
    budget: null,
    rules: NO_RULES,
  };
}

/** The policy's task of that name, whatever the case of its letters; `general` for one that it does not know. */
export function taskNamed(name: string, { taskIndex }: PolicySnapshot): string {
  if (taskIndex.has(name)) return name;
  const lower = name.toLowerCase();
  return taskIndex.has(lower) ? lower : 'general';
}

/** What `model` names, and which models the key may use. */
function aimOf(
  name: string,
  caller: Caller,
  snapshot: PolicySnapshot,
): Pick<Facts, 'model' | 'pinned' | 'allowedModels'> {
  const pinned = !snapshot.selectors.has(name);
  if (pinned && !snapshot.modelIndex.has(name)) {
    const selectors = [...snapshot.selectors.keys()].join(', ');
    const absent = snapshot.leftOut.find((item) => item.kind === 'model' && item.name === name);
    throw new SignalboxError(
      'model_not_found',
      absent
        ? `The model \`${name}\` is in the policy but cannot be served: ${absent.reason}.`
        : `There is no model or selector \`${name}\`. Selectors are ${selectors}; GET /v1/models lists all models.`,
      { param: 'model' },
    );
  }
  if (pinned && caller.models !== null && !caller.models.has(name)) {
    throw new SignalboxError('insufficient_permissions', `This API key may not use the model \`${name}\`.`, {
      param: 'model',
    });
  }
  return { model: name, pinned, allowedModels: caller.models === null ? null : [...caller.models] };
}

function wishesOf(
  request: { readonly constraints?: RouteConstraints | null; readonly route_strategy?: RouteStrategy | null },
  snapshot: PolicySnapshot,
): Pick<Facts, 'languages' | 'weights' | 'ceilings'> {
  const { constraints, route_strategy: strategy } = request;
  return {
    languages: constraints?.required_languages?.map(canonicalLanguage) ?? [],
    weights: strategy ? weightsOf(strategy, snapshot) : null,
    ceilings: { costCredits: constraints?.max_cost_credits ?? null, latencyMs: constraints?.max_latency_ms ?? null },
  };
}

function weightsOf(strategy: RouteStrategy, { defaultWeights }: PolicySnapshot): { cost: number; quality: number } {
  const cost = strategy.cost_weight ?? defaultWeights.cost;
  const quality = strategy.quality_weight ?? defaultWeights.quality;
  if (cost === 0 && quality === 0) {
    throw new SignalboxError('out_of_range', 'cost_weight and quality_weight must not both be 0.', {
      param: 'route_strategy',
    });
  }
  return { cost, quality };
}
