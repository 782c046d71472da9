import { REJECTIONS } from '../core/decision/decision.ts';
import type { Readings } from '../core/decision/readings.ts';
import { qualifiedFor } from '../core/policy/language-support.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import { rejectionsOf } from './constrain.ts';
import { expectedWriting } from './estimate.ts';
import { windowAsked } from './model-name.ts';
import { allowedEndpoints, limitsOf, vectorSpaceOf } from './rules.ts';

/** The reasons that say which models may see a request, and which can answer it. Health, price, latency and funds are no such reasons. */
const RIGHTS =
  REJECTIONS.operation.bit |
  REJECTIONS.key_models.bit |
  REJECTIONS.capability.bit |
  REJECTIONS.language.bit |
  REJECTIONS.dimensions.bit |
  REJECTIONS.vector_space.bit |
  REJECTIONS.selector.bit;

/** Whether a model is on the shortlist of a request if all endpoints are healthy and money and time do not matter. */
export function mayAnswer(id: string, facts: Facts, snapshot: PolicySnapshot, readings: Readings): boolean {
  const index = snapshot.modelIndex.get(id);
  const model = index === undefined ? undefined : snapshot.models[index];
  if (index === undefined || !model) return false;
  if (facts.named === null ? model.found?.isNamedOnly : !facts.named.includes(id)) return false;
  const { languages, models, tasks, taskIndex } = snapshot;
  const limits = limitsOf(facts, snapshot);
  const requirements = {
    facts,
    task: tasks[taskIndex.get(facts.task) ?? 0]!,
    allowed: facts.allowedModels === null ? null : new Set(facts.allowedModels),
    denied: facts.deniedModels === undefined ? null : new Set(facts.deniedModels),
    writing: expectedWriting(facts, snapshot, readings),
    limits,
    hasCeilings: false,
    vectorSpace: vectorSpaceOf(facts, snapshot),
    windowMin: windowAsked(facts),
    qualified: facts.languages.length > 0 ? qualifiedFor(facts.languages, languages, models.length) : null,
  };
  const rejections = rejectionsOf(model, index, requirements, 0, Number.POSITIVE_INFINITY);
  return (rejections & RIGHTS) === 0 && allowedEndpoints(model, limits.slots, facts.needs).length > 0;
}
