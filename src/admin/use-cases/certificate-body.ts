import { basename } from 'node:path';
import type { ExpectedLength } from '../../core/request/expected-length.ts';
import type { Facts } from '../../core/request/facts.ts';
import { TIER_LISTED_MAX } from '../../core/request/tiers.ts';
import type { AppliedRule, CandidateEntry, TierEntry } from '../../routing/certificate.ts';
import type { Certificate } from '../../routing/certify.ts';
import { story } from '../../routing/story.ts';
import { snakeKeys } from './snake-keys.ts';

/** The JSON members of a decision that come from repeating it. */
export function certificateBody(certificate: Certificate, facts: Facts) {
  const { constraints, preferences, runnerUp, baseline } = certificate;
  return {
    instead_of: certificate.insteadOf,
    explanation: story(certificate, facts),
    ...lengthBody(certificate),
    choice_reason: certificate.choiceReason,
    candidates: certificate.candidates.map(candidateBody),
    constraints: constraints.map(ruleBody),
    preferences: preferences.map((rule) => ({ ...ruleBody(rule), worth: rule.worth, models: rule.models })),
    choice_without_preferences: certificate.unpreferred,
    tier: certificate.tier && tierBody(certificate.tier),
    tie_decided_by: certificate.tieDecidedBy,
    strategy_failed: certificate.faulty,
    runner_up: runnerUp && snakeKeys(runnerUp),
    baseline: baseline && snakeKeys(baseline),
  };
}

const tierBody = ({ order, stated, ...tier }: TierEntry) => ({
  ...snakeKeys(tier),
  order: order.slice(0, TIER_LISTED_MAX),
  stated: stated && { ...stated },
});

/** The JSON members for an expected length, from a repeated decision or from its record. */
export const lengthBody = ({ expectedLength }: { readonly expectedLength: ExpectedLength | null }) => ({
  expected_output_tokens: expectedLength?.tokens ?? null,
  expected_output_source: expectedLength?.source ?? null,
});

/** The members of a certificate, all null, for a decision that cannot be repeated. */
export const NO_CERTIFICATE: Readonly<Record<keyof ReturnType<typeof certificateBody>, null>> = {
  instead_of: null,
  explanation: null,
  expected_output_tokens: null,
  expected_output_source: null,
  choice_reason: null,
  candidates: null,
  constraints: null,
  preferences: null,
  choice_without_preferences: null,
  tier: null,
  tie_decided_by: null,
  strategy_failed: null,
  runner_up: null,
  baseline: null,
};

const candidateBody = ({ outputCap, cappedBy, rejections, ...figures }: CandidateEntry): object => ({
  ...snakeKeys(figures),
  max_output_tokens: outputCap,
  output_capped_by: cappedBy,
  rejections: rejections.map(({ rules, ...reason }) => ({ ...reason, rules: rules.map(ruleBody) })),
});

/** Shows the file's name without its folder. */
const ruleBody = ({ name, place: { file, line } }: AppliedRule) => ({ name, file: basename(file), line });
