import { CAPABILITIES, capabilityNames, missingBits } from '../core/capability.ts';
import { shownCredits, shownMs } from '../core/ceiling.ts';
import type { NativeTool } from '../core/conversation.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { REJECTIONS, type Refusal, type Rejection } from '../core/decision.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Facts } from '../core/facts.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { pathText } from '../core/original.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { affordableCap, dearestCase, outputCap, taskOf, usefulOutput, worstCase } from './estimate.ts';
import { expectedInput } from './input-tokens.ts';
import { windowAsked } from './model-name.ts';
import {
  type DecisionInputs,
  dimensionsOf,
  excessOutputs,
  healthOf,
  isSet,
  judgedFigures,
  languagesMissing,
  leavesUsefulOutput,
  nativeToolText,
  type RefusalNames,
  rejectionsAgainst,
  USUAL_NAMES,
  unpricedIn,
} from './rejections.ts';
import { remediesFor } from './remedies.ts';
import { endpointsFor } from './rules.ts';
import { unavailableError } from './unavailable.ts';

/**
 * Converts a refusal into an error. The error of a refusal contains the reasons for each model and the smallest change that would make a
 * model eligible.
 *
 * @param request the refused request, for the names of its fields; null if only its facts are known
 * @param now Unix ms, from which waits are counted
 */
export function refusalError(
  refusal: Refusal,
  snapshot: PolicySnapshot,
  request: ModelRequest | null = null,
  now = 0,
): SignalboxError {
  const { facts } = refusal;
  if (!facts.pinned && snapshot.models.every(({ found }) => found?.isNamedOnly))
    return nothingToChoose(facts, snapshot);
  const names = request ? { ...request.names, nativeTools: request.conversation.nativeTools } : USUAL_NAMES;
  const task = taskOf(facts, snapshot);
  if (refusal.group === 'health') return healthError(refusal, snapshot, now);
  if (refusal.group === 'budget') return budgetError(refusal, snapshot, task);
  if (refusal.group === 'context') return contextError(refusal, snapshot, names.turns);
  const wide = facts.embedding && heldBackBy(refusal, snapshot, 'dimensions');
  if (wide && wide.length > 0) return dimensionsError(facts, wide);
  const inputs = { ...refusal, snapshot, names };
  const unpriced = heldBackBy(refusal, snapshot, 'unpriced', ...UNBOUNDED)
    .map((model) => unpricedIn(model, facts, names))
    .filter((parts) => parts.length > 0);
  if (unpriced.length > 0) return unpricedError(unpriced, facts, names);
  const tool = names.nativeTools?.find(isTool);
  if (tool && onlyLacksDialect(refusal, snapshot)) return dialectToolError(tool, facts);
  const rejected = refusal.rejected.map(({ model, rejections }) => ({
    model: snapshot.models[model]!.id,
    reasons: rejectionsAgainst(snapshot.models[model]!, rejections, inputs).map(({ text }) => text),
  }));
  const relaxation = nearestRelaxation(refusal, snapshot, names);
  const reasons = [...new Set(rejected.flatMap((one) => one.reasons))];
  // The message of the error contains the reasons if all models share one reason or the request names one model. The details of the error
  // always contain every reason.
  const why = reasons.length === 1 || facts.pinned ? `: ${reasons.join('; ')}` : '';
  const summary = `${facts.pinned ? `\`${facts.model}\` cannot serve this request` : 'No model can serve this request'}${why}`;
  const remedies = remediesFor(refusal, snapshot, request);
  const sentences = [
    relaxation ? `${summary}; ${relaxation}.` : `${summary}.`,
    ...(remedies.text ? [remedies.text] : []),
  ];
  return new SignalboxError('no_eligible_model', sentences.join(' '), {
    ...(remedies.param !== undefined && { param: remedies.param }),
    details: { rejected, ...(relaxation && { relaxation }) },
  });
}

/**
 * Creates the error for a selector that has no models to choose from: the policy serves models only by name, or no model was found yet.
 */
function nothingToChoose({ model }: Facts, { wildcards, models, providers }: PolicySnapshot): SignalboxError {
  const names = [...models.map(({ id }) => id), ...(wildcards?.patterns ?? []).map(({ id }) => `${id.slice(0, -1)}…`)];
  const named = names
    .slice(0, NAMES_SHOWN)
    .map((name) => `\`${name}\``)
    .join(', ');
  if (names.length === 0) {
    const servers = [...providers.values()].filter(({ discover }) => discover).map(({ name }) => name);
    const text = `\`${model}\` has no models to choose from: no model was found at ${servers.join(', ')} yet.`;
    return new SignalboxError('no_healthy_model', text, { retryAfterMs: FIND_AGAIN_MS, details: { unavailable: [] } });
  }
  const message = `\`${model}\` chooses from the models that the policy lists, but this server can serve none of them. Name a model instead: ${named}.`;
  return new SignalboxError('no_eligible_model', message, { param: 'model', details: { rejected: [] } });
}

/** The most names that an error suggests. */
const NAMES_SHOWN = 5;
/** How long a caller waits until model servers are polled again, ms. */
const FIND_AGAIN_MS = 30_000;

/** Whether an entry is a tool. The native tools also include fields such as `container`. */
const isTool = ({ kind, at }: Pick<NativeTool, 'kind' | 'at'>): boolean => kind !== at.at(-1);

/** Whether some model lacks only the dialect of the request, and prices for fields that only this dialect has. */
const onlyLacksDialect = (refusal: Refusal, snapshot: PolicySnapshot): boolean =>
  heldBackBy(refusal, snapshot, 'capability', 'unpriced', ...UNBOUNDED).some((model) => {
    const missing = capabilityNames(missingBits(refusal.facts.needs, model.capabilities));
    return missing.length === 1 && CAPABILITIES[missing[0]!].of === 'passthrough';
  });

