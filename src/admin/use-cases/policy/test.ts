import type { PolicyCase } from '../../../core/policy/case.ts';
import { scrubAll } from '../../../host/telemetry/secrets.ts';
import { diagnosticsBody } from '../../../policy/report/diagnostics.ts';
import { inSlices, type Steps } from '../../../policy/runtime/slices.ts';
import type { PolicyBundle } from '../../../policy/runtime/source.ts';
import { runtimeFor } from '../../../policy/runtime/wildcard-runtime.ts';
import { type CaseRun, casesNamed, runCase } from './cases.ts';
import { figuresBody, isRefused, NO_CHOICE, requestOutcomeOf } from './compare.ts';
import { Coverage, type CoverageReport, summaryOf } from './coverage.ts';
import { isDecision } from './reasons.ts';
import { type PolicySetting, type Settings, settingsOf } from './settings.ts';
import type { JudgeTools } from './tools.ts';

/** Which cases to run, and with which variables. */
interface TestTerms {
  /** A part of the names of cases to run; null for all. */
  readonly text: string | null;
  /** Whether to run only with the variables that are set here. */
  readonly onlyHere: boolean;
  /** The least coverage in percent, `min: null` for no minimum; null if coverage is not requested. */
  readonly coverage: { readonly min: number | null } | null;
}

/** The results of cases, as commands print them and the API returns them. */
export type PolicyTest = Awaited<ReturnType<typeof testPolicy>>;

/** Runs the cases of a policy. Throws UsageError if there is no policy or no case to run. */
export async function testPolicy(
  folder: string,
  bundle: PolicyBundle,
  judge: JudgeTools,
  { text, onlyHere, coverage }: TestTerms,
  isStale: () => boolean = () => false,
) {
  const settings = await settingsOf(folder, bundle, judge, onlyHere);
  const found = { ...diagnosticsBody(settings.problems, bundle.files), left_out_here: [...settings.missing] };
  if (settings.problems.length > 0) return { ...found, counts: null, settings: [], cases: [], coverage: null };
  const results = await inSlices(runCases(settings, text), isStale);
  const cases = results.map((result) => caseBody(result, settings.settings));
  const count = (status: CaseStatus) => cases.filter((one) => one.status === status).length;
  return {
    ...found,
    ...scrubAll({
      counts: { cases: cases.length, hold: count('holds'), failed: count('failed'), not_run: count('not_run') },
      settings: settings.settings.map(({ names, runtime }) => {
        return { names: [...names], policy_revision: runtime.snapshot.revision };
      }),
      cases,
      coverage: coverage && summaryOf(await inSlices(coverageOf(settings, results), isStale), coverage.min),
    }),
  };
}

/** A case of the policy with its result in every setting. */
interface CaseResult {
  readonly case: PolicyCase;
  /** In the order of the settings. */
  readonly runs: readonly CaseRun[];
}

/**
 * Runs all cases, or the cases whose name contains a text, in the order of the policy. Yields between cases. Throws UsageError if there is
 * no case.
 */
function* runCases({ settings }: Settings, text: string | null): Steps<CaseResult[]> {
  const all = settings[0]?.runtime.snapshot.cases ?? [];
  const chosen = new Set(text === null ? all : casesNamed(text, all));
  const results: CaseResult[] = [];
  // Every snapshot of a policy has the same cases.
  for (const [at, policyCase] of all.entries()) {
    if (!chosen.has(policyCase)) continue;
    const runs: CaseRun[] = [];
    for (const { runtime } of settings) runs.push(yield* runCase(runtime.snapshot.cases[at]!, runtime));
    results.push({ case: policyCase, runs });
    yield;
  }
  return results;
}

type CaseStatus = 'holds' | 'failed' | 'not_run';

const statusOf = ({ outcome, failures }: CaseRun): CaseStatus =>
  outcome === null ? 'not_run' : failures.length > 0 ? 'failed' : 'holds';

/** A case holds if the case holds in every setting in which it can run. */
const wholeStatus = ({ runs }: CaseResult): CaseStatus =>
  (['failed', 'holds'] as const).find((status) => runs.some((run) => statusOf(run) === status)) ?? 'not_run';

/** Returns which parts of the policy are covered by cases that hold. Yields between cases. */
function* coverageOf(
  { parsed: { policy }, settings }: Settings,
  results: readonly CaseResult[],
): Generator<undefined, CoverageReport> {
  const coverage = new Coverage(policy);
  for (const { runtime } of settings) coverage.declare(runtime.snapshot);
  for (const result of results) {
    if (wholeStatus(result) !== 'holds') continue;
    for (const [at, run] of result.runs.entries()) coverage.add(run, settings[at]!.runtime);
    yield;
  }
  return coverage.report();
}

function caseBody(result: CaseResult, settings: readonly PolicySetting[]) {
  const { name, place } = result.case;
  const { file, line, column } = place;
  const ofRuns = result.runs.map((run, at) => ({
    settings: [...settings[at]!.names],
    status: statusOf(run),
    missing: [...run.missing],
    failures: run.failures.map(({ key, wanted, got, hint = null }) => ({ key, expected: wanted, got, hint })),
    ...outcomeBody(run, settings[at]!),
  }));
  // The fields of the case itself come from the first setting in which it fails, or else in which it ran.
  const status = wholeStatus(result);
  const { settings: _, ...first } = ofRuns.find((one) => one.status === status) ?? ofRuns[0]!;
  return { name, file, line, column, ...first, settings: ofRuns };
}

function outcomeBody({ case: { given }, outcome }: CaseRun, { runtime }: PolicySetting) {
  if (outcome === null || !isDecision(outcome)) return { choice: null, ...NO_CHOICE };
  const choice = requestOutcomeOf(outcome, runtimeFor(runtime, given.model).snapshot);
  if (isRefused(choice)) return { choice: null, ...NO_CHOICE };
  const { model, provider, reason } = choice;
  return { choice: model, provider, reason, ...figuresBody(choice, 1), quality: outcome.ranked[0].share };
}
