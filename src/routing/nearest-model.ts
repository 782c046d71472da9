import { REJECTIONS, type Refusal, type Rejection } from '../core/decision/decision.ts';
import { type Microcredits, toCredits } from '../core/money/credits.ts';
import type { Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import { capabilityNames, missingBits } from '../core/request/capability.ts';
import type { Facts } from '../core/request/facts.ts';
import type { ModelRequest } from '../core/request/model-request.ts';
import { decimalText } from '../core/text/text.ts';
import type { RejectionEntry } from './certificate.ts';
import { dearestCase, taskOf, usefulOutput } from './estimate.ts';
import {
  type DecisionInputs,
  isSet,
  languagesMissing,
  type Move,
  movesFor,
  rejectionsAgainst,
  USUAL_NAMES,
  unpricedIn,
  violatedConstraints,
} from './rejections.ts';
import { fieldsToLeaveOut } from './remedies.ts';
import { endpointsFor } from './rules.ts';

/** Reasons that no change of the request removes. */
const FIXED: readonly Rejection[] = ['operation', 'key_models', 'constraint', 'vector_space', 'thread', 'thoughts'];

type Rejected = Refusal['rejected'][number];

/**
 * Returns the rejected model that is nearest to serving the request: a model for the operation of the request with the fewest reasons, then
 * the fewest reasons that the caller cannot change, then the highest quality for the task, then the order of the catalog.
 * @returns null if no model was rejected
 */
export function nearestModel(rejected: readonly Rejected[], inputs: DecisionInputs): Rejected | null {
  const { snapshot, facts } = inputs;
  const task = snapshot.taskIndex.get(facts.task) ?? 0;
  const distances = ({ model: at, rejections }: Rejected): readonly number[] => {
    const model = snapshot.models[at]!;
    const kinds = rejectionKinds(rejections);
    return [
      isSet(rejections, 'operation') ? 1 : 0,
      kinds.reduce((sum, kind) => sum + reasonCount(kind, model, rejections, inputs), 0),
      kinds.filter((kind) => FIXED.includes(kind)).length,
      -(model.quality[task] ?? 0),
      at,
    ];
  };
  let nearest: { readonly entry: Rejected; readonly distances: readonly number[] } | null = null;
  for (const entry of rejected) {
    const own = distances(entry);
    if (nearest === null || isBefore(own, nearest.distances)) nearest = { entry, distances: own };
  }
  return nearest?.entry ?? null;
}

function isBefore(own: readonly number[], others: readonly number[]): boolean {
  const at = own.findIndex((distance, index) => distance !== others[index]);
  return at >= 0 && own[at]! < others[at]!;
}

const rejectionKinds = (rejections: number): Rejection[] =>
  (Object.keys(REJECTIONS) as Rejection[]).filter((kind) => isSet(rejections, kind));

/** Returns how many reasons a kind of rejection stands for, such as the number of missing capabilities. */
function reasonCount(kind: Rejection, model: Model, rejections: number, inputs: DecisionInputs): number {
  const { facts, snapshot } = inputs;
  const counts: Partial<Record<Rejection, () => number>> = {
    capability: () => capabilityNames(missingBits(facts.needs, model.capabilities)).length,
    language: () => languagesMissing(model, facts.languages, snapshot).length,
    constraint: () => violatedConstraints(model, rejections, inputs).length,
  };
  return Math.max(1, counts[kind]?.() ?? 1);
}

/** Writes all reasons against a model, each with the change of the request that removes it, if one does. */
export function reasonsWithFixes(
  { model: at, rejections }: Rejected,
  inputs: DecisionInputs,
  request: ModelRequest | null,
): string {
  const model = inputs.snapshot.models[at]!;
  return rejectionsAgainst(model, rejections, inputs)
    .map(({ kind, text }) => {
      const fix = fixFor(kind, model, inputs, request);
      return fix === null ? text : `${text} (${fix})`;
    })
    .join('; ');
}

function fixFor(
  kind: RejectionEntry['kind'],
  model: Model,
  inputs: DecisionInputs,
  request: ModelRequest | null,
): string | null {
  const { facts, snapshot, names = USUAL_NAMES } = inputs;
  const move = (limit: Rejection) => () => movesText(movesFor(model, REJECTIONS[limit].bit, inputs));
  const fixes: Partial<Record<RejectionEntry['kind'], () => string | null>> = {
    max_cost: move('max_cost'),
    max_latency: move('max_latency'),
    max_output: move('max_output'),
    capability: () => request && fieldsToLeaveOut(model, facts, request),
    language: () => `remove ${languagesMissing(model, facts.languages, snapshot).join(', ')} from required_languages`,
    unpriced: () => `leave ${unpricedIn(model, facts, names).join(', ')} out`,
    unbounded_media: () => (facts.funds === null ? 'leave budget_limit out' : null),
    context: () => `shorten the ${names.turns}`,
    budget_limit: () => `budget_limit must be at least ${toCredits(leastBudget(model, facts, snapshot))}`,
    selector: () => `send \`${model.id}\` as \`model\``,
    key_models: () => 'an operator can add it to the list of models',
    health: () => 'try again later',
  };
  return fixes[kind]?.() ?? null;
}

/** Writes changes of limits: `change max_latency_ms from 800 to 950`. */
export const movesText = (moves: readonly Move[]): string =>
  `change ${moves.map(({ field, from, to }) => `${field} from ${decimalText(from)} to ${decimalText(to)}`).join(' and ')}`;

/** Returns the lowest `budget_limit` that covers the prompt and the minimum useful output of a model. */
export const leastBudget = (model: Model, facts: Facts, snapshot: PolicySnapshot): Microcredits =>
  dearestCase(model, endpointsFor(model, facts, snapshot), facts, usefulOutput(model, facts, taskOf(facts, snapshot)));