/** Creates the error for a tool that only providers of the request's own dialect could run, if no eligible model has such a provider. */
function dialectToolError(tool: Pick<NativeTool, 'kind' | 'at'>, { pinned, model }: Facts): SignalboxError {
  const who = pinned ? `\`${model}\` cannot be` : 'No eligible model can be';
  const message = `${who} given the tool ${nativeToolText(tool)}, because only a provider that knows this tool can run it. Leave it out, or choose a model of such a provider.`;
  return new SignalboxError('unsupported_parameter', message, { param: `${pathText(tool.at)}.type` });
}

/** @param unpriced for each of several models, the parts of the bill that have no price */
function unpricedError(
  unpriced: readonly (readonly string[])[],
  { addOns }: Facts,
  { tools }: RefusalNames,
): SignalboxError {
  const least = unpriced.reduce((one, other) => (other.length < one.length ? other : one));
  return new SignalboxError(
    'unsupported_parameter',
    `No eligible model has a price for ${least.join(', ')}, so Signalbox could not enforce a budget. Leave it out, or ask the operator to add its price to the policy.`,
    { param: addOns?.unpriced[0] ?? (addOns?.rereadings ? tools : 'cache_control') },
  );
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
  const shut = heldBackBy(refusal, snapshot, 'health').flatMap((model) =>
    endpointsFor(model, facts, snapshot).map((at) => {
      const slot = model.firstSlot + at;
      return { model: model.id, state: healthOf(readings, slot), at: readings.retryAt[slot]! };
    }),
  );
  const subject = facts.pinned ? `\`${facts.model}\` is` : 'Every model that could serve this request is';
  return unavailableError(subject, shut, now);
}

function budgetError(refusal: Refusal, snapshot: PolicySnapshot, task: Task): SignalboxError {
  const { facts } = refusal;
  const least = heldBackBy(refusal, snapshot, 'health', 'funds', 'budget_limit').map((model) =>
    dearestCase(model, endpointsFor(model, facts, snapshot), facts, usefulOutput(model, facts, task)),
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
    return endpoints.map((at) => worstCase(model.endpoints[at]!.price, model, facts, most));
  });
  return Math.min(...costs);
}

function dimensionsError(facts: Facts, models: readonly Model[]): SignalboxError {
  const has = models.map((model) => `\`${model.id}\` has ${dimensionsOf(model)}`).join(', ');
  const message = `No eligible model has vectors of ${facts.embedding?.dimensions} dimensions: ${has}.`;
  return new SignalboxError('unsupported_parameter', message, { param: 'dimensions' });
}

function contextError(refusal: Refusal, snapshot: PolicySnapshot, param: string): SignalboxError {
  const models = heldBackBy(refusal, snapshot, 'context', 'budget_limit', 'funds', 'health');
  const window = Math.max(...models.map((model) => model.contextWindow));
  const { embedding } = refusal.facts;
  if (embedding) {
    const message = `The longest text has about ${embedding.longest} tokens. The longest text that an eligible model can embed has ${window} tokens.`;
    const details = { estimated_input_tokens: embedding.longest, context_window: window };
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

/** A change of one limit of the request. */
interface Move {
  readonly field: string;
  readonly from: number;
  readonly to: number;
}

/** The smallest amount of Credits in a comparison. The smallest amount replaces 0 in comparisons of proportions. */
const FIGURE_MIN = 1e-6;

/**
 * Returns the proportionally smallest change of limits that makes a model eligible. If no change of limits helps, `nearestRelaxation`
 * suggests fewer languages, or no `budget_limit`.
 */
function nearestRelaxation(refusal: Refusal, snapshot: PolicySnapshot, names: RefusalNames): string | null {
  let nearest: { effort: number; text: string } | null = null;
  for (const { model: at, rejections } of rejectedBy(refusal, 'max_cost', 'max_latency', 'max_output')) {
    const model = snapshot.models[at]!;
    const moves = movesFor(model, rejections, { ...refusal, snapshot, names });
    const effort = moves.reduce((sum, { from, to }) => sum + effortOf(from, to), 0);
    if (nearest === null || effort < nearest.effort) {
      const shown = moves.map(({ field, from, to }) => `${field} from ${from} to ${to}`);
      nearest = { effort, text: `change ${shown.join(' and ')} to use \`${model.id}\`` };
    }
  }
  return nearest?.text ?? fewestLanguages(refusal, snapshot) ?? withoutBudget(refusal, snapshot);
}

/** Returns the changes of the request's limits that make a model eligible if it has only these rejections. */
function movesFor(model: Model, rejections: number, inputs: DecisionInputs): Move[] {
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

const effortOf = (from: number, to: number): number =>
  Math.abs(Math.log(Math.max(to, FIGURE_MIN) / Math.max(from, FIGURE_MIN)));

/** Suggests leaving `budget_limit` out: a model can serve media without an upper bound on tokens, but Signalbox cannot limit their cost. */
function withoutBudget(refusal: Refusal, snapshot: PolicySnapshot): string | null {
  if (refusal.facts.funds !== null) return null;
  const [first] = heldBackBy(refusal, snapshot, 'unbounded_media');
  return first ? `leave budget_limit out to use \`${first.id}\`` : null;
}

function fewestLanguages(refusal: Refusal, snapshot: PolicySnapshot): string | null {
  const missing = (model: Model) => languagesMissing(model, refusal.facts.languages, snapshot);
  const [first] = heldBackBy(refusal, snapshot, 'language').sort((a, b) => missing(a).length - missing(b).length);
  return first ? `remove ${missing(first).join(', ')} from required_languages to use \`${first.id}\`` : null;
}
