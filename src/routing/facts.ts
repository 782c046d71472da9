import type { Readings } from '../core/decision/readings.ts';
import { refuse, SignalboxError } from '../core/errors.ts';
import { pathText } from '../core/json/original.ts';
import { isConversation, OPERATIONS } from '../core/kinds/operations.ts';
import type { AskedAddOns } from '../core/money/add-ons.ts';
import { limitFromCredits, type Microcredits } from '../core/money/credits.ts';
import { pricedTier } from '../core/money/service-tier.ts';
import { askedUnits } from '../core/money/units.ts';
import type { Caller } from '../core/people/caller.ts';
import { modelOf } from '../core/policy/model-of.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { CAPABILITIES } from '../core/request/capability.ts';
import type { RoutingTerms } from '../core/request/conversation.ts';
import { inputTokens, inputTokensMax } from '../core/request/embedding.ts';
import { type Facts, NO_RULES, UNREAD_TASK } from '../core/request/facts.ts';
import { canonicalLanguage } from '../core/request/languages.ts';
import type { ModelRequest } from '../core/request/model-request.ts';
import { withoutDroppedTools } from './dropped-tools.ts';
import { schemaInstead } from './forced-function.ts';
import { isDenied, listedFor, mayUse, type NamedTarget, targetOf } from './model-name.ts';
import { firstHardness, type Intent, readIntent } from './profile/intent.ts';
import type { PromptReader } from './profile/prompt-reader.ts';
import { hasMedia, measure, type RequestSize, sizeOfNothing } from './profile/size.ts';
import { firstTier, hasTiers, transcriptSignal } from './tiers.ts';
import { needsDropped } from './unsupported.ts';

const EMPTY: readonly never[] = [];

/** Options for reading facts. */
export interface FactsReading {
  /** Reads the prompt. */
  readonly reader: PromptReader;
  /** The microcredits that a payment leaves for a chat; null if no payment limits it. */
  readonly cap?: Microcredits | null;
  /** Whether to read the intent of a chat even if nothing depends on it. */
  readonly isWhole?: boolean;
  /**
   * The answer lengths that a length limit in the prompt is compared with. Without `readings`, a length limit in the prompt is compared
   * with the figures of the policy.
   */
  readonly readings?: Pick<Readings, 'outputTokens'>;
}

/**
 * Reads the facts of a chat. If the chat names its model, Signalbox reads the intent of the chat only if something depends on the intent.
 * @throws SignalboxError if the request contradicts itself or the key may not use the model.
 */
export function chatFacts(
  request: ModelRequest,
  caller: Caller,
  snapshot: PolicySnapshot,
  reading: FactsReading,
): Facts {
  const { reader, cap, isWhole } = reading;
  const target = targetOf(request.model, caller, snapshot, request.routing.fallbacks);
  const size = measure(request);
  const isRead =
    isWhole ||
    target.named === null ||
    (cap ?? request.routing.budgetCredits) != null ||
    dependsOnIntent(target.named, request, size, caller, snapshot);
  const intent = isRead ? readIntent(request, reader) : UNREAD;
  const facts = factsOf(request, target, size, intent, caller, snapshot, reading);
  addTier(facts, request, intent, reader, snapshot);
  return facts;
}

/** Reads the facts of a request that asks for an answer. */
export type FactsReader = typeof chatFacts;

/** Returns the reader for the operation of a request. */
export const factsReaderOf = ({ operation }: Pick<ModelRequest, 'operation'>): FactsReader =>
  isConversation(operation) ? chatFacts : textFacts;

/** The facts of a request while they are collected. */
type WritableFacts = { -readonly [Name in keyof Facts]: Facts[Name] };

/** Adds the tier of the request, if its selector has tiers. */
function addTier(
  facts: WritableFacts,
  request: ModelRequest,
  { hard }: Intent,
  reader: PromptReader,
  snapshot: PolicySnapshot,
): void {
  if (!hasTiers(facts, snapshot)) return;
  facts.tier = firstTier(firstHardness(request, hard, reader), snapshot);
  const escalation = transcriptSignal(facts, snapshot, request.conversation);
  if (escalation) facts.escalation = escalation;
}

