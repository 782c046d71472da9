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
import { type Profile, profile } from './profile/profile.ts';

const NOTHING: readonly never[] = [];

/** The facts of a chat request. Throws SignalboxError where the request contradicts itself or the key. */
export function chatFacts(request: ChatRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  const pinned = isPinned(request.model, caller, snapshot);
  const { constraints, route_strategy: strategy } = request;
  const weights = strategy ? weightsOf(strategy, snapshot) : null;
  const read = profile(request);
  // Field by field: three spread objects would cost more than reading the prompt.
  return {
    model: request.model,
    pinned,
    task: read.task,
    mix: read.mix,
    difficulty: read.difficulty,
    naturalLanguage: read.naturalLanguage,
    languagesSeen: read.languagesSeen,
    inputTokens: read.inputTokens,
    inputTokensMax: read.inputTokensMax,
    inputTokensCounted: null,
    images: read.images,
    audioBytes: read.audioBytes,
    unboundedMedia: read.unboundedMedia,
    outputTokens: null,
    outputTokensAsked: read.outputTokensAsked,
    outputTokensMax: request.max_completion_tokens ?? request.max_tokens ?? null,
    choices: request.n ?? 1,
    needs: read.needs,
    cached: NOTHING,
    languages: languagesOf(constraints),
    weights,
    ceilings: ceilingsOf(constraints),
    budget: request.budget_limit == null ? null : limitFromCredits(request.budget_limit),
    allowedModels: allowedModels(caller),
    funds: null,
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
  const model = query.model ?? 'auto';
  const pinned = isPinned(model, caller, snapshot);
  const { constraints, route_strategy: strategy } = query;
  const weights = strategy ? weightsOf(strategy, snapshot) : null;
  const read: Profile | null = query.messages ? profile({ messages: query.messages }) : null;
  const task = query.task_type === undefined ? (read?.task ?? 'general') : taskNamed(query.task_type, snapshot);
  const expected = snapshot.tasks[snapshot.taskIndex.get(task) ?? 0]!.defaultInputTokens;
  const inputTokens = query.estimated_input_tokens ?? read?.inputTokens ?? expected;
  return {
    model,
    pinned,
    task,
    mix: query.task_type === undefined ? (read?.mix ?? NOTHING) : NOTHING,
    // A task that the caller names, other than the one read, is one that the reader does not see.
    difficulty: read !== null && task === read.task ? read.difficulty : 'usual',
    naturalLanguage: read?.naturalLanguage ?? 'und',
    languagesSeen: read?.languagesSeen ?? NOTHING,
    inputTokens,
    inputTokensMax: Math.max(read?.inputTokensMax ?? 0, inputTokens),
    inputTokensCounted: null,
    images: read?.images ?? 0,
    audioBytes: read?.audioBytes ?? 0,
    unboundedMedia: read?.unboundedMedia ?? 0,
    outputTokens: query.estimated_output_tokens ?? null,
    outputTokensAsked: read?.outputTokensAsked ?? null,
    outputTokensMax: null,
    choices: 1,
    needs: (read?.needs ?? 0) | (query.task_type === undefined ? 0 : (NEEDS_OF_TASK[task] ?? 0)),
    cached: NOTHING,
    languages: languagesOf(constraints),
    weights,
    ceilings: ceilingsOf(constraints),
    budget: null,
    allowedModels: allowedModels(caller),
    funds: null,
    rules: NO_RULES,
  };
}

/** The policy's task of that name, whatever the case of its letters; `general` for one that it does not know. */
function taskNamed(name: string, { taskIndex }: PolicySnapshot): string {
  if (taskIndex.has(name)) return name;
  const lower = name.toLowerCase();
  return taskIndex.has(lower) ? lower : 'general';
}

/** Whether `name` is a model's, not a selector's. Throws SignalboxError when it is neither or the key may not use it. */
function isPinned(name: string, caller: Caller, snapshot: PolicySnapshot): boolean {
  const pinned = !snapshot.selectors.has(name);
  if (pinned && !snapshot.modelIndex.has(name)) {
    const selectors = [...snapshot.selectors.keys()].join(', ');
    const absent = snapshot.leftOut.find((item) => item.kind === 'model' && item.name === name);
    const why = caller.scopes.has('admin') ? absent?.reason : absent?.toCallers;
    throw new SignalboxError(
      'model_not_found',
      absent
        ? `The model \`${name}\` is in the policy but cannot be served: ${why ?? 'it is left out'}.`
        : `There is no model or selector \`${name}\`. Selectors are ${selectors}; GET /v1/models lists all models.`,
      { param: 'model' },
    );
  }
  if (pinned && caller.models !== null && !caller.models.has(name)) {
    throw new SignalboxError('insufficient_permissions', `This API key may not use the model \`${name}\`.`, {
      param: 'model',
    });
  }
  return pinned;
}

const allowedModels = ({ models }: Caller): Facts['allowedModels'] => (models === null ? null : [...models]);

const languagesOf = (constraints: RouteConstraints | null | undefined): Facts['languages'] =>
  constraints?.required_languages?.map(canonicalLanguage) ?? [];

const ceilingsOf = (constraints: RouteConstraints | null | undefined): Facts['ceilings'] => ({
  costCredits: constraints?.max_cost_credits ?? null,
  latencyMs: constraints?.max_latency_ms ?? null,
});

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
