import type { PolicyCase } from '../../core/policy/case.ts';
import type { Diagnostic } from '../report/diagnostics.ts';
import { Report } from '../report/report.ts';

/** A test case of the policy that failed. */
export interface CaseFailure {
  readonly case: Pick<PolicyCase, 'name' | 'place'>;
  /** The actual result of the test case, such as `chose sim-large`. */
  readonly message: string;
  /** The expected result of the test case, such as `model sim-coder`. */
  readonly expected?: string;
  /** The reason why the result differs, on one line. */
  readonly hint?: string;
}

/** Returns failed cases as diagnostics, sorted by location. */
export function caseDiagnostics(failures: readonly CaseFailure[]): Diagnostic[] {
  const report = new Report();
  for (const { case: failed, message, expected, hint } of failures) {
    const place = { ...failed.place, length: failed.place.length ?? 1 };
    report.add('case-failed', place, `case \`${failed.name}\` failed: ${message}`, { expected, hint });
  }
  return report.sorted();
}
