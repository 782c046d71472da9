import type { Caller } from '../core/caller.ts';
import { CAPABILITIES } from '../core/capability.ts';
import type { RoutingTerms } from '../core/conversation.ts';
import { limitFromCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Facts } from '../core/facts.ts';
import { canonicalLanguage } from '../core/languages.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { NO_RULES } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { isPinned } from './model-name.ts';
import type { OutputHint } from './profile/expected-output.ts';
import { type Profile, profile } from './profile/profile.ts';

const EMPTY: readonly never[] = [];

/** @throws SignalboxError where the request contradicts itself, or the key may not use its model. */
export function chatFacts(request: ModelRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  return factsOf(request, profile(request), caller, snapshot);
}

function factsOf(
  { operation, model, settings, routing }: ModelRequest,
  read: Profile,
  caller: Caller,
  snapshot: PolicySnapshot,
): Facts {
  const pinned = isPinned(model, caller, snapshot);
  const weights = routing.weights ? weightsOf(routing.weights, snapshot) : null;
  // Spreading three objects would cost more than reading the prompt.
  return {
    operation,
    model,
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
    outputTokensMax: settings.outputTokensMax ?? null,
    choices: settings.choices ?? 1,
    needs: read.needs,
    cached: EMPTY,
    languages: routing.languages?.map(canonicalLanguage) ?? [],
    weights,
    ceilings: { costCredits: routing.costCreditsMax ?? null, latencyMs: routing.latencyMsMax ?? null },
    budget: routing.budgetCredits === undefined ? null : limitFromCredits(routing.budgetCredits),
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
export function routeFacts(request: ModelRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  const { conversation, routing } = request;
  const hasTurns = conversation.turns.length > 0;
  const content = hasTurns ? profile(request) : NO_CONTENT;
  const read = routing.task === undefined ? content : withTask(content, taskNamed(routing.task, snapshot));
  const facts = factsOf(request, read, caller, snapshot);
  const { task, inputTokensMax } = facts;
  const usual = hasTurns ? undefined : snapshot.tasks[snapshot.taskIndex.get(task) ?? 0]!.defaultInputTokens;
  const inputTokens = routing.inputTokens ?? usual;
  return {
    ...facts,
    ...(inputTokens !== undefined && { inputTokens, inputTokensMax: Math.max(inputTokensMax, inputTokens) }),
    outputTokens: routing.outputTokens ?? null,
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

const allowedModels = ({ models }: Caller): Facts['allowedModels'] => (models === null ? null : [...models]);

type Weights = NonNullable<RoutingTerms['weights']>;

function weightsOf(stated: Weights, { defaultWeights }: PolicySnapshot): Required<Weights> {
  const cost = stated.cost ?? defaultWeights.cost;
  const quality = stated.quality ?? defaultWeights.quality;
  if (cost === 0 && quality === 0) {
    throw new SignalboxError('out_of_range', 'cost_weight and quality_weight must not both be 0.', {
      param: 'route_strategy',
    });
  }
  return { cost, quality };
}
