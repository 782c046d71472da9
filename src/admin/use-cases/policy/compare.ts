import { SignalboxError } from '../../../core/errors.ts';
import type { PolicyCase } from '../../../core/policy/case.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { Steps } from '../../../policy/runtime/slices.ts';
import { runtimeFor } from '../../../policy/runtime/wildcard-runtime.ts';
import { isRefusal } from '../../../routing/decide.ts';
import { meaningOf } from '../../../routing/model-name.ts';
import { refusalError } from '../../../routing/refuse.ts';
import { type CaseRun, runCase } from './cases.ts';
import { type CaseOutcome, guardedCase, outcomeOf } from './reasons.ts';

/** A side of the comparison: one of the two policies. */
export interface Side {
  readonly cases: readonly PolicyCase[];
  /** The policy with every variable set. */
  readonly anywhere: Runtime;
  /** The policy with the variables that are set here, for which `serve: when_alone` may apply; null if no model could be served. */
  readonly here: Runtime | null;
}

/** The choice for a request with only the figures of the catalog. */
export interface ComparedChoice {
  readonly model: string;
  /** The provider of the endpoint that would be tried first. */
  readonly provider: string;
  readonly reason: string;
  readonly costCredits: number;
  readonly costUsd: number;
  readonly latencyMs: number;
  readonly quality: number;
}

/** The error of a request for which no model was chosen. */
export interface RefusedRequest {
  readonly code: string;
  readonly message: string;
}

export type RequestOutcome = ComparedChoice | RefusedRequest;

export const isRefused = (answer: RequestOutcome): answer is RefusedRequest => 'code' in answer;

/** Returns whether two outcomes are the same: model and provider, or the code of the error. A different cost alone does not count. */
export function isSame(a: RequestOutcome, b: RequestOutcome): boolean {
  if (isRefused(a) || isRefused(b)) return isRefused(a) && isRefused(b) && a.code === b.code;
  return a.model === b.model && a.provider === b.provider;
}

/** A case, decided with both policies. */
export interface ComparedCase {
  /** The case of the later policy, if both have it. */
  readonly case: PolicyCase;
  /** Which of the policies have the case. */
  readonly of: 'both' | 'a' | 'b';
  /**
   * Whether both policies have a case with this name but with different requests. Both policies then decide the request of the later
   * policy.
   */
  readonly isReworded: boolean;
  readonly a: RequestOutcome;
  readonly b: RequestOutcome;
  /** The failures with the later policy, if the case held with the earlier policy. */
  readonly broken: CaseRun['failures'];
}

/**
 * Decides the cases of both policies with both policies: first the cases of the later one, then the cases that only the earlier one has.
 * Yields between cases.
 */
export function* compareCases(a: Side, b: Side): Steps<ComparedCase[]> {
  const before = new Map(a.cases.map((one) => [one.name, one]));
  const after = new Map(b.cases.map((one) => [one.name, one]));
  const compared: ComparedCase[] = [];
  for (const name of new Set([...after.keys(), ...before.keys()])) {
    compared.push(yield* compareCase(before.get(name), after.get(name), a, b));
    yield;
  }
  return compared;
}

function* compareCase(
  before: PolicyCase | undefined,
  after: PolicyCase | undefined,
  a: Side,
  b: Side,
): Steps<ComparedCase> {
  const asked = after ?? before!;
  const runsA = yield* runsOf(before ?? asked, a);
  // The later policy may have removed an expectation on purpose.
  const runsB = yield* runsOf(asked, b);
  const setting = SETTINGS.find((one) => runsA[one]?.outcome && runsB[one]?.outcome);
  const [runtimeA, runtimeB] = settingFor(asked.given.model, a, b, setting);
  const held = hasRun(runsA) && failuresIn(runsA).length === 0;
  return {
    case: asked,
    of: before && after ? 'both' : after ? 'b' : 'a',
    isReworded: before !== undefined && !Bun.deepEquals(before.given, asked.given),
    a: requestOutcomeOf(outcomeOf(asked, yield* guardedCase(asked, runtimeA), runtimeA), runtimeA.snapshot),
    b: requestOutcomeOf(outcomeOf(asked, yield* guardedCase(asked, runtimeB), runtimeB), runtimeB.snapshot),
    // A new case has not held before, so it cannot break.
    broken: before && held ? failuresIn(runsB) : [],
  };
}

const SETTINGS = ['anywhere', 'here'] as const;
type SettingKey = (typeof SETTINGS)[number];
type Runs = Readonly<Record<SettingKey, CaseRun | null>>;

function* runsOf(policyCase: PolicyCase, { anywhere, here }: Side): Steps<Runs> {
  return { anywhere: yield* runCase(policyCase, anywhere), here: here && (yield* runCase(policyCase, here)) };
}

const hasRun = (runs: Runs): boolean => SETTINGS.some((setting) => runs[setting]?.outcome);

