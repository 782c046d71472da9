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

const NOTHING: readonly never[] = [];

/** What a request says beside its content. */
type Terms = Pick<
  ChatRequest,
  'model' | 'constraints' | 'route_strategy' | 'budget_limit' | 'max_tokens' | 'max_completion_tokens' | 'n'
>;

/** The facts of a chat request. Throws SignalboxError where the request contradicts itself or the key. */
export function chatFacts(request: ChatRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  return factsOf(request, profile(request), caller, snapshot);
}

function factsOf(request: Terms, read: Profile, caller: Caller, snapshot: PolicySnapshot): Facts {
  const pinned = isPinned(request.model, caller, snapshot);
  const { constraints, route_strategy: strategy } = request;
  const weights = strategy ? weightsOf(strategy, snapshot) : null;
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
    outputTokensAsked: outputOf(read.output, read.task, snapshot),
    outputTokensMax: request.max_completion_tokens ?? request.max_tokens ?? null,
    choices: request.n ?? 1,
    needs: read.needs,
    cached: NOTHING,
    languages: languagesOf(constraints),
    weights,
    ceilings: ceilingsOf(constraints),
    budget: request.budget_limit === undefined ? null : limitFromCredits(request.budget_limit),
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

/** What is read where there are no messages. */
const SILENCE: Profile = {
  task: 'general',
  mix: NOTHING,
  difficulty: 'usual',
  naturalLanguage: 'und',
  languagesSeen: NOTHING,
  inputTokens: 0,
  inputTokensMax: 0,
  images: 0,
  audioBytes: 0,
  unboundedMedia: 0,
  output: { stated: null, atMost: null },
  needs: 0,
};

/**
 * The facts of a route request: those of its chat, with what it states in place of what was read. Without messages a
 * task has its usual size; one that the policy does not know counts as `general`.
 */
export function routeFacts(route: RouteRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  const chat = chatOf(route);
  const seen = chat ? profile(chat) : SILENCE;
  const read = route.task_type === undefined ? seen : withTask(seen, taskNamed(route.task_type, snapshot));
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
  mix: NOTHING,
  // A task that the caller names, other than the one read, is one that the reader does not see.
  difficulty: task === read.task ? read.difficulty : 'usual',
  needs: read.needs | (NEEDS_OF_TASK[task] ?? 0),
});

/** What the request asks for, or where it lets expect less than is usual of its task, so much; null where the task's figure stands. */
function outputOf({ stated, atMost }: OutputHint, task: string, { tasks, taskIndex }: PolicySnapshot): number | null {
  if (stated !== null || atMost === null) return stated;
  return atMost < tasks[taskIndex.get(task) ?? 0]!.expectedOutputTokens ? atMost : null;
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
