import { DIFFICULTIES, type Difficulty, type Facts } from '../../../core/facts.ts';
import { readRouteRequest } from '../../../dialects/openai-chat/reader.ts';
import { CHEAP_SELECTOR, type CostlyTask, costlyDiagnostics } from '../../../policy/costly-choices.ts';
import type { Diagnostic } from '../../../policy/diagnostics.ts';
import type { ParsedPolicy } from '../../../policy/parsed.ts';
import { isNearlyBest } from '../../../policy/reference-price.ts';
import { type Runtime, strategyOf } from '../../../policy/runtime/runtime.ts';
import { BUILT_IN_SELECTORS } from '../../../policy/selectors.ts';
import { certify } from '../../../routing/certify.ts';
import { figuresBody, isRefused, requestOutcomeOf } from './compare.ts';
import { decideFor, hypotheticalFacts, UNNAMED } from './hypothetical.ts';
import { USUAL_TIME } from './reasons.ts';

/** What a selector chooses for a task and a difficulty, as commands print it and the API returns it. */
export type PolicyChoice = ReturnType<typeof choiceOf>;

/** The most choices of one check. */
const CHOICES_MAX = 10_000;

/**
 * Returns what each selector for chats chooses for each task and difficulty, at most `CHOICES_MAX` choices: for a request of the task's usual
 * size without messages, from a key without labels, with only the figures of the policy. Yields between choices.
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

function choiceOf(selector: string, task: string, difficulty: Difficulty, runtime: Runtime) {
  const outcome = requestOutcomeOf(decideFor(factsOf(selector, task, difficulty, runtime), runtime), runtime.snapshot);
  const asked = { selector, task, difficulty };
  if (isRefused(outcome)) return { ...asked, ...NO_CHOICE, refused: outcome.code };
  const { model, provider, reason } = outcome;
  return { ...asked, model, provider, reason, ...figuresBody(outcome, 1), refused: null };
}

const NO_CHOICE = {
  ...{ model: null, provider: null, reason: null },
  ...{ cost_credits: null, cost_usd: null, latency_ms: null, quality: null },
};

const ANYONE = { id: '', labels: {}, models: null };

function factsOf(selector: string, task: string, difficulty: Difficulty, runtime: Runtime): Facts {
  const request = readRouteRequest({ model: selector, task_type: task });
  return hypotheticalFacts({ request, key: ANYONE, timeMs: Date.parse(USUAL_TIME), difficulty }, runtime);
}

/** A choice of `auto-cheap` above this multiple of the cost of a model of nearly the same quality is reported. */
const COSTLY = 3;

/** Finds the tasks for which `auto-cheap` chooses an expensive model at the usual difficulty if no rule applies. Yields between tasks. */
function* costlyTasks(runtime: Runtime): Generator<undefined, CostlyTask[]> {
  const costly: CostlyTask[] = [];
  // Without rules, every model that can serve the task is eligible.
  const unruled: Runtime = { ...runtime, snapshot: { ...runtime.snapshot, constraints: [], preferences: [] } };
  for (const { name: task } of runtime.snapshot.tasks) {
    const facts = factsOf(CHEAP_SELECTOR, task, 'usual', unruled);
    const { candidates } = certify(unruled.snapshot, facts, { ...UNNAMED, ...strategyOf(facts, unruled) });
    const ranked = candidates.filter(({ rank }) => rank !== null);
    const [choice] = ranked;
    const best = Math.max(...ranked.map(({ countedQuality }) => countedQuality));
    const [cheapest] = ranked
      .filter(({ countedQuality }) => isNearlyBest(countedQuality, best))
      .sort((a, b) => a.costCredits - b.costCredits);
    if (choice && cheapest && choice.costCredits > COSTLY * cheapest.costCredits) {
      const costs = { credits: choice.costCredits, leastCredits: cheapest.costCredits };
      costly.push({ task, model: choice.model, cheapest: cheapest.model, ...costs });
    }
    yield;
  }
  return costly;
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