/**
 * Returns the failures in one setting. With all variables set and with the variables of this environment, the failures are mostly the same.
 */
function failuresIn(runs: Runs): CaseRun['failures'] {
  const found = SETTINGS.map((setting) => runs[setting]?.failures ?? []);
  return found.find((failures) => failures.length > 0) ?? [];
}

/**
 * Returns the runtimes that decide a request for a model or selector. The runtimes have all variables set, unless only the variables of
 * this environment let the policy serve the model.
 */
export function settingFor(model: string, a: Side, b: Side, preferred?: SettingKey): readonly [Runtime, Runtime] {
  const known = (runtime: Runtime | null) => runtime !== null && isKnown(model, runtime.snapshot);
  const setting =
    preferred ??
    SETTINGS.find((one) => known(a[one]) && known(b[one])) ??
    SETTINGS.find((one) => known(a[one]) || known(b[one])) ??
    'anywhere';
  return [ownRuntime(a[setting] ?? a.anywhere, model), ownRuntime(b[setting] ?? b.anywhere, model)];
}

/**
 * Returns the runtime of a wildcard's model. For other names, and for a model that is not served, returns the runtime of the whole policy.
 */
function ownRuntime(runtime: Runtime, name: string): Runtime {
  return isKnown(name, runtime.snapshot) ? runtimeFor(runtime, name) : runtime;
}

function isKnown(name: string, snapshot: PolicySnapshot): boolean {
  const { model } = meaningOf(name, snapshot);
  const found = snapshot.wildcards?.find(model);
  return snapshot.selectors.has(model) || snapshot.modelIndex.has(model) || (found != null && 'model' in found);
}

/** Converts a decision's outcome for comparison. */
export function requestOutcomeOf(outcome: CaseOutcome, snapshot: PolicySnapshot): RequestOutcome {
  if (outcome instanceof SignalboxError) return { code: outcome.code, message: outcome.message };
  if (isRefusal(outcome)) return requestOutcomeOf(refusalError(outcome, snapshot), snapshot);
  const [{ model, endpoints, costCredits, latencyMs, share, quality }] = outcome.ranked;
  const { id, endpoints: all } = snapshot.models[model]!;
  return {
    model: id,
    provider: all[endpoints[0]!]!.provider,
    reason: outcome.reason,
    costCredits,
    costUsd: costCredits * Number(snapshot.usdPerCredit),
    latencyMs,
    quality: share ?? quality,
  };
}

/** The figures of a policy, or the sums of the figures. To get means, divide the sums by `answered`. */
export type Figures = Pick<ComparedChoice, 'costCredits' | 'costUsd' | 'latencyMs' | 'quality'>;

const NO_FIGURES: Figures = { costCredits: 0, costUsd: 0, latencyMs: 0, quality: 0 };
const NO_COUNTS = { requests: 0, different: 0, refusedA: 0, refusedB: 0, answered: 0 };
/** Totals over requests, each multiplied by its count. `a` and `b` have the sums for requests that both policies answer. */
export const NO_TOTALS = { ...NO_COUNTS, a: NO_FIGURES, b: NO_FIGURES };
export type Totals = Readonly<typeof NO_TOTALS>;

/** Returns the totals with a request added `count` times. */
export function withOutcomes(totals: Totals, a: RequestOutcome, b: RequestOutcome, count = 1): Totals {
  const counted = {
    requests: totals.requests + count,
    different: totals.different + (isSame(a, b) ? 0 : count),
    refusedA: totals.refusedA + (isRefused(a) ? count : 0),
    refusedB: totals.refusedB + (isRefused(b) ? count : 0),
  };
  if (isRefused(a) || isRefused(b)) return { ...totals, ...counted };
  return { ...counted, answered: totals.answered + count, a: plus(totals.a, a, count), b: plus(totals.b, b, count) };
}

/** Adds figures multiplied by a count, which may be negative. */
export const plus = (sums: Figures, more: Figures, count: number): Figures => ({
  costCredits: sums.costCredits + more.costCredits * count,
  costUsd: sums.costUsd + more.costUsd * count,
  latencyMs: sums.latencyMs + more.latencyMs * count,
  quality: sums.quality + more.quality * count,
});

/** Removes rounding errors from the addition of floating-point numbers. */
const tidy = (value: number): number => Number(value.toPrecision(12));

/** The sums of costs, and the means of the other figures of `answered` requests, in the form of answers. */
export const figuresBody = ({ costCredits, costUsd, latencyMs, quality }: Figures, answered: number) => ({
  cost_credits: tidy(costCredits),
  cost_usd: tidy(costUsd),
  latency_ms: answered === 0 ? null : tidy(latencyMs / answered),
  quality: answered === 0 ? null : tidy(quality / answered),
});

/** An absent choice, in the form of answers. */
export const NO_CHOICE = {
  provider: null,
  reason: null,
  cost_credits: null,
  cost_usd: null,
  latency_ms: null,
  quality: null,
};
