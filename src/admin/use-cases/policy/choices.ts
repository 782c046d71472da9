import { type Caller, OPERATOR } from '../../../core/people/caller.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { DIFFICULTIES, type Difficulty, type Facts } from '../../../core/request/facts.ts';
import { statedIds, TIER_LISTED_MAX } from '../../../core/request/tiers.ts';
import { readRouteRequest } from '../../../dialects/openai-chat/reader.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { BUILT_IN_SELECTORS } from '../../../policy/selectors/selectors.ts';
import { decisionReason } from '../../../routing/choice-reason.ts';
import { isRefusal } from '../../../routing/decide.ts';
import { figuresBody, isRefused, NO_CHOICE, requestOutcomeOf } from './compare.ts';
import { decideFor, hypotheticalFacts } from './hypothetical.ts';
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

/** Returns the order of each selector that orders its models once, with the IDs of its first models. */
export const ordersIn = ({ selectors, models }: Pick<PolicySnapshot, 'selectors' | 'models'>) =>
  [...selectors.values()].flatMap(({ name: selector, ladder }) => {
    const idsOf = (indexes: readonly number[]) => indexes.slice(0, TIER_LISTED_MAX).map((at) => models[at]!.id);
    if (!ladder || ladder.order.length === 0) return [];
    const { order, stated } = ladder;
    return [
      {
        selector,
        order: idsOf(order),
        stated: statedIds(stated, idsOf),
      },
    ];
  });

function choiceOf(selector: string, task: string, difficulty: Difficulty, runtime: Runtime) {
  const decided = decideFor(factsOf(selector, task, difficulty, runtime), runtime);
  const outcome = requestOutcomeOf(decided, runtime.snapshot);
  const asked = { selector, task, difficulty };
  if (isRefused(outcome)) return { ...asked, model: null, because: null, ...NO_CHOICE, refused: outcome.code };
  const { model, provider, reason } = outcome;
  const because = isRefusal(decided) ? null : decisionReason(decided, runtime.snapshot);
  return { ...asked, model, because, provider, reason, ...figuresBody(outcome, 1), refused: null };
}

const ANYONE: Caller = { ...OPERATOR, keyId: '' };

function factsOf(selector: string, task: string, difficulty: Difficulty, runtime: Runtime): Facts {
  const request = readRouteRequest({ model: selector, task_type: task });
  const facts = hypotheticalFacts({ request, caller: ANYONE, timeMs: Date.parse(USUAL_TIME), difficulty }, runtime);
  // A request whose task is read, not stated, has the qualities of the typical request.
  const { isTaskStated: _, ...read } = facts;
  return read;
}
