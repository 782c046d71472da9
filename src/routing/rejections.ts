import { type InsteadOf, REJECTIONS, type Refusal, type Rejection } from '../core/decision/decision.ts';
import { HEALTH, type HealthState, type Readings } from '../core/decision/readings.ts';
import { pathText } from '../core/json/original.ts';
import type { AskedAddOns } from '../core/money/add-ons.ts';
import { isAbove, shownCredits, shownMs } from '../core/money/ceiling.ts';
import { coversAll } from '../core/money/price.ts';
import { UNITS } from '../core/money/units.ts';
import { type LanguageState, languageState, qualifiesFor } from '../core/policy/language-support.ts';
import { type Constraint, hasBit } from '../core/policy/rules.ts';
import type { Endpoint, Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import { CAPABILITIES, capabilityNames, missingBits } from '../core/request/capability.ts';
import type { NativeTool } from '../core/request/conversation.ts';
import type { Facts } from '../core/request/facts.ts';
import { isKnownLanguage, nearestLanguage } from '../core/request/languages.ts';
import type { FieldNames } from '../core/request/model-request.ts';
import { didYouMean, plural } from '../core/text/text.ts';
import type { RejectionEntry } from './certificate.ts';
import { decisiveGroup } from './decisive-group.ts';
import {
  affordableCap,
  expectedCost,
  expectedLatency,
  expectedWriting,
  outputCap,
  taskOf,
  taskUseful,
  usefulOutput,
  withinFunds,
} from './estimate.ts';
import { expectedOutput } from './expected-length.ts';
import { expectedInput } from './input-tokens.ts';
import { excluderName, type ModelLists, windowAsked } from './model-name.ts';
import { OUTPUT_NEEDS, outputsAbove } from './output-maximum.ts';
import { endpointsFor, openEndpoints, vectorSpaceOf } from './rules.ts';
import { earlier, shutText } from './unavailable.ts';

/** The inputs that a decision or refusal is based on. */
export interface DecisionInputs extends Pick<Refusal, 'facts' | 'readings'> {
  readonly snapshot: PolicySnapshot;
  /**
   * Whether endpoints that a circuit breaker ejected counted as available. Without `lastResort`, such endpoints count as available, as in
   * every refusal.
   */
  readonly lastResort?: boolean;
  /** The caller, to name the list that excludes a model. Without `caller`, texts name all levels that can have a list. */
  readonly caller?: ModelLists;
  /** The caller's names of fields. Without `names`, texts use the names of OpenAI Chat, which every record uses. */
  readonly names?: RefusalNames;
}

/** The names that the request's dialect uses for the fields that a refusal can mention. */
export interface RefusalNames
  extends Pick<FieldNames, 'turns' | 'tools' | 'outputTokensMax' | 'dimensions' | 'serviceTier'> {
  /** The tools that only the request's dialect can express; undefined if they are unknown. */
  readonly nativeTools?: readonly Pick<NativeTool, 'kind' | 'at'>[];
}

export const USUAL_NAMES: RefusalNames = {
  turns: 'messages',
  tools: 'tools',
  outputTokensMax: 'max_tokens',
  dimensions: 'dimensions',
  serviceTier: 'service_tier',
};

interface ModelRejection extends RejectionEntry {
  readonly kind: Rejection;
}

/** Explains the bits of a rejection and names the constraints that caused them. */
export function rejectionsAgainst(model: Model, rejections: number, inputs: DecisionInputs): ModelRejection[] {
  const constraints = isSet(rejections, 'constraint') ? violatedConstraints(model, rejections, inputs) : [];
  const texts = textsFor(model, rejections, constraints, inputs);
  const rules = constraints.map(({ name, place }) => ({ name, place }));
  const kinds = (Object.keys(texts) as Rejection[]).filter((kind) => isSet(rejections, kind));
  return kinds.map((kind) => ({ kind, text: texts[kind](), rules: kind === 'constraint' ? rules : [] }));
}

/** Says why a model that the request names was left out. Of several reasons, it is the one that would last longest. */
export function leftOut(model: Model, rejections: number, inputs: DecisionInputs): InsteadOf {
  const group = decisiveGroup([{ model: 0, rejections }]);
  const reasons = rejectionsAgainst(model, rejections, inputs);
  const { kind, text } = reasons.find((one) => REJECTIONS[one.kind].group === group)!;
  const reason = kind === 'health' ? shutEndpoints(model, inputs).reduce(earlier).state : kind;
  return { model: model.id, reason, text };
}

function textsFor(
  model: Model,
  rejections: number,
  constraints: readonly Constraint[],
  inputs: DecisionInputs,
): Record<Rejection, () => string> {
  const { facts, snapshot, names = USUAL_NAMES } = inputs;
  const figures = () => judgedFigures(model, rejections, inputs);
  return {
    dimensions: () => `it has no vectors of ${facts.texts?.dimensions} dimensions, only ${dimensionsOf(model)}`,
    vector_space: () => vectorSpaceText(model, facts, snapshot),
    thread: () => `the provider keeps the history of this conversation only for \`${facts.thread?.model}\``,
    thoughts: () => 'it cannot read the reasoning that belongs to the pending tool calls',
    selector: () => `the selector \`${facts.model}\` does not include it`,
    constraint: () => `the policy rejects it: ${constraints.map(({ name }) => name).join(', ')}`,
    operation: () => `it does not serve the operation \`${facts.operation}\``,
    key_models: () =>
      `${inputs.caller ? excluderName(inputs.caller, model) : 'the API key, its user or its team'} may not use it`,
    capability: () => capabilityText(model, facts.needs),
    language: () => languagesAgainst(model, facts.languages, snapshot).join(', and '),
    max_output: () =>
      excessOutputs(model, inputs)
        .map(({ text }) => text)
        .join(', and '),
    max_cost: () => `its expected cost of ${shownCredits(figures().costCredits)} Credits is above max_cost_credits`,
    max_latency: () => `its expected latency of ${shownMs(figures().latencyMs)} ms is above max_latency_ms`,
    unbounded_media: () => unboundedText(model, facts),
    unpriced: () =>
      `it has no price for ${unpricedIn(model, facts, names).join(', ')}, so Signalbox cannot enforce a budget or budget_limit`,
    context: () => contextText(model, inputs),
    budget_limit: () => 'its worst-case cost is above budget_limit',
    funds: () =>
      facts.funds?.cap === undefined
        ? 'its worst-case cost is above the Credits left in the budgets'
        : 'its prompt and the minimum useful output cost more than the Credits left in the budgets',
    health: () => `it is unavailable for now: ${healthReasons(model, inputs)}`,
  };
}

/** Describes the lengths of vectors that a model can return. */
export function dimensionsOf({ embedding }: Model): string {
  if (embedding === null) return 'none';
  const { dimensions, dimensionsMin } = embedding;
  return dimensions === dimensionsMin ? `${dimensions}` : `${dimensionsMin} to ${dimensions}`;
}

/** Says that the cost of media has no upper bound, and which figures the policy lacks for it. */
function unboundedText(model: Model, { images, audioBytes, pdfs, unboundedMedia }: Facts): string {
  const missing = [
    images > 0 && model.imageTokensMax === null && 'image_tokens_max',
    audioBytes > 0 && model.audioTokensPerSecondMax === null && 'audio_tokens_per_second_max',
    pdfs > 0 && model.pageTokensMax === null && 'page_tokens_max',
    pdfs > 0 && model.pagesMax.length === 0 && 'pages_max',
  ].flatMap((key) => (key ? `\`${key}\`` : []));
  const remedy =
    unboundedMedia > 0 || missing.length === 0 ? '' : `: the policy states no ${missing.join(' and no ')} for it`;
  return `the tokens of images, audio or files have no upper bound on it, so Signalbox cannot enforce a budget or budget_limit${remedy}`;
}

function vectorSpaceText({ embedding }: Model, facts: Facts, snapshot: PolicySnapshot): string {
  const space = vectorSpaceOf(facts, snapshot);
  if (space == null) return `the selector \`${facts.model}\` has no \`vector_space\`, so it serves no embeddings`;
  return `its vector space is \`${embedding?.vectorSpace}\`, but the selector uses \`${space}\``;
}

function contextText(model: Model, { facts, snapshot }: DecisionInputs): string {
  const { contextWindow } = model;
  const window = `its window of ${contextWindow} tokens`;
  if (facts.texts !== undefined) return `a text exceeds ${window}`;
  const asked = windowAsked(facts);
  if (asked > contextWindow) return `${window} is below the ${asked} tokens that \`${facts.alias}\` requests`;
  const output = leavesUsefulOutput(model, facts, snapshot) ? 'min_output_tokens' : 'a useful output';
  return `the prompt and ${output} exceed ${window}`;
}

/** Whether a model's window has room for the prompt and the minimum useful output, if the window has no room for `min_output_tokens`. */
export function leavesUsefulOutput(model: Model, facts: Facts, snapshot: PolicySnapshot): boolean {
  const { outputTokensMin, ...others } = facts;
  if (outputTokensMin === undefined) return false;
  return expectedInput(facts, model) + usefulOutput(model, others, taskOf(facts, snapshot)) <= model.contextWindow;
}

const NO_ADD_ONS: AskedAddOns = { units: [], toolUses: {}, rereadings: 0, unpriced: [] };

/** Names a service tier that a request asks for. */
export const tierText = (tier: string): string => `the service tier \`${tier}\``;

/** Returns the parts of a request's bill that a model has no price for, at the endpoint that lacks the fewest. */
export const unpricedIn = ({ endpoints }: Model, facts: Facts, names: RefusalNames): string[] =>
  endpoints
    .map((endpoint) => unpricedAt(endpoint, facts, names))
    .filter((parts) => parts.length > 0)
    .reduce((least, parts) => (least.length === 0 || parts.length < least.length ? parts : least), []);

/** Returns the parts of a request's bill that an endpoint has no price for. */
export function unpricedAt(
  endpoint: Endpoint,
  { addOns }: Facts,
  { nativeTools = [] }: RefusalNames = USUAL_NAMES,
): string[] {
  if (addOns === undefined) return [];
  const { tier, units, toolUses, unpriced } = addOns;
  const named = new Map(nativeTools.map((tool) => [pathText(tool.at), nativeToolText(tool)]));
  const isCovered = (part: Partial<AskedAddOns>) => coversAll(endpoint, { ...NO_ADD_ONS, ...part });
  return [
    ...(tier !== undefined && !isCovered({ tier }) ? [tierText(tier)] : []),
    ...unpriced.map((path) => named.get(path) ?? `\`${path}\``),
    ...units.filter((unit) => !isCovered({ units: [unit] })).map((unit) => UNITS[unit].asked?.what ?? unit),
    ...Object.keys(toolUses)
      .filter((name) => !isCovered({ toolUses: { [name]: 1 } }))
      .map((name) => `uses of \`${name}\``),
  ];
}

/** Names a tool that only the request's dialect can express, by its path in the request and its kind. */
export function nativeToolText({ kind, at }: Pick<NativeTool, 'kind' | 'at'>): string {
  const place = pathText(at);
  return place === kind ? `\`${place}\`` : `\`${place}\` (\`${kind.slice(0, NAME_MAX)}\`)`;
}

/** Returns the required programming languages that a model does not qualify for. */
export function languagesMissing(model: Model, languages: readonly string[], snapshot: PolicySnapshot): string[] {
  const index = snapshot.modelIndex.get(model.id)!;
  return languages.filter((name) => !qualifiesFor(name, index, snapshot.languages));
}

/**
 * Returns the reasons for rejected languages: the model does not handle the language, the policy does not say whether the model handles the
 * language, or the name is unknown.
 */
function languagesAgainst(model: Model, languages: readonly string[], snapshot: PolicySnapshot): string[] {
  const missing = languagesMissing(model, languages, snapshot);
  const isNone = (name: string) => !snapshot.languages.byName.has(name) && !isKnownLanguage(name);
  const ofState = (state: LanguageState) =>
    missing.filter((name) => !isNone(name) && languageState(model, name) === state).join(', ');
  const [lacked, unknown] = [ofState('lacked'), ofState('unknown')];
  return [
    ...(lacked ? [`it does not handle ${lacked}`] : []),
    ...(unknown ? [`the policy does not say whether it handles ${unknown}`] : []),
    ...missing.filter(isNone).slice(0, NAMES_MAX).map(unknownLanguageText),
  ];
}

/** The maximum number of unknown language names in an error. */
const NAMES_MAX = 3;

/** The maximum number of characters of a name in an error. */
const NAME_MAX = 64;

function unknownLanguageText(name: string): string {
  const meant = nearestLanguage(name);
  const shown = `\`${name.slice(0, NAME_MAX)}\` is not a known programming language`;
  return meant === null
    ? `${shown}: it is neither on GitHub’s list nor in the policy`
    : `${shown} (${didYouMean(meant)})`;
}

function capabilityText({ capabilities }: Model, needs: number): string {
  const missing = capabilityNames(missingBits(needs, capabilities)).map((name) => ({ name, ...CAPABILITIES[name] }));
  const lacked = missing
    .filter((one) => !('lacking' in one))
    .map(({ name, of, means }) => (of === 'passthrough' ? `${name} (${means})` : name));
  // If a model accepts no forced tool call at all, it makes no difference whether the request enables thinking.
  const [first] = missing.flatMap((one) => ('lacking' in one ? [one.lacking] : []));
  const reasons = [...(lacked.length > 0 ? [`lacks ${lacked.join(', ')}`] : []), ...(first ? [first] : [])];
  if (reasons.length > 0) return `it ${reasons.join(' and ')}`;
  return `none of its endpoints has all of ${capabilityNames(needs).join(', ')}`;
}

/** Returns the reasons why the endpoints that constraints allow are unavailable, without repetitions. */
const healthReasons = (model: Model, inputs: DecisionInputs): string =>
  [...new Set(shutEndpoints(model, inputs).map(shutText))].join(', ');

/** Returns the endpoints that constraints allow and that are unavailable. */
export function shutEndpoints(model: Model, { facts, readings, snapshot }: DecisionInputs) {
  return endpointsFor(model, facts, snapshot).flatMap((at) => {
    const slot = model.firstSlot + at;
    const state = healthOf(readings, slot);
    return state === 'healthy' ? [] : [{ model: model.id, state, at: readings.retryAt[slot]! }];
  });
}

export function isSet(rejections: number, kind: Rejection): boolean {
  return (rejections & REJECTIONS[kind].bit) !== 0;
}

/** Returns the active constraints that a model violates. */
export function violatedConstraints(model: Model, rejections: number, inputs: DecisionInputs): Constraint[] {
  const { costCredits, latencyMs } = judgedFigures(model, rejections, inputs);
  const forbids = ({ allows, maxCostCredits, maxLatencyMs }: Constraint): boolean =>
    (allows !== null && !model.endpoints.some((_, at) => hasBit(allows, model.firstSlot + at))) ||
    isAbove(latencyMs, maxLatencyMs) ||
    isAbove(costCredits, maxCostCredits);
  const active = inputs.facts.rules.constraints.map((at) => inputs.snapshot.constraints[at]!);
  const violated = active.filter(forbids);
  // Each constraint allows some endpoint, but no endpoint satisfies all constraints.
  return violated.length > 0 ? violated : active.filter(({ allows }) => allows !== null);
}

/** A figure that exceeds a model's maximum output, and the request field that sets it. */
interface ExcessOutput {
  readonly field: string;
  readonly value: number;
  readonly text: string;
}

/** Returns the reasons for a `max_output` rejection. If each field is lowered to the model's maximum, the model can serve the request. */
function excessOutputs(
  model: Model,
  { facts, readings, snapshot, names = USUAL_NAMES }: DecisionInputs,
): ExcessOutput[] {
  const { outputTokensMax, outputTokens, outputTokensMin } = facts;
  const expected = expectedOutput(facts, snapshot, readings);
  const task = taskOf(facts, snapshot);
  const bits = outputsAbove(model, facts, task, expected);
  const above = `above its maximum of ${model.maxOutput}`;
  const aim = model.reasoningTokens > 0 ? 'to reason and answer' : 'for a useful answer';
  const found: ExcessOutput[] = [];
  const add = (
    need: keyof typeof OUTPUT_NEEDS,
    field: string,
    value: number | null = 0,
    text = `${field} is ${above}`,
  ) => {
    if ((bits & OUTPUT_NEEDS[need]) !== 0) found.push({ field, value: value ?? 0, text });
  };
  const { outputTokensMax: cap } = names;
  add('least', 'min_output_tokens', outputTokensMin);
  add('cap', cap, outputTokensMax);
  add('stated', 'estimated_output_tokens', outputTokens);
  add('expected', cap, outputTokensMax, `the expected answer (${plural(Math.ceil(expected), 'token')}) is ${above}`);
  add('useful', cap, outputTokensMax, `it needs ${plural(taskUseful(model, task), 'token')} ${aim}, ${above}`);
  return found;
}

/** A change of one limit of the request. */
export interface Move {
  readonly field: string;
  readonly from: number;
  readonly to: number;
}

/** Returns the changes of the request's limits that make a model eligible if it has only these rejections. */
export function movesFor(model: Model, rejections: number, inputs: DecisionInputs): Move[] {
  const { costCredits, latencyMs } = inputs.facts.ceilings;
  const figures = judgedFigures(model, 0, inputs);
  const moves: Move[] = [];
  if (costCredits !== null && isSet(rejections, 'max_cost'))
    moves.push({ field: 'max_cost_credits', from: costCredits, to: shownCredits(figures.costCredits) });
  if (latencyMs !== null && isSet(rejections, 'max_latency'))
    moves.push({ field: 'max_latency_ms', from: latencyMs, to: shownMs(figures.latencyMs) });
  if (isSet(rejections, 'max_output'))
    // Two excess figures can have the same field, and each field is changed once.
    for (const [field, value] of new Map(excessOutputs(model, inputs).map(({ field, value }) => [field, value])))
      moves.push({ field, from: value, to: model.maxOutput });
  return moves;
}

/** Returns the expected cost and latency at the endpoint that the rejections of a model are based on. */
export function judgedFigures(model: Model, rejections: number, inputs: DecisionInputs) {
  const { facts, readings, snapshot } = inputs;
  const endpoint = judgedEndpoint(model, rejections, inputs);
  const writing = expectedWriting(facts, snapshot, readings);
  return {
    costCredits: expectedCost(model, endpoint, facts, writing),
    latencyMs: expectedLatency(model, endpoint, facts, readings, writing),
  };
}

/**
 * Returns the first endpoint that constraints, health and funds allow. If health or funds allow no endpoint, the result is the first
 * endpoint that constraints allow.
 */
function judgedEndpoint(model: Model, rejections: number, inputs: DecisionInputs): number {
  const { facts, readings, snapshot, lastResort = true } = inputs;
  const allowed = endpointsFor(model, facts, snapshot);
  const open = isSet(rejections, 'health') ? [] : openEndpoints(model, allowed, readings, lastResort);
  const candidates = open.length > 0 ? open : allowed;
  if (facts.funds === null || isSet(rejections, 'funds') || candidates.length < 2) return candidates[0] ?? 0;
  const cap = affordableCap(model, candidates, facts, outputCap(model, facts));
  return withinFunds(model, candidates, facts, taskOf(facts, snapshot), cap)?.endpoints[0] ?? candidates[0]!;
}

/** Returns the health of an endpoint by its slot. */
export function healthOf({ health }: Readings, slot: number): HealthState {
  const states = Object.keys(HEALTH) as HealthState[];
  return states.find((state) => HEALTH[state] === health[slot]) ?? 'healthy';
}
