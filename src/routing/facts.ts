import type { Caller } from '../core/caller.ts';
import { CAPABILITIES } from '../core/capability.ts';
import type { ChatRequest, RouteConstraints, RouteStrategy } from '../core/chat-request.ts';
import { limitFromCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Facts } from '../core/facts.ts';
import { canonicalLanguage } from '../core/languages.ts';
import { chatOf, type RouteRequest } from '../core/route-query.ts';
import { NO_RULES } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { OutputHint } from './profile/expected-output.ts';
import { type Profile, profile } from './profile/profile.ts';

const EMPTY: readonly never[] = [];

/** The fields of a request that describe how to route it. */
type RoutingFields = Pick<
  ChatRequest,
  'model' | 'constraints' | 'route_strategy' | 'budget_limit' | 'max_tokens' | 'max_completion_tokens' | 'n'
>;

/** @throws SignalboxError where the request contradicts itself, or the key may not use its model. */
export function chatFacts(request: ChatRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  return factsOf(request, profile(request), caller, snapshot);
}

function factsOf(request: RoutingFields, read: Profile, caller: Caller, snapshot: PolicySnapshot): Facts {
  const pinned = isPinned(request.model, caller, snapshot);
  const { constraints, route_strategy: strategy } = request;
  const weights = strategy ? weightsOf(strategy, snapshot) : null;
  // Spreading three objects would cost more than reading the prompt.
  return {
    operation: 'chat',
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
    outputTokensAsked: outputOf(read.output, read.task, snapshot),
    outputTokensMax: request.max_completion_tokens ?? request.max_tokens ?? null,
    choices: request.n ?? 1,
    needs: read.needs,
    cached: EMPTY,
    languages: languagesOf(constraints),
    weights,
    ceilings: ceilingsOf(constraints),
    budget: request.budget_limit === undefined ? null : limitFromCredits(request.budget_limit),
    allowedModels: allowedModels(caller),
    funds: null,
    rules: NO_RULES,
  };
}

/** Capabilities that every request of a task needs. */
const NEEDS_OF_TASK: Readonly<Record<string, number>> = {
  vision: CAPABILITIES.vision.bit,
  tool_use: CAPABILITIES.tools.bit,
};

/** The profile of a request without messages. */
const NO_CONTENT: Profile = {
  task: 'general',
  mix: EMPTY,
  difficulty: 'usual',
  naturalLanguage: 'und',
  languagesSeen: EMPTY,
  inputTokens: 0,
  inputTokensMax: 0,
  images: 0,
  audioBytes: 0,
  unboundedMedia: 0,
  output: { stated: null, atMost: null },
  needs: 0,
};

/**
 * Reads the facts of a route request. Its own figures override those of its content. Without messages a task has its usual
 * size; an unknown task counts as `general`. Throws as `chatFacts` does.
 */
export function routeFacts(route: RouteRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  const chat = chatOf(route);
  const content = chat ? profile(chat) : NO_CONTENT;
  const read = route.task_type === undefined ? content : withTask(content, taskNamed(route.task_type, snapshot));
  const facts = factsOf(chat ?? { ...route, model: route.model ?? 'auto' }, read, caller, snapshot);
  const { task, inputTokensMax } = facts;
  const usual = chat ? undefined : snapshot.tasks[snapshot.taskIndex.get(task) ?? 0]!.defaultInputTokens;
  const inputTokens = route.estimated_input_tokens ?? usual;
  return {
    ...facts,
    ...(inputTokens !== undefined && { inputTokens, inputTokensMax: Math.max(inputTokensMax, inputTokens) }),
    outputTokens: route.estimated_output_tokens ?? null,
  };
}

const withTask = (read: Profile, task: string): Profile => ({
  ...read,
  task,
  mix: EMPTY,
  // A difficulty holds only for the task that it was read with.
  difficulty: task === read.task ? read.difficulty : 'usual',
  needs: read.needs | (NEEDS_OF_TASK[task] ?? 0),
});

/** The length that the request states, or a bound below its task's usual length; null where the usual length applies. */
function outputOf({ stated, atMost }: OutputHint, task: string, { tasks, taskIndex }: PolicySnapshot): number | null {
  if (stated !== null || atMost === null) return stated;
  return atMost < tasks[taskIndex.get(task) ?? 0]!.expectedOutputTokens ? atMost : null;
}

/** The policy's task of that name, ignoring case; `general` for an unknown one. */
function taskNamed(name: string, { taskIndex }: PolicySnapshot): string {
  if (taskIndex.has(name)) return name;
  const lower = name.toLowerCase();
  return taskIndex.has(lower) ? lower : 'general';
}

/** Whether `name` is a model, not a selector. @throws SignalboxError where it is neither, or the key may not use it. */
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

const languagesOf = (constraints: RouteConstraints | undefined): Facts['languages'] =>
  constraints?.required_languages?.map(canonicalLanguage) ?? [];

const ceilingsOf = (constraints: RouteConstraints | undefined): Facts['ceilings'] => ({
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
