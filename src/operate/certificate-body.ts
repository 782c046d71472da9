import { shownCredits } from '../core/ceiling.ts';
import type { Facts } from '../core/facts.ts';
import type {
  AppliedRule,
  CandidateEntry,
  Certificate,
  Counterfactual,
  EstimateEntry,
} from '../routing/certificate.ts';
import { story } from '../routing/story.ts';

/** The members of a decision that come from deciding it again. */
export function certificateBody(certificate: Certificate, facts: Facts) {
  const { constraints, preferences, runnerUp, baseline, learning } = certificate;
  return {
    explanation: story(certificate, facts),
    expected_output_tokens: certificate.outputTokens,
    answer_worth_credits: shownCredits(certificate.answerWorth),
    candidates: certificate.candidates.map(candidateBody),
    constraints: constraints.map(ruleBody),
    preferences: preferences.map((rule) => ({ ...ruleBody(rule), worth: rule.worth, models: rule.models })),
    choice_without_preferences: certificate.unpreferred,
    strategy_failed: certificate.faulty,
    learning: learning && { mode: learning.mode, trust: learning.trust, choice_by_learnt: learning.choice },
    draw: certificate.draw,
    runner_up: runnerUp && otherBody(runnerUp),
    baseline: baseline && otherBody(baseline),
  };
}

/** The same members where the decision cannot be made again. */
export const NO_CERTIFICATE: Readonly<Record<keyof ReturnType<typeof certificateBody>, null>> = {
  explanation: null,
  expected_output_tokens: null,
  answer_worth_credits: null,
  candidates: null,
  constraints: null,
  preferences: null,
  choice_without_preferences: null,
  strategy_failed: null,
  learning: null,
  draw: null,
  runner_up: null,
  baseline: null,
};

function candidateBody(entry: CandidateEntry): object {
  return {
    model: entry.model,
    rank: entry.rank,
    quality: entry.quality,
    counted_quality: entry.countedQuality,
    estimate: entry.estimate && estimateBody(entry.estimate),
    languages: entry.languages,
    cost_credits: entry.costCredits,
    latency_ms: entry.latencyMs,
    latency_basis: entry.latencyBasis,
    reasoning_tokens: entry.reasoningTokens,
    utility: entry.utility,
    parts: entry.parts,
    input_tokens: entry.inputTokens,
    cached_input_tokens: entry.cachedInputTokens,
    max_output_tokens: entry.outputCap,
    output_capped_by: entry.cappedBy,
    worst_case_credits: entry.worstCaseCredits,
    endpoints: entry.endpoints,
    rejections: entry.rejections.map(({ kind, text, rules }) => ({ kind, text, rules: rules.map(ruleBody) })),
  };
}

const estimateBody = ({ declared, length, outcomes, text, count, shadow }: EstimateEntry) => ({
  declared,
  length,
  outcomes,
  text,
  outcome_count: count,
  shadow_quality: shadow,
});

/** Shows the file's name without its folder. */
const ruleBody = ({ name, place: { file, line } }: AppliedRule) => ({
  name,
  file: file.slice(file.lastIndexOf('/') + 1),
  line,
});

const otherBody = ({ model, quality, costCredits, latencyMs }: Counterfactual) => ({
  model,
  quality,
  cost_credits: costCredits,
  latency_ms: latencyMs,
});
