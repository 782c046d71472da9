import type { CoverageSummary } from './coverage.ts';
import { isDecision } from './reasons.ts';
import type { Settings } from './settings.ts';
import type { CaseResult } from './test-run.ts';

/** The results as `policy test --json` prints them and `POST /admin/policy/test` answers. */
export function testBody(
  { settings, missing }: Settings,
  results: readonly CaseResult[],
  coverage: CoverageSummary | null,
) {
  return {
    counts: countsOf(results),
    settings: settings.map(({ names, runtime: { snapshot } }) => ({ names, policy_revision: snapshot.revision })),
    left_out_here: missing,
    cases: results.map((result) => caseBody(result, settings)),
    coverage: coverage && coverageBody(coverage),
  };
}

/** Cases by what they came to. */
export function countsOf(results: readonly CaseResult[]) {
  const count = (status: CaseResult['status']) => results.filter((one) => one.status === status).length;
  return { cases: results.length, hold: count('holds'), failed: count('failed'), not_run: count('not_run') };
}

function caseBody({ case: policyCase, status, runs }: CaseResult, settings: Settings['settings']) {
  const { name, place } = policyCase;
  const { file, line, column } = place;
  const ofRuns = runs.map(({ settings: names, run }, at) => ({
    settings: names,
    status: run.outcome === null ? 'not_run' : run.failures.length > 0 ? 'failed' : 'holds',
    missing: run.missing,
    failures: run.failures.map(({ key, wanted, got, hint = null }) => ({ key, expected: wanted, got, hint })),
    ...outcomeBody(run, settings[at]!),
  }));
  // The case's own fields are of the first setting in which it fails, or else ran.
  const first = ofRuns.find((one) => one.status === status) ?? ofRuns[0]!;
  const { settings: _names, status: _status, ...fields } = first;
  return { name, file, line, column, status, ...fields, settings: ofRuns };
}

function outcomeBody({ outcome }: CaseResult['runs'][number]['run'], { runtime }: Settings['settings'][number]) {
  const none = {
    choice: null,
    provider: null,
    reason: null,
    ...{ cost_credits: null, cost_usd: null, latency_ms: null, quality: null },
  };
  if (outcome === null || !isDecision(outcome)) return none;
  const [choice] = outcome.ranked;
  const { models, usdPerCredit } = runtime.snapshot;
  const { id, endpoints } = models[choice.model]!;
  return {
    choice: id,
    provider: endpoints[choice.endpoints[0]!]!.provider,
    reason: outcome.reason,
    cost_credits: choice.costCredits,
    cost_usd: Number((choice.costCredits * Number(usdPerCredit)).toPrecision(12)),
    latency_ms: choice.latencyMs,
    quality: choice.share,
  };
}

const coverageBody = ({ touched, total, percent, min, isEnough, untouched }: CoverageSummary) => ({
  ...{ touched, total, percent, min, enough: isEnough },
  untouched: untouched.map(({ kind, name, place: { file, line, column } }) => ({ kind, name, file, line, column })),
});