/** Reads the facts of a request of separate texts, which has no task and produces no text. `textFacts` throws like `chatFacts`. */
export function textFacts(
  request: ModelRequest,
  caller: Caller,
  snapshot: PolicySnapshot,
  reading: Pick<FactsReading, 'cap'> = {},
): WritableFacts {
  const inputs = request.inputs ?? EMPTY;
  const size = { ...sizeOfNothing(), bytes: 0 };
  let longest = 0;
  for (const input of inputs) {
    const tokens = inputTokens(input);
    size.tokens += tokens;
    size.bytes += inputTokensMax(input);
    longest = Math.max(longest, tokens);
    if (input.type === 'tokens') size.needs = CAPABILITIES.token_input.bit;
  }
  const target = targetOf(request.model, caller, snapshot, request.routing.fallbacks);
  const facts = factsOf(request, target, size, UNREAD, caller, snapshot, reading);
  facts.outputTokens = 0;
  facts.outputTokensMax = 0;
  facts.texts = { inputs: inputs.length, longest, dimensions: request.dimensions ?? null };
  return facts;
}

/** Returns the lower of the request's own budget and a cap; null if the request has neither. */
function budgetWithin({ budgetCredits }: RoutingTerms, cap: Microcredits | null): Microcredits | null {
  if (budgetCredits === undefined) return cap;
  const own = limitFromCredits(budgetCredits);
  return cap === null ? own : Math.min(own, cap);
}

const NO_CEILINGS: Facts['ceilings'] = { costCredits: null, latencyMs: null };

function ceilingsOf({ costCreditsMax, latencyMsMax }: RoutingTerms): Facts['ceilings'] {
  if ((costCreditsMax ?? latencyMsMax) === undefined) return NO_CEILINGS;
  return { costCredits: costCreditsMax ?? null, latencyMs: latencyMsMax ?? null };
}

/** The intent of a request whose content was not read. */
const UNREAD: Intent = {
  task: UNREAD_TASK,
  mix: EMPTY,
  difficulty: 'usual',
  naturalLanguage: 'und',
  languagesSeen: EMPTY,
  output: { stated: null, atMost: null },
  hard: 0,
};

/**
 * Returns whether the caller could notice a difference if the intent is not read, although the request names its model. Ceilings, budgets
 * and token limits use the expected or minimum useful output, which depends on the task. The task also matters if a prompt nearly fills the
 * window, and for the time to the first token of a model that reasons.
 */
function dependsOnIntent(
  named: readonly string[],
  { routing }: ModelRequest,
  size: RequestSize,
  { limits }: Caller,
  snapshot: PolicySnapshot,
): boolean {
  const { namedModelsReadIntent, usefulOutputMax } = snapshot;
  if (namedModelsReadIntent || hasMedia(size) || limits?.tokensPerMinute != null) return true;
  if (routing.costCreditsMax !== undefined || routing.latencyMsMax !== undefined) return true;
  const useful = Math.max(usefulOutputMax, routing.outputTokensMin ?? 0);
  for (const id of named) {
    const model = modelOf(id, snapshot);
    if (model.mayReason || size.bytes + useful > model.contextWindow) return true;
  }
  return false;
}

/** Images, audio and files are not read, so their difficulty is unknown. The progress of an agent does not depend on them. */
export function difficultyOf(size: RequestSize, { stuck, difficulty }: Intent): Facts['difficulty'] {
  if (stuck) return 'hard';
  return hasMedia(size) ? 'usual' : difficulty;
}

function factsOf(
  request: ModelRequest,
  target: NamedTarget,
  size: RequestSize,
  intent: Intent,
  caller: Caller,
  snapshot: PolicySnapshot,
  { cap = null, readings }: Pick<FactsReading, 'cap' | 'readings'>,
): WritableFacts {
  const { operation, settings, routing } = request;
  const { dropUnsupported } = snapshot.gateway;
  const { task, stuck } = intent;
  const needs = dropUnsupported.size > 0 ? size.needs & ~needsDropped(request, dropUnsupported) : size.needs;
  // The facts are written as one object, because spreading objects would take longer than reading the prompt.
  const facts: WritableFacts = {
    operation,
    model: target.model,
    alias: target.alias,
    named: target.named,
    task,
    mix: intent.mix,
    difficulty: difficultyOf(size, intent),
    naturalLanguage: intent.naturalLanguage,
    languagesSeen: intent.languagesSeen,
    inputTokens: size.tokens,
    inputTokensMax: size.bytes,
    inputTokensCounted: null,
    images: size.images,
    audioBytes: size.audioBytes,
    pdfs: size.pdfs,
    pages: size.pages,
    unboundedMedia: size.unboundedMedia,
    outputTokens: routing.outputTokens ?? null,
    outputTokensAsked: impliedOutput(intent, snapshot, readings),
    outputTokensMax: settings.outputTokensMax ?? null,
    choices: settings.choices ?? 1,
    needs: needs | schemaInstead(request, needs, snapshot.gateway),
    cached: EMPTY,
    languages: routing.languages?.map(canonicalLanguage) ?? EMPTY,
    weights: routing.weights ? weightsOf(routing.weights, snapshot) : null,
    ceilings: ceilingsOf(routing),
    budget: budgetWithin(routing, cap),
    allowedModels: allowedModels(caller, target, snapshot),
    funds: null,
    rules: NO_RULES,
  };
  if (caller.notModels !== undefined) addDenied(facts, caller, snapshot);
  if (stuck) facts.stuck = stuck;
  const addOns = addOnsOf(request, size, snapshot);
  if (addOns) facts.addOns = addOns;
  if (routing.outputTokensMin !== undefined) facts.outputTokensMin = outputMinOf(request, routing.outputTokensMin);
  if (mayCapOutput(settings, target, snapshot)) facts.capsOutput = true;
  if (target.fallbacks) facts.fallbacks = target.fallbacks;
  return facts;
}

