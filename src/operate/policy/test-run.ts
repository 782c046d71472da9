import type { PolicyCase } from '../../core/policy-case.ts';
import { type CaseRun, casesNamed, runCase } from './cases.ts';
import { Coverage, type CoverageReport } from './coverage.ts';
import type { PolicySetting, SettingName, Settings } from './settings.ts';

/** A case in every setting that it ran in, or was to run in. */
export interface CaseResult {
  readonly case: PolicyCase;
  /** It holds when it holds in every setting that it can run in. */
  readonly status: 'holds' | 'failed' | 'not_run';
  readonly runs: readonly SettingRun[];
}

export interface SettingRun {
  readonly settings: readonly SettingName[];
  readonly run: CaseRun;
}

/** Runs the cases with this text in their names, or all, in the policy's order; yields between them. Throws UsageError without one. */
export function* runCases({ settings }: Settings, text: string | null): Generator<undefined, CaseResult[]> {
  const all = settings[0]?.runtime.snapshot.cases ?? [];
  const chosen = new Set(text === null ? all : casesNamed(text, all));
  const results: CaseResult[] = [];
  // The cases of one policy are the same in each of its snapshots.
  for (const [at, policyCase] of all.entries()) {
    if (!chosen.has(policyCase)) continue;
    results.push(resultOf(at, settings));
    yield;
  }
  return results;
}

function resultOf(at: number, settings: readonly PolicySetting[]): CaseResult {
  const runs = settings.map(({ names, runtime }) => ({
    settings: names,
    run: runCase(runtime.snapshot.cases[at]!, runtime),
  }));
  const ran = runs.filter(({ run }) => run.outcome !== null);
  const failed = ran.some(({ run }) => run.failures.length > 0);
  const status = failed ? 'failed' : ran.length > 0 ? 'holds' : 'not_run';
  return { case: runs[0]!.run.case, status, runs };
}

/** Returns the parts of the policy that the cases which hold cover. Yields between cases. */
export function* coverageOf(
  { parsed: { policy }, settings }: Settings,
  results: readonly CaseResult[],
): Generator<undefined, CoverageReport> {
  const coverage = new Coverage(policy);
  for (const { runtime } of settings) coverage.declare(runtime.snapshot);
  for (const { status, runs } of results) {
    if (status !== 'holds') continue;
    for (const [at, { run }] of runs.entries()) coverage.add(run, settings[at]!.runtime);
    yield;
  }
  return coverage.report();
}
