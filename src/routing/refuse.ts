import { type InsteadOf, REJECTIONS, type Refusal, type Rejection } from '../core/decision/decision.ts';
import { SignalboxError } from '../core/errors.ts';
import { pathText } from '../core/json/original.ts';
import { type Microcredits, toCredits } from '../core/money/credits.ts';
import type { Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import { CAPABILITIES, capabilityNames, missingBits } from '../core/request/capability.ts';
import type { NativeTool } from '../core/request/conversation.ts';
import type { Facts } from '../core/request/facts.ts';
import type { ModelRequest } from '../core/request/model-request.ts';
import { affordableCap, outputCap, taskOf, usefulOutput, worstCase } from './estimate.ts';
import { expectedInput } from './input-tokens.ts';
import { absentInstead, type ModelLists, windowAsked } from './model-name.ts';
import { leastBudget, movesText, nearestModel, reasonsWithFixes } from './nearest-model.ts';
import {
  type DecisionInputs,
  dimensionsOf,
  languagesMissing,
  leavesUsefulOutput,
  movesFor,
  nativeToolText,
  type RefusalNames,
  rejectionsAgainst,
  shutEndpoints,
  tierText,
  USUAL_NAMES,
  unpricedIn,
} from './rejections.ts';
import { foundText, remediesFor } from './remedies.ts';
import { endpointsFor } from './rules.ts';
import { FIND_AGAIN_MS, silentServers, silentText } from './silent-servers.ts';
import { unavailableError } from './unavailable.ts';

/** Knowledge about a refused request in addition to its facts. */
export interface RefusedRequest {
  /** The request, for the names of its fields; null if only its facts are known. */
  readonly request?: ModelRequest | null;
  /** Unix ms, from which waits are counted. */
  readonly now?: number;
  /** The caller, to name the list that excludes a model. */
  readonly caller?: ModelLists;
}

/**
 * Converts a refusal into an error. The message names the nearest model with the reasons against it, and the smallest change that would
 * make a model eligible. The details contain the reasons for each model.
 */
export function refusalError(refusal: Refusal, snapshot: PolicySnapshot, refused: RefusedRequest = {}): SignalboxError {
  const error = errorOf(refusal, snapshot, refused);
  const absent = absentInstead(refusal.facts, snapshot);
  return absent ? withUntried(error, absent) : error;
}

/** Adds to an error why the model that the request names was not tried. */
export const withUntried = ({ code, message, info }: SignalboxError, { model, text }: InsteadOf): SignalboxError =>
  new SignalboxError(code, `${message} \`${model}\` was not tried: ${text}.`, info);

function errorOf(
  refusal: Refusal,
  snapshot: PolicySnapshot,
  { request = null, now = 0, caller }: RefusedRequest,
): SignalboxError {
  const { facts } = refusal;
  if (facts.named === null && snapshot.models.every(({ found }) => found?.isNamedOnly))
    return nothingToChoose(facts, snapshot);
  const names = namesIn(request);
  if (refusal.group === 'health') return healthError(refusal, snapshot, now);
  if (refusal.group === 'budget') return budgetError(refusal, snapshot);
  if (refusal.group === 'context') return contextError(refusal, snapshot, names.turns);
  const wide = facts.texts && heldBackBy(refusal, snapshot, 'dimensions');
  if (wide && wide.length > 0) return dimensionsError(facts, wide, names.dimensions);
  const inputs = { ...refusal, snapshot, names, caller };
  const unpriced = heldBackBy(refusal, snapshot, 'unpriced', ...UNBOUNDED)
    .map((model) => unpricedIn(model, facts, names))
    .filter((parts) => parts.length > 0);
  if (unpriced.length > 0) return unpricedError(unpriced, facts, names);
  const tool = names.nativeTools?.find(isTool);
  if (tool && onlyLacksDialect(refusal, snapshot)) return dialectToolError(tool, facts);
  const rejected = rejectedModels(refusal, snapshot, { request, caller });
  const relaxation = nearestRelaxation(refusal, snapshot, names);
  const remedies = remediesFor(refusal, snapshot, request);
  const summary = summaryOf(inputs, request, relaxation ?? remedies);
  const sentences = [
    relaxation ? `${summary}; ${relaxation.text}.` : `${summary}.`,
    remedies.text || foundText(refusal, snapshot),
  ];
  return new SignalboxError('no_eligible_model', sentences.filter(Boolean).join(' '), {
    ...(remedies.param !== undefined && { param: remedies.param }),
    details: { rejected, ...(relaxation && { relaxation: relaxation.text }) },
  });
}

/** A model that cannot serve a request, with each reason, as an error shows it. */
export interface RejectedModel {
  readonly model: string;
  readonly reasons: readonly string[];
}

/**
 * Returns the models that cannot serve a request, in the order in which they were checked. A model that the request names and that cannot
 * be served here is the first.
 */
export function rejectedModels(
  refusal: Refusal,
  snapshot: PolicySnapshot,
  { request = null, caller }: RefusedRequest,
): readonly RejectedModel[] {
  const absent = absentInstead(refusal.facts, snapshot);
  const rejected = refusal.rejected.map(({ model: at, rejections }) => {
    const model = snapshot.models[at]!;
    const reasons = rejectionsAgainst(model, rejections, { ...refusal, snapshot, names: namesIn(request), caller });
    return { model: model.id, reasons: reasons.map(({ text }) => text) };
  });
  return absent ? [{ model: absent.model, reasons: [absent.text] }, ...rejected] : rejected;
}

const namesIn = (request: ModelRequest | null): RefusalNames =>
  request ? { ...request.names, nativeTools: request.conversation.nativeTools } : USUAL_NAMES;

/**
 * Says why no model can serve the request: by the reason that all models share, or by the reasons against the nearest model.
 * @param change the change that the error suggests, with the model that it is for
 */
function summaryOf(
  inputs: DecisionInputs & Pick<Refusal, 'rejected'>,
  request: ModelRequest | null,
  { text, model }: Partial<Suggestion>,
): string {
  const { facts, snapshot, rejected } = inputs;
  const { named } = facts;
  const subject = named ? `${quoted(named)} cannot serve this request` : 'No model can serve this request';
  const all = rejected.flatMap((one) => rejectionsAgainst(snapshot.models[one.model]!, one.rejections, inputs));
  const [reason, ...others] = new Set(all.map((one) => one.text));
  if (reason === undefined) return subject;
  if (others.length === 0) {
    if (named?.length === 1) return `${subject}: ${reason}`;
    const [only, ...more] = rejected;
    const models = only && more.length === 0 ? `The nearest is \`${snapshot.models[only.model]!.id}\`` : SAME_REASON;
    return `${subject}. ${models}: ${reason}`;
  }
  const nearest = rejected.find((one) => one.model === model) ?? nearestModel(rejected, inputs)!;
  const reasons = text
    ? rejectionsAgainst(snapshot.models[nearest.model]!, nearest.rejections, inputs)
        .map((one) => one.text)
        .join('; ')
    : reasonsWithFixes(nearest, inputs, request);
  return named?.length === 1
    ? `${subject}: ${reasons}`
    : `${subject}. The nearest is \`${snapshot.models[nearest.model]!.id}\`: ${reasons}`;
}

const SAME_REASON = 'The reason is the same for each model';

/**
 * Creates the error for a selector that has no models to choose from: the policy serves models only by name, or no model was found yet.
 */
function nothingToChoose({ model }: Facts, { wildcards, models, providers, found }: PolicySnapshot): SignalboxError {
  const servers = [...providers.values()].filter(({ discover }) => discover).map(({ name }) => name);
  // The models of a pattern at a model server are those that are found.
  const patterns = (wildcards?.patterns ?? []).filter(({ endpoints: [{ provider }] }) => !servers.includes(provider));
  const names = [...models.map(({ id }) => id), ...patterns.map(({ id }) => `${id.slice(0, -1)}…`)];
  const named = names
    .slice(0, NAMES_SHOWN)
    .map((name) => `\`${name}\``)
    .join(', ');
  if (names.length === 0) {
    const silent = silentServers({ providers, found });
    const others = servers.filter((name) => !silent.includes(name));
    const reasons = [
      ...(silent.length > 0 ? [silentText(silent)] : []),
      ...(others.length > 0 ? [`no model for chats was found at ${AND.format(others)} yet`] : []),
    ];
    const text = `\`${model}\` has no models to choose from: ${reasons.join(', and ')}.`;
    return new SignalboxError('no_healthy_model', text, { retryAfterMs: FIND_AGAIN_MS, details: { unavailable: [] } });
  }
  const message = `\`${model}\` chooses from the models that the policy lists, but this server can serve none of them. Name a model instead: ${named}.`;
  return new SignalboxError('no_eligible_model', message, { param: 'model', details: { rejected: [] } });
}

/** The most names that an error suggests. */
const NAMES_SHOWN = 5;

/** Whether an entry is a tool. The native tools also include fields such as `container`. */
const isTool = ({ kind, at }: Pick<NativeTool, 'kind' | 'at'>): boolean => kind !== at.at(-1);

/** Whether some model lacks only the dialect of the request, and prices for fields that only this dialect has. */
const onlyLacksDialect = (refusal: Refusal, snapshot: PolicySnapshot): boolean =>
  heldBackBy(refusal, snapshot, 'capability', 'unpriced', ...UNBOUNDED).some((model) => {
    const missing = capabilityNames(missingBits(refusal.facts.needs, model.capabilities));
    return missing.length === 1 && CAPABILITIES[missing[0]!].of === 'passthrough';
  });

/** Writes the IDs of named models: `a`, or `a and b`. */
const quoted = (ids: readonly string[]): string => AND.format(ids.map((id) => `\`${id}\``));
const AND = new Intl.ListFormat('en-GB');

/** Creates the error for a tool that only providers of the request's own dialect could run, if no eligible model has such a provider. */
function dialectToolError(tool: Pick<NativeTool, 'kind' | 'at'>, { named }: Facts): SignalboxError {
  const who = named ? `${quoted(named)} cannot be` : 'No eligible model can be';
  const message = `${who} given the tool ${nativeToolText(tool)}, because only a provider that knows this tool can run it. Leave it out, or choose a model of such a provider.`;
  return new SignalboxError('unsupported_parameter', message, { param: `${pathText(tool.at)}.type` });
}

/** @param unpriced for each of several models, the parts of the bill that have no price */
function unpricedError(
  unpriced: readonly (readonly string[])[],
  { addOns }: Facts,
  { tools, serviceTier }: RefusalNames,
): SignalboxError {
  const least = unpriced.reduce((one, other) => (other.length < one.length ? other : one));
  const [field] = addOns?.unpriced ?? [];
  const tier = addOns?.tier;
  const isOfTier = tier !== undefined && least[0] === tierText(tier);
  const price = isOfTier ? `, as \`service_tiers.${tier}\` of a model’s \`price\`` : '';
  const remedy =
    field === undefined
      ? `Leave it out, or ask the operator to add its price to the policy${price}.`
      : remedyFor(field);
  return new SignalboxError(
    'unsupported_parameter',
    `No eligible model has a price for ${least.join(', ')}, so Signalbox could not enforce a budget. ${remedy}`,
    { param: field ?? (isOfTier ? serviceTier : addOns?.unitsAt) ?? (addOns?.rereadings ? tools : 'cache_control') },
  );
}

/** What a caller can do about a field whose price no policy can state. */
function remedyFor(field: string): string {
  if (/prompt_cache_(?:breakpoint|options\.ttl)$/.test(field))
    return 'Use a `ttl` of `30m`: a policy cannot state the price of this one.';
  return 'Leave it out: a policy cannot state its price.';
}

/** A request without a known price counts as more expensive than any fund allows. */
const UNBOUNDED: readonly Rejection[] = ['funds', 'budget_limit'];

/** Returns the models that would be eligible without rejections of these kinds. */
const heldBackBy = (refusal: Refusal, snapshot: PolicySnapshot, ...kinds: readonly Rejection[]): Model[] =>
  rejectedBy(refusal, ...kinds).map((one) => snapshot.models[one.model]!);

/** Returns the rejected models whose rejections are all of these kinds. */
function rejectedBy({ rejected }: Refusal, ...kinds: readonly Rejection[]): Refusal['rejected'] {
  const bits = kinds.reduce((all, kind) => all | REJECTIONS[kind].bit, 0);
  return rejected.filter((one) => (one.rejections & ~bits) === 0);
}

function healthError(refusal: Refusal, snapshot: PolicySnapshot, now: number): SignalboxError {
  const { facts, readings } = refusal;
  const inputs = { facts, readings, snapshot };
  const shut = heldBackBy(refusal, snapshot, 'health').flatMap((model) => shutEndpoints(model, inputs));
  const { named } = facts;
  const subject = named?.length === 1 ? `${quoted(named)} is` : 'Every model that could serve this request is';
  return unavailableError(subject, shut, now);
}

function budgetError(refusal: Refusal, snapshot: PolicySnapshot): SignalboxError {
  const { facts } = refusal;
  const least = heldBackBy(refusal, snapshot, 'health', 'funds', 'budget_limit').map((model) =>
    leastBudget(model, facts, snapshot),
  );
  const needed = toCredits(Math.min(...least));
  return new SignalboxError(
    'budget_limit_too_low',
    `budget_limit must be at least ${needed} Credits for this request, to cover its prompt and the minimum useful output.`,
    { param: 'budget_limit', details: { least_credits: needed } },
  );
}

/**
 * Returns the lowest worst-case cost, in microcredits, among the models that only funds or health make ineligible. If funds cap the output,
 * the result is the worst-case cost of the minimum useful output.
 */
export function leastWorstCase(refusal: Refusal, snapshot: PolicySnapshot): Microcredits {
  const { facts } = refusal;
  const costs = heldBackBy(refusal, snapshot, 'health', 'funds').flatMap((model) => {
    const endpoints = endpointsFor(model, facts, snapshot);
    const cap = affordableCap(model, endpoints, facts, outputCap(model, facts));
    const most =
      facts.funds?.cap === undefined ? cap : Math.min(cap, usefulOutput(model, facts, taskOf(facts, snapshot)));
    return endpoints.map((at) => worstCase(model.endpoints[at]!, model, facts, most));
  });
  return Math.min(...costs);
}

function dimensionsError(facts: Facts, models: readonly Model[], param: string): SignalboxError {
  const has = models.map((model) => `\`${model.id}\` has ${dimensionsOf(model)}`).join(', ');
  const message = `No eligible model has vectors of ${facts.texts?.dimensions} dimensions: ${has}.`;
  return new SignalboxError('unsupported_parameter', message, { param });
}

function contextError(refusal: Refusal, snapshot: PolicySnapshot, param: string): SignalboxError {
  const models = heldBackBy(refusal, snapshot, 'context', 'budget_limit', 'funds', 'health');
  const window = Math.max(...models.map((model) => model.contextWindow));
  const { texts } = refusal.facts;
  if (texts) {
    const message = `The longest text has about ${texts.longest} tokens. The longest text that an eligible model accepts has ${window} tokens.`;
    const details = { estimated_input_tokens: texts.longest, context_window: window };
    return new SignalboxError('context_length_exceeded', message, { param, details });
  }
  const asked = windowAsked(refusal.facts);
  if (asked > window) {
    const message = `\`${refusal.facts.alias}\` requests a window of ${asked} tokens. The largest window of an eligible model has ${window} tokens. Remove \`[1m]\`, or name another model.`;
    return new SignalboxError('unsupported_parameter', message, {
      param: 'model',
      details: { context_window: window },
    });
  }
  const tokens = Math.min(...models.map((model) => expectedInput(refusal.facts, model)));
  const details = { estimated_input_tokens: tokens, context_window: window };
  const roomy = models.filter((model) => leavesUsefulOutput(model, refusal.facts, snapshot));
  if (roomy.length > 0) {
    const room = Math.max(
      ...roomy.map((model) => Math.floor(model.contextWindow - expectedInput(refusal.facts, model))),
    );
    const message = `The prompt has about ${tokens} tokens, and \`min_output_tokens\` is ${refusal.facts.outputTokensMin}. The largest context window of an eligible model has ${window} tokens. Set \`min_output_tokens\` to ${room} or less.`;
    return new SignalboxError('context_length_exceeded', message, { param: 'constraints.min_output_tokens', details });
  }
  const message = `The prompt has about ${tokens} tokens. The largest context window of an eligible model has ${window} tokens, which must also hold the output.`;
  return new SignalboxError('context_length_exceeded', message, { param, details });
}

/** A change that makes a model eligible. */
interface Suggestion {
  readonly text: string;
  /** Index of the model in the snapshot. */
  readonly model: number;
}

/** The smallest amount of Credits in a comparison. The smallest amount replaces 0 in comparisons of proportions. */
const FIGURE_MIN = 1e-6;

/**
 * Returns the proportionally smallest change of limits that makes a model eligible. If no change of limits helps, `nearestRelaxation`
 * suggests fewer languages, or no `budget_limit`.
 */
function nearestRelaxation(refusal: Refusal, snapshot: PolicySnapshot, names: RefusalNames): Suggestion | null {
  let nearest: (Suggestion & { readonly effort: number }) | null = null;
  for (const { model: at, rejections } of rejectedBy(refusal, 'max_cost', 'max_latency', 'max_output')) {
    const model = snapshot.models[at]!;
    const moves = movesFor(model, rejections, { ...refusal, snapshot, names });
    const effort = moves.reduce((sum, { from, to }) => sum + effortOf(from, to), 0);
    if (nearest === null || effort < nearest.effort) {
      nearest = { effort, model: at, text: `${movesText(moves)} to use \`${model.id}\`` };
    }
  }
  return nearest ?? fewestLanguages(refusal, snapshot) ?? withoutBudget(refusal, snapshot);
}

const effortOf = (from: number, to: number): number =>
  Math.abs(Math.log(Math.max(to, FIGURE_MIN) / Math.max(from, FIGURE_MIN)));

/** Suggests leaving `budget_limit` out: a model can serve media without an upper bound on tokens, but Signalbox cannot limit their cost. */
function withoutBudget(refusal: Refusal, snapshot: PolicySnapshot): Suggestion | null {
  if (refusal.facts.funds !== null) return null;
  const [first] = heldBackBy(refusal, snapshot, 'unbounded_media');
  return first ? suggestionFor(first, snapshot, `leave budget_limit out to use \`${first.id}\``) : null;
}

function fewestLanguages(refusal: Refusal, snapshot: PolicySnapshot): Suggestion | null {
  const missing = (model: Model) => languagesMissing(model, refusal.facts.languages, snapshot);
  const [first] = heldBackBy(refusal, snapshot, 'language').sort((a, b) => missing(a).length - missing(b).length);
  if (!first) return null;
  return suggestionFor(
    first,
    snapshot,
    `remove ${missing(first).join(', ')} from required_languages to use \`${first.id}\``,
  );
}

const suggestionFor = ({ id }: Model, { modelIndex }: PolicySnapshot, text: string): Suggestion => ({
  text,
  model: modelIndex.get(id)!,
});
