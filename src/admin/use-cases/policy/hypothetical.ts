import { type Caller, type CallerLevel, OPERATOR } from '../../../core/caller.ts';
import type { Decision, Refusal } from '../../../core/decision.ts';
import { SignalboxError } from '../../../core/errors.ts';
import type { Estimate } from '../../../core/estimate.ts';
import type { Facts } from '../../../core/facts.ts';
import type { ModelRequest } from '../../../core/model-request.ts';
import type { Readings } from '../../../core/readings.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { checkRequest } from '../../../gateway/request/check-request.ts';
import { decideWithin, type FundedTrial } from '../../../gateway/request/decide-within.ts';
import { countInput, decisiveTokenizers } from '../../../gateway/request/exact-count.ts';
import type { AvailableFunds } from '../../../ledger/available-funds.ts';
import { type Runtime, strategyOf } from '../../../policy/runtime/runtime.ts';
import { createTokenCounter, PATIENT_COUNT_MS, type TokenCounter } from '../../../providers/tokenizer/counter.ts';
import { routeFacts } from '../../../routing/facts.ts';
import { hasRules, type OnRuleFailure, withRules } from '../../../routing/rules.ts';
import { countableTexts } from '../../../routing/texts.ts';

/** The ID and seed of a decision without a record: the same inputs always give the same decision. */
export const UNNAMED = { id: 0, seed: '0000000000000000' } as const;

/** Decides by the policy alone: without readings, an estimate or a draw. */
export const decideFor = (facts: Facts, runtime: Runtime): Decision | Refusal =>
  runtime.decider.decide(facts, { ...UNNAMED, ...strategyOf(facts, runtime) });

/** The knowledge of a moment: the money of a key, an estimate, measurements. Each is left out where it is not considered. */
interface DecisionKnowledge {
  readonly funds?: AvailableFunds | null;
  readonly estimate?: Estimate | null;
  readonly readings?: Readings;
}

/** As `decideFor`, by what is known at a moment. */
export function tryFor(
  facts: Facts,
  runtime: Runtime,
  { funds = null, estimate = null, readings }: DecisionKnowledge,
): FundedTrial {
  const given = { ...UNNAMED, ...strategyOf(facts, runtime), estimate, readings };
  return funds
    ? decideWithin(funds, facts, given, runtime)
    : { outcome: runtime.decider.decide(facts, given), shortage: null, funds };
}

/** A request that was never sent. */
export interface HypotheticalRequest {
  readonly request: ModelRequest;
  readonly key: {
    readonly id: string;
    readonly labels: Readonly<Record<string, string>>;
    /** Models that the key may use, by ID; null for all. */
    readonly models: readonly string[] | null;
    /** IDs of its team and its user; null for none. */
    readonly team?: string | null;
    readonly user?: string | null;
    /** The levels above it; absent for none. */
    readonly levels?: readonly CallerLevel[];
  };
  /** The caller itself, where there is one; `key` then says the same. */
  readonly caller?: Caller;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** The money of the key; absent or null where it is not considered. */
  readonly funds?: AvailableFunds | null;
  /** Absent for the policy's figures. */
  readonly readings?: Readings;
}

/** The error for a sender that is unknown, or a key that does not work. */
export function unknownSender(param: 'key' | 'user' | 'team'): SignalboxError {
  const what = param === 'key' ? 'key that works' : param;
  return new SignalboxError('not_found', `There is no ${what} with this ID that you can see.`, { param });
}

/** The caller that a hypothetical request comes from. */
function hypotheticalCaller({ id: keyId, labels, models, team, user, levels }: HypotheticalRequest['key']): Caller {
  return {
    ...{ ...OPERATOR, keyId, labels, models: models && new Set(models) },
    ...(team && { team }),
    ...(user && { user }),
    ...(levels && levels.length > 0 && { levels }),
  };
}

/**
 * Returns the facts of a hypothetical request, with the rules that apply to it.
 * @throws SignalboxError as a request would.
 */
export function hypotheticalFacts(
  { request, key, timeMs, caller = hypotheticalCaller(key), readings }: HypotheticalRequest,
  runtime: Runtime,
  onFailure: OnRuleFailure = () => {},
  inputTokensCounted: Facts['inputTokensCounted'] = null,
): Facts {
  const { stream, settings, routing } = request;
  const { user = '' } = settings;
  const { metadata = {} } = routing;
  const facts = { ...routeFacts(request, caller, runtime.snapshot, { readings }), inputTokensCounted };
  if (!hasRules(runtime.snapshot)) return facts;
  return withRules(
    facts,
    runtime.snapshot,
    { stream, user, metadata, caller, time: runtime.localTime(timeMs), readings },
    onFailure,
  );
}

/**
 * Returns the facts as a server would: with the prompt's exact count where its upper bound alone leaves no model.
 * @throws SignalboxError, by rejecting, as the API would.
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

/**
 * Reads a time as ms since 1970.
 * @param name the flag or field, for the message of the UsageError that it throws.
 */
export function momentOf(name: string, text: string): number {
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    throw new UsageError(`${name} takes a time with its offset, such as 2026-11-20T08:00:00Z, not "${text}".`);
  }
}
