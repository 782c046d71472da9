import { priorReadings } from '../../../core/decision/readings.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { TIER_LISTED_MAX } from '../../../core/policy/tiers.ts';
import { DIFFICULTIES, type Difficulty, type Facts } from '../../../core/request/facts.ts';
import { readRouteRequest } from '../../../dialects/openai-chat/reader.ts';
import type { Diagnostic } from '../../../policy/diagnostics.ts';
import { CHEAP_SELECTOR, type CostlyTask, costlyDiagnostics } from '../../../policy/models/costly-choices.ts';
import { isNearlyBest } from '../../../policy/models/reference-price.ts';
import type { ParsedPolicy } from '../../../policy/parsed.ts';
import { type Runtime, strategyOf } from '../../../policy/runtime/runtime.ts';
import { BUILT_IN_SELECTORS } from '../../../policy/selectors.ts';
import { Evaluation } from '../../../routing/evaluate.ts';
import { figuresBody, isRefused, NO_CHOICE, requestOutcomeOf } from './compare.ts';
import { decideFor, hypotheticalFacts, UNNAMED } from './hypothetical.ts';
import { USUAL_TIME } from './reasons.ts';

/** The choice of a selector for a task and a difficulty, as commands print it and the API returns it. */
export type PolicyChoice = ReturnType<typeof choiceOf>;

/** The most choices of one check. */
const CHOICES_MAX = 10_000;

/**
 * Returns what each selector for chats chooses for each task and difficulty, at most `CHOICES_MAX` choices: for the first request of a
 * conversation, of the task's usual size, from a key without labels, with only the figures of the policy. Yields between choices.
 */
export function* choicesIn(runtime: Runtime): Generator<undefined, PolicyChoice[]> {
  const { selectors, tasks } = runtime.snapshot;
  const own = [...selectors.values()].filter(({ vectorSpace }) => vectorSpace === null).map(({ name }) => name);
  const names = [...new Set<string>([...BUILT_IN_SELECTORS, ...own])].filter((name) => own.includes(name));
  const choices: PolicyChoice[] = [];
  for (const { name: task } of tasks) {
    for (const difficulty of DIFFICULTIES) {
      for (const selector of names) {
        if (choices.length === CHOICES_MAX) return choices;
        choices.push(choiceOf(selector, task, difficulty, runtime));
        yield;
      }
    }
  }
  return choices;
}

/** Returns the tiers of each selector that has tiers, with the IDs of their models in order. */
export const tiersIn = ({ selectors, models }: Pick<PolicySnapshot, 'selectors' | 'models'>) =>
  [...selectors.values()].flatMap(({ name: selector, tiers }) => {
    const idsOf = (indexes: readonly number[]) => indexes.slice(0, TIER_LISTED_MAX).map((at) => models[at]!.id);
    return tiers ? [{ selector, source: tiers.source, usual: idsOf(tiers.usual), strong: idsOf(tiers.strong) }] : [];
  });

function choiceOf(selector: string, task: string, difficulty: Difficulty, runtime: Runtime) {
  const outcome = requestOutcomeOf(decideFor(factsOf(selector, task, difficulty, runtime), runtime), runtime.snapshot);
  const asked = { selector, task, difficulty };
  if (isRefused(outcome)) return { ...asked, model: null, ...NO_CHOICE, refused: outcome.code };
  const { model, provider, reason } = outcome;
  return { ...asked, model, provider, reason, ...figuresBody(outcome, 1), refused: null };
}

const ANYONE = { id: '', labels: {}, models: null };

function factsOf(selector: string, task: string, difficulty: Difficulty, runtime: Runtime): Facts {
  const request = readRouteRequest({ model: selector, task_type: task });
  return hypotheticalFacts({ request, key: ANYONE, timeMs: Date.parse(USUAL_TIME), difficulty }, runtime);
}

/** A choice of `auto-cheap` above this multiple of the cost of a model of nearly the same quality is reported. */
const COSTLY = 3;

/** Finds the tasks for which `auto-cheap` chooses an expensive model at the usual difficulty if no rule applies. Yields between tasks. */
function* costlyTasks(runtime: Runtime): Generator<undefined, CostlyTask[]> {
  // Without rules, every model that can serve the task is eligible.
  const snapshot = { ...runtime.snapshot, constraints: [], preferences: [] };
  const evaluation = new Evaluation(snapshot);
  const readings = priorReadings(snapshot);
  const costly: CostlyTask[] = [];
  for (const { name: task } of snapshot.tasks) {
    // Derived tiers depend on rules, so the ranking of all models shows what the weights of the selector choose.
    const { tier: _, ...facts } = factsOf(CHEAP_SELECTOR, task, 'usual', { ...runtime, snapshot });
    evaluation.fill(facts, readings, null);
    const { n, model, quality, cost } = evaluation.shortlist;
    if (n > 0) {
      evaluation.choose(facts, { ...UNNAMED, ...strategyOf(facts, runtime) }, 1);
      const chosen = evaluation.order[0]!;
      const cheapest = cheapestNearBest(n, quality, cost);
      if (cost[chosen]! > COSTLY * cost[cheapest]!) {
        const idAt = (at: number) => snapshot.models[model[at]!]!.id;
        const costs = { credits: cost[chosen]!, leastCredits: cost[cheapest]! };
        costly.push({ task, model: idAt(chosen), cheapest: idAt(cheapest), ...costs });
      }
    }
    yield;
  }
  return costly;
}

/** Returns the position of the cheapest of `n` models that are nearly as good as the best. */
function cheapestNearBest(n: number, quality: ArrayLike<number>, cost: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < n; i++) if (quality[i]! > quality[best]!) best = i;
  let cheapest = best;
  for (let i = 0; i < n; i++) if (isNearlyBest(quality[i]!, quality[best]!) && cost[i]! < cost[cheapest]!) cheapest = i;
  return cheapest;
}

/** Warns if `auto-cheap` chooses expensive models. Yields between tasks. */
export function* reviewCheapChoices(
  { reference, selectors, start }: Pick<ParsedPolicy, 'reference' | 'selectors' | 'start'>,
  runtime: Runtime,
): Generator<undefined, readonly Diagnostic[]> {
  const tasks = yield* costlyTasks(runtime);
  const own = selectors.find(({ name }) => name === CHEAP_SELECTOR)?.place ?? start;
  const stated = reference?.origin.source === 'stated' ? reference.place : null;
  return costlyDiagnostics({ tasks, place: stated ?? own, statesReference: stated !== null });
}