/**
 * Returns whether the policy may cap the output of a request at a model's maximum. For a named model, the
 * comparison uses the model's default maximum output.
 */
function mayCapOutput(
  { outputTokensMax }: ModelRequest['settings'],
  { named }: NamedTarget,
  snapshot: PolicySnapshot,
): boolean {
  if (outputTokensMax === undefined || snapshot.gateway.outputAboveMaximum !== 'cap') return false;
  if (named === null) return outputTokensMax > snapshot.maxOutputMin;
  return named.some((id) => outputTokensMax > modelOf(id, snapshot).defaultMaxOutput);
}

/**
 * Returns the lowest output cap that the request accepts.
 * @throws SignalboxError if the request's own maximum is below that minimum
 */
function outputMinOf({ operation, settings, names }: ModelRequest, least: number): number {
  const param = 'constraints.min_output_tokens';
  if (!isConversation(operation)) {
    const message = `\`${param}\` applies to text answers only, and ${OPERATIONS[operation].serves} have none. Leave it out.`;
    refuse(param, message, 'unsupported_parameter');
  }
  const most = settings.outputTokensMax;
  if (most !== undefined && least > most) {
    const message = `\`${param}\` is ${least}, which is above the \`${names.outputTokensMax}\` of ${most}. Set it to ${most} or less.`;
    throw new SignalboxError('out_of_range', message, { param });
  }
  return least;
}

/**
 * Returns what the provider may bill for this request in addition to tokens; null for nearly all requests, which allow no extra charges.
 */
function addOnsOf(
  { conversation: { nativeTools = EMPTY }, settings, routing: { unpriced: fields = EMPTY } }: ModelRequest,
  { asked, askedAt, unpricedCacheAt }: RequestSize,
  { gateway: { toolUsesMax, passthroughTools } }: PolicySnapshot,
): AskedAddOns | null {
  const unpriced = unpricedCacheAt === null ? fields : [...fields, pathText(unpricedCacheAt)];
  const tier = pricedTier(settings.serviceTier);
  if (asked === 0 && tier === undefined && nativeTools.length + unpriced.length === 0) return null;
  const toolUses: Record<string, number> = {};
  const unknown: string[] = [];
  let rereadings = 0;
  for (const { kind, billing, at } of nativeTools) {
    if (billing === 'tokens') continue;
    const uses = billing === 'unknown' ? toolUsesMax : (billing.most ?? toolUsesMax);
    rereadings += uses;
    if (passthroughTools.has(kind)) continue;
    if (billing === 'unknown') unknown.push(pathText(at));
    else toolUses[billing.name] = (toolUses[billing.name] ?? 0) + uses;
  }
  const isAny = asked !== 0 || tier !== undefined || rereadings > 0 || unknown.length + unpriced.length > 0;
  if (!isAny) return null;
  const units = { units: askedUnits(asked), ...(askedAt && { unitsAt: pathText(askedAt) }) };
  return { ...(tier !== undefined && { tier }), ...units, toolUses, rereadings, unpriced: [...unpriced, ...unknown] };
}

/** The capabilities that every request of a task needs. */
const NEEDS_OF_TASK: Readonly<Record<string, number>> = {
  vision: CAPABILITIES.vision.bit,
  tool_use: CAPABILITIES.tools.bit,
};

/**
 * Reads the facts of a `/v1/route` request. The explicit figures of a `/v1/route` request override the figures read from its content. A
 * `/v1/route` request without messages has the usual size of its task, and an unknown task counts as `general`. `routeFacts` throws like
 * `chatFacts`.
 */
