import { measuredModels } from '../../../core/decision/readings.ts';
import { SignalboxError } from '../../../core/errors.ts';
import { OPERATIONS } from '../../../core/kinds/operations.ts';
import type { PolicyCase } from '../../../core/policy/case.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { byNearness, listNames } from '../../../policy/report/nearest.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { Steps } from '../../../policy/runtime/slices.ts';
import { runtimeFor } from '../../../policy/runtime/wildcard-runtime.ts';
import { isRefusal } from '../../../routing/decide.ts';
import { meaningOf } from '../../../routing/model-name.ts';
import { type Mismatch, mismatches } from './mismatches.ts';
import { type CaseOutcome, guardedCase, outcomeOf } from './reasons.ts';

/** The result of running one case. */
export interface CaseRun {
  readonly case: PolicyCase;
  /** The outcome is null if the case could not run. */
  readonly outcome: CaseOutcome | null;
  /** Models and providers that the case names but that cannot be served here; empty if the case ran. */
  readonly missing: readonly UnservedPart[];
  /** The keys of `expect` that do not hold; empty if the case did not run. */
  readonly failures: readonly Mismatch[];
}

/** A model or a provider that cannot be served. */
export interface UnservedPart {
  readonly name: string;
  readonly reason: string;
}

/** Runs a case with only the figures of the catalog: without measurements and budgets. */
export function* runCase(policyCase: PolicyCase, runtime: Runtime): Steps<CaseRun> {
  const missing = unservedIn(policyCase, runtime.snapshot);
  if (missing.length > 0) return { case: policyCase, outcome: null, missing, failures: [] };
  const own = runtimeFor(runtime, policyCase.given.model);
  const found = yield* guardedCase(policyCase, own);
  const outcome = outcomeOf(policyCase, found, own);
  const unchosen = expectsChoice(policyCase) ? undeclaredIn(outcome, own.snapshot) : [];
  if (unchosen.length > 0) return { case: policyCase, outcome: null, missing: unchosen, failures: [] };
  return { case: policyCase, outcome, missing, failures: mismatches({ policyCase, found, outcome }, own, runtime) };
}

function unservedIn({ given, expect }: PolicyCase, snapshot: PolicySnapshot): UnservedPart[] {
  const { providers, selectors, wildcards } = snapshot;
  const served = new Set(measuredModels(snapshot).map(({ id }) => id));
  const { model } = meaningOf(given.model, snapshot);
  const isServed = (id: string) => {
    const found = served.has(id) ? null : wildcards?.find(id);
    return served.has(id) || (found != null && 'model' in found);
  };
  const keyModels = given.key.models ?? [];
  const models = new Set([
    ...(selectors.has(model) ? [] : [model]),
    ...(expect.models ?? []),
    ...Object.keys(expect.rejected),
    // A key may list models that are not served, as long as one model of the key is served.
    ...(keyModels.some(isServed) ? [] : keyModels),
  ]);
  const isMissing = expect.provider !== null && !providers.has(expect.provider);
  return [
    ...[...models].filter((id) => !isServed(id)).map((id) => unservedPart('model', id, snapshot)),
    ...(isMissing ? [unservedPart('provider', expect.provider, snapshot)] : []),
  ];
}

/** Whether `expect` has keys that depend on the models from which a selector chooses. */
const expectsChoice = ({ expect }: PolicyCase): boolean =>
  [expect.reason, expect.tier, expect.refused, expect.cached].some((one) => one !== null) ||
  [expect.costBelowCredits, expect.latencyBelowMs, expect.qualityAbove].some((one) => one !== null);

/**
 * Returns the selector that refused a request, if the policy declares no model that can serve such a request here. Only models that are
 * found could answer, and cases never see them.
 */
function undeclaredIn(outcome: CaseOutcome, { models }: PolicySnapshot): UnservedPart[] {
  if (outcome instanceof SignalboxError || !isRefusal(outcome) || outcome.facts.named !== null) return [];
  const { model: name, operation } = outcome.facts;
  const isDeclared = models.some((one) => !one.found && (one.operations & OPERATIONS[operation].bit) !== 0);
  return isDeclared ? [] : [{ name, reason: `the policy declares no model here that ${OPERATIONS[operation].means}` }];
}

function unservedPart(kind: 'model' | 'provider', name: string, { leftOut }: PolicySnapshot): UnservedPart {
  const found = leftOut.find((one) => one.kind === kind && one.name === name);
  return { name, reason: found?.reason ?? 'no endpoint serves it here' };
}

/** The most letters that are shown of a name that no case has. */
const CASE_SHOWN = 100;
/** The most names that are listed if no name or too many names match. */
const TOLD_MAX = 5;

/**
 * Returns the cases whose name contains a text. Upper and lower case are the same. Throws UsageError if no case has the text in its name.
 */
export function casesNamed(text: string, cases: readonly PolicyCase[]): PolicyCase[] {
  const wanted = text.toLowerCase();
  const found = cases.filter(({ name }) => name.toLowerCase().includes(wanted));
  if (found.length > 0) return found;
  if (cases.length === 0) throw new UsageError('The policy has no cases. Add a case, or name another policy.');
  const near = byNearness(
    text,
    cases.map(({ name }) => name),
  );
  throw new UsageError(
    `No case has "${text.slice(0, CASE_SHOWN)}" in its name. Similar names are ${listNames(near.slice(0, TOLD_MAX))}.`,
  );
}

/** Returns the only case with this name, or with this text in its name. Throws UsageError. */
export function caseNamed(text: string, cases: readonly PolicyCase[]): PolicyCase {
  const found = casesNamed(text, cases);
  const exact = found.find(({ name }) => name === text);
  if (exact) return exact;
  if (found.length === 1) return found[0]!;
  const names = listNames(found.slice(0, TOLD_MAX).map(({ name }) => name));
  throw new UsageError(`"${text}" is in the names of ${found.length} cases. Give more of one name: ${names}.`);
}
