import type { PolicyCase } from '../../core/policy-case.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Mismatch, mismatches } from './mismatches.ts';
import { type CaseOutcome, outcomeOf } from './reasons.ts';

/** What came of a case. */
export interface CaseRun {
  readonly case: PolicyCase;
  /** Null where it could not run. */
  readonly outcome: CaseOutcome | null;
  /** What it names that cannot be served here; empty where it ran. */
  readonly missing: readonly Missing[];
  /** Every key of `expect` that does not hold; empty where all do, and where it did not run. */
  readonly failures: readonly Mismatch[];
}

/** A model or a provider that cannot be served. */
export interface Missing {
  readonly name: string;
  readonly reason: string;
}

/**
 * Runs a case by the catalog's figures alone: nothing that was seen of upstreams or learnt of models counts, no budget
 * binds, and nothing is drawn.
 */
export function runCase(policyCase: PolicyCase, runtime: Runtime): CaseRun {
  const missing = missingFor(policyCase, runtime.snapshot);
  if (missing.length > 0) return { case: policyCase, outcome: null, missing, failures: [] };
  const outcome = outcomeOf(policyCase, runtime);
  return { case: policyCase, outcome, missing, failures: mismatches(policyCase, outcome, runtime) };
}

function missingFor({ given, expect }: PolicyCase, snapshot: PolicySnapshot): Missing[] {
  const { modelIndex, providers, selectors } = snapshot;
  const isServed = (id: string) => modelIndex.has(id);
  const keyModels = given.key.models ?? [];
  const models = new Set([
    ...(selectors.has(given.model) ? [] : [given.model]),
    ...(expect.models ?? []),
    ...Object.keys(expect.rejected),
    // A key may well name more than is served, but without any it can do nothing.
    ...(keyModels.some(isServed) ? [] : keyModels),
  ]);
  const isMissing = expect.provider !== null && !providers.has(expect.provider);
  return [
    ...[...models].filter((id) => !isServed(id)).map((id) => missingOf('model', id, snapshot)),
    ...(isMissing ? [missingOf('provider', expect.provider, snapshot)] : []),
  ];
}

function missingOf(kind: 'model' | 'provider', name: string, { leftOut }: PolicySnapshot): Missing {
  const found = leftOut.find((one) => one.kind === kind && one.name === name);
  return { name, reason: found?.reason ?? 'it is not served here' };
}
