import { type CaseFailure, caseDiagnostics } from '../../../policy/cases/failures.ts';
import type { Diagnostic } from '../../../policy/report/diagnostics.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { Steps } from '../../../policy/runtime/slices.ts';
import { runCase } from './cases.ts';

/**
 * Runs the policy's own cases on a runtime that does not serve yet, with only the figures of the catalog. Rehearsing the cases is step 6 of
 * a policy edit. Skips cases that name a model that this server cannot serve. Yields between cases, and returns a diagnostic for each
 * mismatch.
 */
export function* rehearse(runtime: Runtime): Steps<readonly Diagnostic[]> {
  const failures: CaseFailure[] = [];
  for (const policyCase of runtime.snapshot.cases) {
    failures.push(...withoutRepeats((yield* runCase(policyCase, runtime)).failures));
    yield;
  }
  return caseDiagnostics(failures);
}

/** A refusal fails every key that expects a choice, so the refusal is reported only once. */
function withoutRepeats(failures: readonly CaseFailure[]): CaseFailure[] {
  const said = (one: CaseFailure) => JSON.stringify([one.message, one.expected]);
  return [...new Map(failures.map((one) => [said(one), one])).values()];
}
