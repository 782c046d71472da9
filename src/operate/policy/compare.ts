import { SignalboxError } from '../../core/errors.ts';
import type { PolicyCase } from '../../core/policy-case.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import { isRefusal } from '../../routing/decide.ts';
import { refusalError } from '../../routing/refuse.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type CaseRun, runCase } from './cases.ts';
import { type CaseOutcome, outcomeOf } from './reasons.ts';

/** One of two policies that are compared. */
export interface Side {
  readonly cases: readonly PolicyCase[];
  /** As if every variable were set. */
  readonly anywhere: Runtime;
  /** With the variables that are set here, for what serves only alone; null where nothing could serve. */
  readonly here: Runtime | null;
}

/** What a request would get: by the catalog's figures alone, with nothing measured or learnt. */
export interface Choice {
  readonly model: string;
  /** Whose endpoint would be tried first. */
  readonly provider: string;
  readonly reason: string;
  readonly costCredits: number;
  readonly costUsd: number;
  readonly latencyMs: number;
  readonly quality: number;
}

/** Why it would get nothing. */
export interface Refused {
  readonly code: string;
  readonly message: string;
}

export type Answer = Choice | Refused;

export const isRefused = (answer: Answer): answer is Refused => 'code' in answer;

/** Where a request goes, or that it goes nowhere; that it costs something else there is no other choice. */
export function isSame(a: Answer, b: Answer): boolean {
  if (isRefused(a) || isRefused(b)) return isRefused(a) && isRefused(b) && a.code === b.code;
  return a.model === b.model && a.provider === b.provider;
}

/** A case, decided by both policies. */
export interface ComparedCase {
  /** Of the later policy where both have it. */
  readonly case: PolicyCase;
  /** Which of the policies has it. */
  readonly of: 'both' | 'a' | 'b';
  /** Both have it, and ask something else: what the later one asks is decided by both. */
  readonly isReworded: boolean;
  readonly a: Answer;
  readonly b: Answer;
  /** What fails of it by the later policy, where it held by the earlier one. */
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
  // What the later policy no longer expects was taken away, and not necessarily from its purpose.
  const runsB = runsOf(asked, b);
  const setting = SETTINGS.find((one) => runsA[one]?.outcome && runsB[one]?.outcome);
  const [runtimeA, runtimeB] = settingFor(asked.given.model, a, b, setting);
  const held = hasRun(runsA) && failuresIn(runsA).length === 0;
  return {
    case: asked,
    of: before && after ? 'both' : after ? 'b' : 'a',
    isReworded: before !== undefined && !Bun.deepEquals(before.given, asked.given),
    a: answerOf(outcomeOf(asked, runtimeA), runtimeA.snapshot),
    b: answerOf(outcomeOf(asked, runtimeB), runtimeB.snapshot),
    // A case that is new has nothing to hold on to.
    broken: before && held ? failuresIn(runsB) : [],
  };
}

const SETTINGS = ['anywhere', 'here'] as const;
type Setting = (typeof SETTINGS)[number];
type Runs = Readonly<Record<Setting, CaseRun | null>>;

const runsOf = (policyCase: PolicyCase, { anywhere, here }: Side): Runs => ({
  anywhere: runCase(policyCase, anywhere),
  here: here && runCase(policyCase, here),
});

const hasRun = (runs: Runs): boolean => SETTINGS.some((setting) => runs[setting]?.outcome);

/** Each once: it mostly fails in both settings alike. */
function failuresIn(runs: Runs): CaseRun['failures'] {
  const found = SETTINGS.map((setting) => runs[setting]?.failures ?? []);
  return found.find((failures) => failures.length > 0) ?? [];
}

/**
 * The runtimes that a request for a model or selector is decided by: with all variables set, unless only those that
 * are set here have whom it names.
 */
export function settingFor(model: string, a: Side, b: Side, preferred?: Setting): readonly [Runtime, Runtime] {
  const known = (runtime: Runtime | null) => runtime !== null && isKnown(model, runtime.snapshot);
  const setting =
    preferred ??
    SETTINGS.find((one) => known(a[one]) && known(b[one])) ??
    SETTINGS.find((one) => known(a[one]) || known(b[one])) ??
    'anywhere';
  return [a[setting] ?? a.anywhere, b[setting] ?? b.anywhere];
}

const isKnown = (model: string, { selectors, modelIndex }: PolicySnapshot): boolean =>
  selectors.has(model) || modelIndex.has(model);

/** What came of a decision. */
export function answerOf(outcome: CaseOutcome, snapshot: PolicySnapshot): Answer {
  if (outcome instanceof SignalboxError) return { code: outcome.code, message: outcome.message };
  if (isRefusal(outcome)) return answerOf(refusalError(outcome, snapshot), snapshot);
  const [{ model, endpoints, costCredits, latencyMs, quality }] = outcome.ranked;
  const { id, endpoints: all } = snapshot.models[model]!;
  return {
    model: id,
    provider: all[endpoints[0]!]!.provider,
    reason: outcome.reason,
    costCredits,
    costUsd: costCredits * Number(snapshot.usdPerCredit),
    latencyMs,
    quality,
  };
}

/** Sums over requests, each counted as often as it is there. Means and sums are of those that both policies answer. */
export interface Totals {
  readonly requests: number;
  readonly different: number;
  readonly refusedA: number;
  readonly refusedB: number;
  readonly answered: number;
  readonly a: Sums;
  readonly b: Sums;
}

/** Of Credits and USD; of milliseconds and qualities too, to be divided by `answered`. */
export interface Sums {
  readonly credits: number;
  readonly usd: number;
  readonly latencyMs: number;
  readonly quality: number;
}

const NO_SUMS: Sums = { credits: 0, usd: 0, latencyMs: 0, quality: 0 };
export const NO_TOTALS: Totals = {
  requests: 0,
  different: 0,
  refusedA: 0,
  refusedB: 0,
  answered: 0,
  a: NO_SUMS,
  b: NO_SUMS,
};

/** Totals with one more request that comes so often. */
export function withAnswers(totals: Totals, a: Answer, b: Answer, count = 1): Totals {
  const counted = {
    requests: totals.requests + count,
    different: totals.different + (isSame(a, b) ? 0 : count),
    refusedA: totals.refusedA + (isRefused(a) ? count : 0),
    refusedB: totals.refusedB + (isRefused(b) ? count : 0),
  };
  if (isRefused(a) || isRefused(b)) return { ...totals, ...counted };
  return { ...counted, answered: totals.answered + count, a: plus(totals.a, a, count), b: plus(totals.b, b, count) };
}

const plus = (sums: Sums, { costCredits, costUsd, latencyMs, quality }: Choice, count: number): Sums => ({
  credits: sums.credits + costCredits * count,
  usd: sums.usd + costUsd * count,
  latencyMs: sums.latencyMs + latencyMs * count,
  quality: sums.quality + quality * count,
});
