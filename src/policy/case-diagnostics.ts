import type { PolicyCase } from '../core/policy-case.ts';
import type { Diagnostic } from './diagnostics.ts';
import { Report } from './report.ts';

/** A failed case of the policy. */
export interface CaseFailure {
  readonly case: Pick<PolicyCase, 'name' | 'place'>;
  /** The actual outcome: `chose sim-large`. */
  readonly message: string;
  /** The expected outcome: `model sim-coder`. */
  readonly expected?: string;
  /** The reason, on one line. */
  readonly hint?: string;
}

/** Failed cases as diagnostics, sorted by place. */
export function caseDiagnostics(failures: readonly CaseFailure[]): Diagnostic[] {
  const report = new Report();
  for (const { case: failed, message, expected, hint } of failures) {
    const place = { length: 1, ...failed.place };
    report.add('case-failed', place, `case \`${failed.name}\` failed: ${message}`, { expected, hint });
  }
  return report.sorted();
}
