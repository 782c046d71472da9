import type { Decision, Refusal } from '../core/decision.ts';
import { SignalboxError } from '../core/errors.ts';
import type { PolicyCase } from '../core/policy-case.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { CaseFailure } from '../policy/case-diagnostics.ts';
import { isRefusal } from '../routing/decide.ts';
import { refusalError } from '../routing/refuse.ts';
import { factsOf, reasonsAgainst } from './reasons.ts';
import { type Runtime, strategyOf } from './runtime.ts';

/** Cases are decided alike wherever and whenever they run. */
const SEED = '0000000000000000';

/** What came of a case. */
export interface CaseRun {
  readonly case: PolicyCase;
  /** Null where it could not run: it names what cannot be served here. */
  readonly outcome: CaseOutcome | null;
  /** Empty where it holds, and where it did not run. */
  readonly failures: readonly CaseFailure[];
}

/** Runs a case by the catalog's figures alone. */
export function runCase(policyCase: PolicyCase, runtime: Runtime): CaseRun {
  if (!canRun(policyCase, runtime.snapshot)) return { case: policyCase, outcome: null, failures: [] };
  const outcome = decide(policyCase, runtime);
  return { case: policyCase, outcome, failures: failuresOf(policyCase, outcome, runtime) };
}

function canRun({ given, expect }: PolicyCase, { modelIndex, selectors }: PolicySnapshot): boolean {
  const isServed = (id: string) => modelIndex.has(id);
  const named = [...(expect.model === null ? [] : [expect.model]), ...Object.keys(expect.rejected)];
  return named.every(isServed) && (selectors.has(given.model) || isServed(given.model));
}

/** A decision, or why there is none. */
export type CaseOutcome = Decision | Refusal | SignalboxError;

function failuresOf(policyCase: PolicyCase, outcome: CaseOutcome, runtime: Runtime): CaseFailure[] {
  const { expect } = policyCase;
  const fail = (message: string, expected: string, hint?: string): CaseFailure => ({
    case: policyCase,
    message,
    expected,
    ...(hint && { hint }),
  });
  const refusal = refusalIn(outcome, runtime.snapshot);
  const task = outcome instanceof SignalboxError ? null : outcome.facts.task;
  if (task !== null && expect.task !== null && task !== expect.task) {
    return [fail(`it is taken for \`${task}\``, `\`${expect.task}\``, 'state `task_type` where only you can know it')];
  }
  if (expect.refused !== null) {
    if (refusal?.code === expect.refused) return rejectionFailures(policyCase, outcome, runtime, fail);
    return [fail(refusal ? `refused with \`${refusal.code}\`` : chosen(outcome, runtime), `\`${expect.refused}\``)];
  }
  const asksForChoice = Object.values({ ...expect, rejected: null, task: null }).some((value) => value !== null);
  if (refusal && asksForChoice) return [fail(`refused with \`${refusal.code}\``, 'a model', refusal.message)];
  return [
    ...(isDecision(outcome) ? choiceFailures(expect, outcome, runtime, fail) : []),
    ...rejectionFailures(policyCase, outcome, runtime, fail),
  ];
}

type Fail = (message: string, expected: string, hint?: string) => CaseFailure;

const isDecision = (outcome: CaseOutcome): outcome is Decision => 'ranked' in outcome;

function refusalIn(outcome: CaseOutcome, snapshot: PolicySnapshot): SignalboxError | null {
  if (outcome instanceof SignalboxError) return outcome;
  return isRefusal(outcome) ? refusalError(outcome, snapshot) : null;
}

function chosen(outcome: CaseOutcome, { snapshot }: Runtime): string {
  return isDecision(outcome) ? `chose \`${snapshot.models[outcome.ranked[0].model]!.id}\`` : 'refused';
}

function choiceFailures(
  { model, reason, costBelowCredits, latencyBelowMs, qualityAbove }: PolicyCase['expect'],
  decision: Decision,
  runtime: Runtime,
  fail: Fail,
): CaseFailure[] {
  const [choice] = decision.ranked;
  const { id } = runtime.snapshot.models[choice.model]!;
  const failures: CaseFailure[] = [];
  if (model !== null && id !== model) failures.push(fail(`chose \`${id}\``, `\`${model}\``, `by ${decision.reason}`));
  if (reason !== null && decision.reason !== reason) {
    failures.push(fail(`the reason is \`${decision.reason}\``, `\`${reason}\``));
  }
  const bounds = [
    [costBelowCredits, choice.costCredits, 'expected cost', 'below', 'Credits'],
    [latencyBelowMs, choice.latencyMs, 'expected latency', 'below', 'ms'],
    [qualityAbove, choice.quality, 'expected quality', 'above', ''],
  ] as const;
  for (const [bound, value, what, side, unit] of bounds) {
    if (bound === null || (side === 'below' ? value < bound : value > bound)) continue;
    const told = `the ${what} of \`${id}\` is ${Number(value.toPrecision(6))} ${unit}`.trim();
    failures.push(fail(told, `${side} ${bound} ${unit}`.trim()));
  }
  return failures;
}

function rejectionFailures(policyCase: PolicyCase, outcome: CaseOutcome, runtime: Runtime, fail: Fail): CaseFailure[] {
  if (outcome instanceof SignalboxError) return [];
  return Object.entries(policyCase.expect.rejected).flatMap(([id, rule]) => {
    const against = reasonsAgainst(id, outcome.facts, runtime);
    if (against.includes(rule)) return [];
    const told = against.length === 0 ? `\`${id}\` is eligible` : `\`${id}\` is rejected by ${against.join(', ')}`;
    return [fail(told, `\`${id}\` rejected by \`${rule}\``)];
  });
}

function decide(policyCase: PolicyCase, runtime: Runtime): CaseOutcome {
  try {
    const facts = factsOf(policyCase, runtime);
    return runtime.decider.decide(facts, { id: 0, seed: SEED, ...strategyOf(facts, runtime) });
  } catch (error) {
    if (error instanceof SignalboxError) return error;
    throw error;
  }
}
