import { SignalboxError } from '../../../core/errors.ts';
import type { PolicyCase } from '../../../core/policy-case.ts';
import type { PolicySnapshot } from '../../../core/snapshot.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { runtimeFor } from '../../../policy/runtime/wildcard-runtime.ts';
import { isRefusal } from '../../../routing/decide.ts';
import { meaningOf } from '../../../routing/model-name.ts';
import { refusalError } from '../../../routing/refuse.ts';
import { type CaseRun, runCase } from './cases.ts';
import { type CaseOutcome, outcomeOf } from './reasons.ts';

/** One of two compared policies. */
export interface Side {
  readonly cases: readonly PolicyCase[];
  /** With every variable set. */
  readonly anywhere: Runtime;
  /** With the variables that are set here, where `serve: when_alone` may apply; null where nothing could serve. */
  readonly here: Runtime | null;
}

/** The choice for a request, by the catalog's figures alone. */
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

/** The error of a request that gets no choice. */
export interface RefusedRequest {
  readonly code: string;
  readonly message: string;
}

export type RequestOutcome = ComparedChoice | RefusedRequest;

export const isRefused = (answer: RequestOutcome): answer is RefusedRequest => 'code' in answer;

/** Returns whether two outcomes are the same: model and provider, or the error's code. Cost alone makes no difference. */
export function isSame(a: RequestOutcome, b: RequestOutcome): boolean {
  if (isRefused(a) || isRefused(b)) return isRefused(a) && isRefused(b) && a.code === b.code;
  return a.model === b.model && a.provider === b.provider;
}

/** A case, decided by both policies. */
export interface ComparedCase {
  /** The later policy's, where both have it. */
  readonly case: PolicyCase;
  /** The policies that have it. */
  readonly of: 'both' | 'a' | 'b';
  /** Both have it, with different requests: both decide the later one's. */
  readonly isReworded: boolean;
  readonly a: RequestOutcome;
  readonly b: RequestOutcome;
  /** Its failures by the later policy, where it held by the earlier one. */
  readonly broken: CaseRun['failures'];
}

/** Decides the cases of both policies by both, in the order of the later one and then the earlier; yields between them. */
export function* compareCases(a: Side, b: Side): Generator<undefined, ComparedCase[]> {
  const before = new Map(a.cases.map((one) => [one.name, one]));
  const after = new Map(b.cases.map((one) => [one.name, one]));
  const compared: ComparedCase[] = [];
  for (const name of new Set([...after.keys(), ...before.keys()])) {
    compared.push(compareCase(before.get(name), after.get(name), a, b));
    yield;
  }
  return compared;
}

function compareCase(before: PolicyCase | undefined, after: PolicyCase | undefined, a: Side, b: Side): ComparedCase {
  const asked = after ?? before!;
  const runsA = runsOf(before ?? asked, a);
  // The later policy may have dropped an expectation on purpose.
  const runsB = runsOf(asked, b);
  const setting = SETTINGS.find((one) => runsA[one]?.outcome && runsB[one]?.outcome);
  const [runtimeA, runtimeB] = settingFor(asked.given.model, a, b, setting);
  const held = hasRun(runsA) && failuresIn(runsA).length === 0;
  return {
    case: asked,
    of: before && after ? 'both' : after ? 'b' : 'a',
    isReworded: before !== undefined && !Bun.deepEquals(before.given, asked.given),
    a: requestOutcomeOf(outcomeOf(asked, runtimeA), runtimeA.snapshot),
    b: requestOutcomeOf(outcomeOf(asked, runtimeB), runtimeB.snapshot),
    // A new case cannot break.
    broken: before && held ? failuresIn(runsB) : [],
  };
}

const SETTINGS = ['anywhere', 'here'] as const;
type SettingKey = (typeof SETTINGS)[number];
type Runs = Readonly<Record<SettingKey, CaseRun | null>>;

const runsOf = (policyCase: PolicyCase, { anywhere, here }: Side): Runs => ({
  anywhere: runCase(policyCase, anywhere),
  here: here && runCase(policyCase, here),
});

const hasRun = (runs: Runs): boolean => SETTINGS.some((setting) => runs[setting]?.outcome);

/** Returns the failures of one setting: both mostly fail alike. */
function failuresIn(runs: Runs): CaseRun['failures'] {
  const found = SETTINGS.map((setting) => runs[setting]?.failures ?? []);
  return found.find((failures) => failures.length > 0) ?? [];
}

/**
 * Returns the runtimes that decide a request for a model or selector: with all variables set, unless only those of this
 * environment serve it.
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

/** The runtime of a wildcard's model; that of the whole policy for any other name, and for one that is not served. */
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

/** Figures of one policy, or their sums. Divide sums by `answered` for means. */
export type Figures = Pick<ComparedChoice, 'costCredits' | 'costUsd' | 'latencyMs' | 'quality'>;

const NO_FIGURES: Figures = { costCredits: 0, costUsd: 0, latencyMs: 0, quality: 0 };
const NO_COUNTS = { requests: 0, different: 0, refusedA: 0, refusedB: 0, answered: 0 };
/** Totals over requests, each times its count. `a` and `b` sum the requests that both policies answer. */
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

/** Adds figures, each times a count, which may be negative. */
export const plus = (sums: Figures, more: Figures, count: number): Figures => ({
  costCredits: sums.costCredits + more.costCredits * count,
  costUsd: sums.costUsd + more.costUsd * count,
  latencyMs: sums.latencyMs + more.latencyMs * count,
  quality: sums.quality + more.quality * count,
});

/** Rounds off the errors of adding doubles. */
const tidy = (value: number): number => Number(value.toPrecision(12));

/** Sums of costs, and means of what `answered` requests sum up to, as answers have them. */
export const figuresBody = ({ costCredits, costUsd, latencyMs, quality }: Figures, answered: number) => ({
  cost_credits: tidy(costCredits),
  cost_usd: tidy(costUsd),
  latency_ms: answered === 0 ? null : tidy(latencyMs / answered),
  quality: answered === 0 ? null : tidy(quality / answered),
});
