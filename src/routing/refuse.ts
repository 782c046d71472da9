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
 * Turns a refusal into an error, with every model's reasons and the nearest relaxation.
 *
 * @param request The refused one, for the names of its fields; null where only its facts are known.
 * @param now Unix ms, from which waits are counted.
 */
export function refusalError(
  refusal: Refusal,
  snapshot: PolicySnapshot,
  request: ModelRequest | null = null,
  now = 0,
): SignalboxError {
  const { facts } = refusal;
  if (snapshot.models.length === 0) return onlyWildcards(facts, snapshot);
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
  // One reason for all, or one model, fits into the message; the details have every reason.
  const why = reasons.length === 1 || facts.pinned ? `: ${reasons.join('; ')}` : '';
  const summary = `${facts.pinned ? `\`${facts.model}\` does not meet the request` : 'No model meets the request'}${why}`;
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

/** A selector has nothing to choose from where wildcards alone serve. */
function onlyWildcards({ model }: Facts, { wildcards }: PolicySnapshot): SignalboxError {
  const named = wildcards?.patterns.map(({ id }) => `\`${id.slice(0, -1)}…\``).join(', ');
  const message = `\`${model}\` chooses from the models that the policy lists, and it lists none that is served here. Name a model instead: ${named}.`;
  return new SignalboxError('no_eligible_model', message, { param: 'model', details: { rejected: [] } });
}

/** Whether it is one: fields such as `container` stand among the native tools, too. */
const isTool = ({ kind, at }: Pick<NativeTool, 'kind' | 'at'>): boolean => kind !== at.at(-1);

/** Whether some model lacks nothing but the dialect of the request, and a price for what only that can say. */
const onlyLacksDialect = (refusal: Refusal, snapshot: PolicySnapshot): boolean =>
  heldBackBy(refusal, snapshot, 'capability', 'unpriced', ...UNBOUNDED).some((model) => {
    const missing = capabilityNames(missingBits(refusal.facts.needs, model.capabilities));
    return missing.length === 1 && CAPABILITIES[missing[0]!].of === 'passthrough';
  });

/** A tool that only services of its own dialect could run, and no eligible model has one. */
function dialectToolError(tool: Pick<NativeTool, 'kind' | 'at'>, { pinned, model }: Facts): SignalboxError {
  const who = pinned ? `\`${model}\` cannot be` : 'No eligible model can be';
  const message = `${who} given the tool ${nativeToolText(tool)}: only a service that knows it can run it. Leave it out, or choose a model of that service.`;
  return new SignalboxError('unsupported_parameter', message, { param: `${pathText(tool.at)}.type` });
}

/** @param unpriced what each of some models has no price for */
function unpricedError(
  unpriced: readonly (readonly string[])[],
  { addOns }: Facts,
  { tools }: RefusalNames,
): SignalboxError {
  const least = unpriced.reduce((one, other) => (other.length < one.length ? other : one));
  return new SignalboxError(
    'unsupported_parameter',
    `No eligible model has a price for ${least.join(', ')}, so a budget could not be kept. Leave it out, or ask the operator for its price in the policy.`,
    { param: addOns?.unpriced[0] ?? (addOns?.rereadings ? tools : 'cache_control') },
  );
}

/** What has no price costs more than any fund has. */
const UNBOUNDED: readonly Rejection[] = ['funds', 'budget_limit'];

/** The models that only rejections of these kinds keep from being eligible. */
const heldBackBy = (refusal: Refusal, snapshot: PolicySnapshot, ...kinds: readonly Rejection[]): Model[] =>
  rejectedBy(refusal, ...kinds).map((one) => snapshot.models[one.model]!);

/** The rejections that are of these kinds alone. */
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
    `budget_limit must be at least ${needed} Credits for this request, to cover its prompt and a useful minimum of output.`,
    { param: 'budget_limit', details: { least_credits: needed } },
  );
}

