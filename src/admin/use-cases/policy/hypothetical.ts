import { type Awaitable, whenReady } from '../../../core/awaitable.ts';
import type { Decision, Refusal } from '../../../core/decision/decision.ts';
import type { Readings } from '../../../core/decision/readings.ts';
import type { GuardVerdict } from '../../../core/decision/verdict.ts';
import type { SignalboxError } from '../../../core/errors.ts';
import type { Caller } from '../../../core/people/caller.ts';
import type { GuardCounts } from '../../../core/policy/rules.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import type { Difficulty, Facts } from '../../../core/request/facts.ts';
import type { ModelRequest } from '../../../core/request/model-request.ts';
import { partitionOf } from '../../../gateway/cache/cache-name.ts';
import { skipOf } from '../../../gateway/cache/cache-scope.ts';
import { scopeOf } from '../../../gateway/guards/guard-scope.ts';
import {
  guardHypothetical,
  type HypotheticalVerdicts,
  NO_ORIGIN,
} from '../../../gateway/guards/hypothetical-guards.ts';
import { checkRequest } from '../../../gateway/request/check-request.ts';
import { decideWithin, type FundedTrial } from '../../../gateway/request/decide-within.ts';
import { countInput, decisiveTokenizers } from '../../../gateway/request/exact-count.ts';
import type { AvailableFunds } from '../../../ledger/available-funds.ts';
import { type Runtime, strategyOf } from '../../../policy/runtime/runtime.ts';
import { createTokenCounter, PATIENT_COUNT_MS, type TokenCounter } from '../../../providers/tokenizer/counter.ts';
import { routeFacts } from '../../../routing/facts.ts';
import { hasRules, type OnRuleFailure, withRules } from '../../../routing/rules.ts';
import { countableTexts } from '../../../routing/texts.ts';
import { withFirstTier } from '../../../routing/tiers.ts';

/** The ID and seed of a decision without a record. The ID and seed are constant, so that the same inputs always give the same decision. */
export const UNNAMED = { id: 0, seed: '0000000000000000' } as const;

/** Decides with the policy alone: without measurements and estimates. */
export const decideFor = (facts: Facts, runtime: Runtime): Decision | Refusal =>
  runtime.decider.decide(facts, { ...UNNAMED, ...strategyOf(facts, runtime) });

/**
 * The facts that are known at a moment: the money of a key, measurements. Each of these members is absent if the decision does not
 * consider it.
 */
interface DecisionKnowledge {
  readonly funds?: AvailableFunds | null;
  readonly readings?: Readings;
}

/** Decides like `decideFor`, but also uses what is known at a moment. */
export function tryFor(facts: Facts, runtime: Runtime, { funds = null, readings }: DecisionKnowledge): FundedTrial {
  const given = { ...UNNAMED, ...strategyOf(facts, runtime), readings };
  return funds
    ? decideWithin(funds, facts, given, runtime)
    : { outcome: runtime.decider.decide(facts, given), shortage: null, funds };
}

/** A request that was never sent. */
export interface HypotheticalRequest {
  readonly request: ModelRequest;
  /** The sender. */
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** The difficulty; absent to read it from the messages. */
  readonly difficulty?: Difficulty;
  /** The money of the key; absent or null if money is not considered. */
  readonly funds?: AvailableFunds | null;
  /** Measurements; absent to use the figures of the policy. */
  readonly readings?: Readings;
  /** How many matches each guard found in the request; absent for none. */
  readonly guards?: GuardCounts | undefined;
  /** The text that a model would answer; absent if guards inspect only the request. */
  readonly answer?: string | undefined;
}

/**
 * Runs the guards of a policy on a hypothetical request.
 * @returns the request after masks, with the numbers of matches
 */
export function guarded(hypothetical: HypotheticalRequest, runtime: Runtime): Awaitable<GuardedHypothetical> {
  const { request, caller, answer = null } = hypothetical;
  return whenReady(guardHypothetical(request, caller, runtime, answer, runtime.alarms.turns), (found) =>
    told(hypothetical, found),
  );
}

/** The findings of the guards of a policy in a hypothetical request. */
export interface GuardedHypothetical {
  readonly hypothetical: HypotheticalRequest;
  readonly verdicts: readonly GuardVerdict[];
  readonly refusal: SignalboxError | null;
}

const told = (
  hypothetical: HypotheticalRequest,
  { request, verdicts, refusal }: HypotheticalVerdicts,
): GuardedHypothetical => ({
  hypothetical: { ...hypothetical, request, guards: verdicts.inputCounts },
  verdicts: verdicts.all,
  refusal,
});

/** Whether the cache of the policy applies to a hypothetical request, after guards. */
export function isCachedFor({ request, caller }: HypotheticalRequest, { snapshot }: Runtime): boolean {
  const { cache } = snapshot;
  const scope = () => scopeOf(request, caller, NO_ORIGIN);
  return cache !== null && skipOf(cache, request, scope) === null && partitionOf(cache.partition, caller) !== null;
}

/**
 * Returns the facts of a hypothetical request, and the rules that apply to it.
 * @throws SignalboxError like a real request
 */
export function hypotheticalFacts(
  { request, timeMs, caller, readings, difficulty, guards }: HypotheticalRequest,
  runtime: Runtime,
  onFailure: OnRuleFailure = () => {},
  inputTokensCounted: Facts['inputTokensCounted'] = null,
): Facts {
  const { stream, settings, routing } = request;
  const { user = '' } = settings;
  const { metadata = {} } = routing;
  const read = {
    ...routeFacts(request, caller, runtime.snapshot, { reader: runtime.reader, readings }),
    inputTokensCounted,
    ...(guards && { guards }),
  };
  const facts = difficulty === undefined ? read : atDifficulty(read, difficulty, runtime.snapshot);
  if (!hasRules(runtime.snapshot)) return facts;
  return withRules(
    facts,
    runtime.snapshot,
    { stream, user, metadata, caller, time: runtime.localTime(timeMs), readings },
    onFailure,
  );
}

/** Returns the facts of a request with a difficulty, whose conversation begins in the tier for this difficulty. */
function atDifficulty(facts: Facts, difficulty: Difficulty, snapshot: PolicySnapshot): Facts {
  return withFirstTier({ ...facts, difficulty }, snapshot, () => (difficulty === 'hard' ? 1 : 0));
}

/**
 * Returns the facts as a server would compute them. If no model fits the upper bound of the prompt's tokens, this counts the tokens
 * exactly.
 * @throws SignalboxError like the API, by rejecting
 */
export async function exactFacts(
  hypothetical: HypotheticalRequest,
  runtime: Runtime,
  onFailure: OnRuleFailure = () => {},
  counter: TokenCounter = createTokenCounter(() => {}, PATIENT_COUNT_MS),
): Promise<Facts> {
  const { request } = hypothetical;
  checkRequest(request, runtime.snapshot.gateway);
  const facts = hypotheticalFacts(hypothetical, runtime, onFailure);
  const { outcome, shortage } = tryFor(facts, runtime, hypothetical);
  const texts = countableTexts(request);
  const names = decisiveTokenizers(outcome, shortage !== null, runtime.snapshot, texts);
  if (names.length === 0) return facts;
  const counted = await countInput(counter, names, facts, texts);
  return hypotheticalFacts(hypothetical, runtime, onFailure, counted);
}