export function routeFacts(
  given: ModelRequest,
  caller: Caller,
  snapshot: PolicySnapshot,
  { reader, readings }: Pick<FactsReading, 'reader' | 'readings'>,
): Facts {
  const { request } = withoutDroppedTools(given, snapshot.gateway);
  if (!isConversation(request.operation)) return routeTextFacts(request, caller, snapshot);
  const { conversation, routing } = request;
  const hasTurns = conversation.turns.length > 0;
  const size = hasTurns ? measure(request) : { ...sizeOfNothing(), bytes: 0 };
  const read = hasTurns ? readIntent(request, reader) : { ...UNREAD, task: 'general' };
  const intent = routing.task === undefined ? read : withTask(read, taskNamed(routing.task, snapshot));
  if (routing.task !== undefined) size.needs |= NEEDS_OF_TASK[intent.task] ?? 0;
  const target = targetOf(request.model, caller, snapshot, request.routing.fallbacks);
  const usual = hasTurns ? undefined : snapshot.tasks[snapshot.taskIndex.get(intent.task) ?? 0]!.defaultInputTokens;
  const tokens = routing.inputTokens ?? usual;
  if (tokens !== undefined) {
    size.tokens = tokens;
    size.bytes = Math.max(size.bytes, tokens);
  }
  const facts = factsOf(request, target, size, intent, caller, snapshot, { readings });
  if (routing.task === undefined) addTier(facts, request, intent, reader, snapshot);
  else facts.isTaskStated = true;
  return facts;
}

/** Returns the facts of a `/v1/route` request of separate texts. An explicit size of such a request is the size of one text. */
function routeTextFacts(request: ModelRequest, caller: Caller, snapshot: PolicySnapshot): Facts {
  const facts = textFacts(request, caller, snapshot);
  const { inputTokens } = request.routing;
  if (inputTokens === undefined || !facts.texts) return facts;
  const { inputs, longest, dimensions } = facts.texts;
  facts.inputTokens = inputTokens;
  facts.inputTokensMax = Math.max(facts.inputTokensMax, inputTokens);
  facts.texts = {
    inputs: Math.max(1, inputs),
    longest: Math.max(longest, inputs === 0 ? inputTokens : 0),
    dimensions,
  };
  return facts;
}

/** Returns the intent for a task that the caller states. A difficulty that was read applies only to the task that was read with it. */
const withTask = (read: Intent, task: string): Intent => ({
  ...read,
  task,
  mix: EMPTY,
  difficulty: read.stuck || task === read.task ? read.difficulty : 'usual',
});

/** Returns the answer length that the request states, or a limit below the usual length of its task; null if the usual length applies. */
function impliedOutput(
  { task, output: { stated, atMost } }: Intent,
  { tasks, taskIndex }: PolicySnapshot,
  readings: FactsReading['readings'],
): number | null {
  if (stated !== null || atMost === null) return stated;
  const at = taskIndex.get(task) ?? 0;
  return atMost < (readings?.outputTokens[at] ?? tasks[at]!.expectedOutputTokens) ? atMost : null;
}

/** Returns the policy's task of that name, ignoring case; `general` for an unknown name. */
function taskNamed(name: string, { taskIndex }: PolicySnapshot): string {
  if (taskIndex.has(name)) return name;
  const lower = name.toLowerCase();
  return taskIndex.has(lower) ? lower : 'general';
}

/** Returns the IDs on the caller's lists of models. A named model, or a found model, is added if `PROVIDER/*` is on the lists. */
function allowedModels(
  caller: Caller,
  { named }: NamedTarget,
  { found, models }: PolicySnapshot,
): Facts['allowedModels'] {
  const listed = listedFor(caller);
  if (!listed) return listed;
  if (named !== null) {
    const unlisted = named.filter((id) => !listed.includes(id));
    return unlisted.length === 0 ? listed : [...listed, ...unlisted];
  }
  if (found === null) return listed;
  const more = models.filter((one) => one.found && !listed.includes(one.id) && mayUse(caller, one));
  return more.length === 0 ? listed : [...listed, ...more.map(({ id }) => id)];
}

/** Adds the models of the policy that the caller's list of denied models names, for selectors. A named model is checked by its name. */
function addDenied(facts: WritableFacts, caller: Caller, { models }: PolicySnapshot): void {
  const denied = models.filter((one) => isDenied(caller, one)).map(({ id }) => id);
  if (denied.length > 0) facts.deniedModels = denied;
}

type Weights = NonNullable<RoutingTerms['weights']>;

function weightsOf(stated: Weights, { defaultWeights }: PolicySnapshot): NonNullable<Facts['weights']> {
  const cost = stated.cost ?? defaultWeights.cost;
  const quality = stated.quality ?? defaultWeights.quality;
  const latency = stated.latency ?? 0;
  if (latency > 0) return { cost, quality, latency };
  if (cost === 0 && quality === 0) {
    refuse('route_strategy', 'cost_weight, quality_weight and latency_weight must not all be 0.', 'out_of_range');
  }
  return { cost, quality };
}
