import type { Caller } from '../core/caller.ts';
import type { Turn } from '../core/conversation.ts';
import type { Decision, Refusal } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import { timeOfId } from '../core/id.ts';
import { explorationOf } from '../core/learning-policy.ts';
import type { Constraint, Preference } from '../core/rules.ts';
import { piecesIn, piecesOf, replaceRuns } from '../core/runs.ts';
import type { Shortage, Standing } from '../ledger/standing.ts';
import { type DecisionContext, isRefusal } from '../routing/decide.ts';
import { leastWorstCase, refusalError } from '../routing/refuse.ts';
import { withRules } from '../routing/rules.ts';
import { textsOf } from '../routing/texts.ts';
import { type Runtime, strategyOf } from '../runtime/runtime.ts';
import { countInput, decisiveTokenizers } from './exact-count.ts';
import { type Gateway, newSeed } from './gateway.ts';
import type { RequestContext } from './request-context.ts';
import { shortageError } from './shortage.ts';

/** What of a request the policy's rules may look at beside the facts. */
export interface ForRules {
  readonly stream: boolean;
  readonly user: string | null | undefined;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
}

/** What is to be decided. */
export interface Question {
  readonly facts: Facts;
  readonly forRules: ForRules;
  /** The conversation that the facts tell the size of; empty where a figure was stated instead. */
  readonly turns: readonly Turn[];
  /** What its words were read as; null where no text was at hand. */
  readonly features: Uint8Array | null;
  /** An answer will be made: another model than the best may be tried on it. */
  readonly isMade: boolean;
  /** Whatever the caller's balance holds: what it needs is yet to be paid in. */
  readonly windowsOnly?: boolean;
  /** The field that told how long the prompt is. */
  readonly promptField?: string;
  /** Gets the routing attempt; absent for a decision of no request. */
  readonly context?: RequestContext;
}

/**
 * Finds the rules that apply, and decides under them. Where only the bound of the prompt leaves no model, the prompt is
 * counted exactly, if it can be, and all is decided anew. Throws SignalboxError when no model is left, or no money for it.
 */
export async function decide(
  gateway: Gateway,
  question: Question,
  caller: Caller,
  runtime: Runtime,
): Promise<Decision> {
  const { snapshot } = runtime;
  const { facts, turns, promptField } = question;
  let verdict = judge(gateway, question, caller, runtime);
  const names = decisiveTokenizers(verdict.outcome, verdict.shortage !== null, snapshot);
  if (names.length > 0) {
    const inputTokensCounted = await countInput(gateway.counter, names, facts, textsOf(turns));
    if (inputTokensCounted) {
      verdict = judge(gateway, { ...question, facts: { ...facts, inputTokensCounted } }, caller, runtime);
    }
  }
  const { outcome, shortage } = verdict;
  if (shortage) throw shortageError(shortage, caller, gateway);
  if (isRefusal(outcome)) throw refusalError(outcome, snapshot, promptField, gateway.now());
  return outcome;
}

interface Verdict {
  readonly outcome: Decision | Refusal;
  /** What no fund of the caller can ever pay. */
  readonly shortage: Shortage | null;
}

function judge(
  gateway: Gateway,
  { facts, forRules, features, isMade, windowsOnly = false, context }: Question,
  caller: Caller,
  runtime: Runtime,
): Verdict {
  context?.step('shortlist');
  const { stream, user, metadata } = forRules;
  const ruled = withRules(
    facts,
    runtime.snapshot,
    () => ({ stream, user: user ?? '', metadata: metadata ?? {}, caller, time: runtime.localTime(gateway.now()) }),
    (rule, error) => {
      const why = () => withoutValues(String(error), forRules);
      tellOnce(gateway, rule, `the condition of rule \`${rule.name}\` failed and counts as true`, why);
    },
  );
  const { decider } = runtime;
  const { faults } = decider;
  const chosen = strategyOf(ruled, runtime);
  const given: DecisionContext = {
    id: gateway.nextId(),
    seed: newSeed(),
    readings: runtime.readings(),
    estimate: gateway.learner.estimate(runtime, ruled, features),
    explore: isMade ? explorationOf(runtime.snapshot.learning, ruled) : null,
    ...chosen,
    onShortlist: context?.trace ? () => context.step('decide') : undefined,
  };
  const standing = gateway.ledger.standing(caller, facts.model, timeOfId(given.id), windowsOnly);
  const verdict = standing
    ? judgeWithin(standing, ruled, given, runtime)
    : { outcome: decider.decide(ruled, given), shortage: null };
  if (context) context.routing = { facts: ruled, snapshot: runtime.snapshot, rejections: decider.rejections.slice() };
  if (decider.faults > faults) {
    tellOnce(gateway, chosen.strategy, `the strategy of \`${facts.model}\` gave no usable scores`, null);
  }
  return verdict;
}

/**
 * Within what the caller's funds can pay. Where only open reservations are in the way the decision must wait for them.
 * To try another model than the best costs nobody an answer or a wait: what was drawn and does not fit is not tried.
 */
function judgeWithin(standing: Standing, facts: Facts, given: DecisionContext, runtime: Runtime): Verdict {
  const { decider, snapshot } = runtime;
  const decideWith = (free: number | null) => decider.decide({ ...facts, funds: { free } }, given);
  const now = decideWith(standing.free);
  const isHeldUp = isRefusal(now) && now.group === 'funds' && standing.free !== standing.unspent;
  const outcome = isHeldUp ? decideWith(standing.unspent) : now;
  if (!isRefusal(outcome) && outcome.draw !== null && outcome.ranked[0].bound > standing.room) {
    return judgeWithin(standing, facts, { ...given, explore: null }, runtime);
  }
  const needed = isRefusal(outcome)
    ? outcome.group === 'funds' && leastWorstCase(outcome, snapshot)
    : outcome.ranked[0].bound;
  return { outcome, shortage: needed === false ? null : standing.shortFor(needed) };
}

/** CEL quotes what it cannot read, which a caller wrote. Shorter ones say nothing of anybody. */
const VALUE_MIN = 4;

function withoutValues(text: string, { user, metadata }: ForRules): string {
  const values = [user ?? '', ...Object.values(metadata ?? {})].filter(({ length }) => length >= VALUE_MIN);
  const left = values.reduce((rest, value) => rest.replaceAll(value, '[value]'), text);
  // What reads a value may repeat a part of it alone.
  const pieces = piecesOf([left]);
  return replaceRuns(left, new Set(values.flatMap((value) => [...piecesIn(value, pieces)])), () => '[value]');
}

/** Rules and strategies whose fault was told: it would be the same with every request. */
const told = new WeakSet<object>();

function tellOnce(
  { log }: Gateway,
  about: Constraint | Preference | object,
  message: string,
  error: (() => string) | null,
): void {
  if (told.has(about)) return;
  told.add(about);
  log.warn(message, error === null ? {} : { error: error() });
}