/**
 * The lowest worst case of the models that only funds or health hold back, in microcredits: of the least useful output where
 * funds cap it.
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
    const message = `The longest text has about ${embedding.longest} tokens. The most that an eligible model embeds at once is ${window}.`;
    const details = { estimated_input_tokens: embedding.longest, context_window: window };
    return new SignalboxError('context_length_exceeded', message, { param, details });
  }
  const asked = windowAsked(refusal.facts);
  if (asked > window) {
    const message = `\`${refusal.facts.alias}\` asks for a window of ${asked} tokens. The largest eligible one has ${window}: leave \`[1m]\` out, or name another model.`;
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
    const message = `The prompt has about ${tokens} tokens, and \`min_output_tokens\` is ${refusal.facts.outputTokensMin}. The largest eligible context window has ${window}. Set \`min_output_tokens\` to ${room} or less.`;
    return new SignalboxError('context_length_exceeded', message, { param: 'constraints.min_output_tokens', details });
  }
  const message = `The prompt has about ${tokens} tokens. The largest eligible context window has ${window}, output included.`;
  return new SignalboxError('context_length_exceeded', message, { param, details });
}

/** A change of a limit of the request. */
interface Move {
  readonly field: string;
  readonly from: number;
  readonly to: number;
}

/** Stands for 0 where proportions are compared: the smallest amount of Credits. */
const FIGURE_MIN = 1e-6;

/** The smallest change of limits, in proportion, that admits a model; else fewer languages, or no `budget_limit`. */
function nearestRelaxation(refusal: Refusal, snapshot: PolicySnapshot, names: RefusalNames): string | null {
  let nearest: { effort: number; text: string } | null = null;
  for (const { model: at, rejections } of rejectedBy(refusal, 'max_cost', 'max_latency', 'max_output')) {
    const model = snapshot.models[at]!;
    const moves = movesFor(model, rejections, { ...refusal, snapshot, names });
    const effort = moves.reduce((sum, { from, to }) => sum + effortOf(from, to), 0);
    if (nearest === null || effort < nearest.effort) {
      const shown = moves.map(({ field, from, to }) => `${field} ${from} → ${to}`);
      nearest = { effort, text: `${shown.join(' and ')} admits \`${model.id}\`` };
    }
  }
  return nearest?.text ?? fewestLanguages(refusal, snapshot) ?? withoutBudget(refusal, snapshot);
}

/** The changes of the request's limits that admit a model which only these rejections keep from being eligible. */
function movesFor(model: Model, rejections: number, inputs: DecisionInputs): Move[] {
  const { costCredits, latencyMs } = inputs.facts.ceilings;
  const figures = judgedFigures(model, 0, inputs);
  const moves: Move[] = [];
  if (costCredits !== null && isSet(rejections, 'max_cost'))
    moves.push({ field: 'max_cost_credits', from: costCredits, to: shownCredits(figures.costCredits) });
  if (latencyMs !== null && isSet(rejections, 'max_latency'))
    moves.push({ field: 'max_latency_ms', from: latencyMs, to: shownMs(figures.latencyMs) });
  if (isSet(rejections, 'max_output'))
    // Two figures may stand for one field.
    for (const [field, value] of new Map(excessOutputs(model, inputs).map(({ field, value }) => [field, value])))
      moves.push({ field, from: value, to: model.maxOutput });
  return moves;
}

const effortOf = (from: number, to: number): number =>
  Math.abs(Math.log(Math.max(to, FIGURE_MIN) / Math.max(from, FIGURE_MIN)));

/** Media without a bound can be served, but not with a bound on the cost. */
function withoutBudget(refusal: Refusal, snapshot: PolicySnapshot): string | null {
  if (refusal.facts.funds !== null) return null;
  const [first] = heldBackBy(refusal, snapshot, 'unbounded_media');
  return first ? `leaving budget_limit out admits \`${first.id}\`` : null;
}

function fewestLanguages(refusal: Refusal, snapshot: PolicySnapshot): string | null {
  const missing = (model: Model) => languagesMissing(model, refusal.facts.languages, snapshot);
  const [first] = heldBackBy(refusal, snapshot, 'language').sort((a, b) => missing(a).length - missing(b).length);
  return first ? `required_languages without ${missing(first).join(', ')} admits \`${first.id}\`` : null;
}
