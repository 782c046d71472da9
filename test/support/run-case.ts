import { type CaseRun, runCase as caseSteps } from '../../src/admin/use-cases/policy/cases.ts';
import type { PolicyCase } from '../../src/core/policy/case.ts';
import type { Runtime } from '../../src/policy/runtime/runtime.ts';
import type { Steps } from '../../src/policy/runtime/slices.ts';

/** Takes steps of which none waits. */
export function ended<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (step.value instanceof Promise) throw new Error('a step waits');
  }
}

/** Runs a case whose texts are short. */
export const runCase = (policyCase: PolicyCase, runtime: Runtime): CaseRun => ended(caseSteps(policyCase, runtime));
