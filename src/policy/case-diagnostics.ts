import type { PolicyCase } from '../core/policy-case.ts';
import type { Diagnostic } from './diagnostics.ts';
import { Report } from './report.ts';

/** A case that did not come out as it expects. */
export interface CaseFailure {
  readonly case: Pick<PolicyCase, 'name' | 'place'>;
  /** What came instead: `chose sim-large`. */
  readonly message: string;
  /** What the case expects: `model sim-coder`. */
  readonly expected?: string;
  /** Why, where that can be said in a line. */
  readonly hint?: string;
}

/** What a rehearsal found, as diagnostics of the policy, in its order. */
export function caseDiagnostics(failures: readonly CaseFailure[]): Diagnostic[] {
  const report = new Report();
  for (const { case: failed, message, expected, hint } of failures) {
    const place = { length: 1, ...failed.place };
    report.add('case-failed', place, `case \`${failed.name}\` failed: ${message}`, {
      ...(expected !== undefined && { expected }),
      ...(hint !== undefined && { hint }),
    });
  }
  return report.sorted();
}
