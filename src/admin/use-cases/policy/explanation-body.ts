import { toCredits } from '../../../core/credits.ts';
import { messageOf } from '../../../core/thrown.ts';
import { scrub } from '../../../host/telemetry/secrets.ts';
import { leftOutProviders } from '../../../policy/runtime/candidate.ts';
import type { CandidateEntry } from '../../../routing/certificate.ts';
import { capReason } from '../../../routing/output-maximum.ts';
import { certificateBody } from '../certificate-body.ts';
import { factsBody } from '../decision-body.ts';
import type { HypotheticalExplanation, RequestExplanation } from './explain.ts';

interface ExplanationTerms {
  /** Whether it was decided by measurements of the present. */
  readonly isMeasured: boolean;
  /** Whether the money of its sender is considered. */
  readonly isFunded: boolean;
  /** Providers that the variables set here leave out, with the reason. */
  readonly missing?: readonly string[];
}

/** The explanation as commands print it and the API answers. */
export function explanationBody(
  explanation: HypotheticalExplanation & Partial<RequestExplanation>,
  { isMeasured, isFunded, missing = leftOutProviders(explanation.runtime.snapshot) }: ExplanationTerms,
): object {
  const {
    facts,
    certificate,
    firstHold,
    shortage,
    runtime,
    taskNote = null,
    taskReasons: reasons = null,
  } = explanation;
  const { choice, reason, refusal } = certificate;
  const { revision, usdPerCredit } = runtime.snapshot;
  return {
    ...{ policy_revision: revision, route_reason: reason, choice, refusal },
    ...{ facts: factsBody(facts), ...certificateBody(certificate, facts) },
    first_hold_credits: firstHold && toCredits(firstHold.amount),
    hold_note: holdNote(explanation),
    shortage: shortage?.code ?? null,
    pareto_front: paretoFront(certificate.candidates),
    task_note: taskNote,
    task_reasons: reasons && {
      ...reasons,
      words: reasons.words.map(({ text, of, adds }) => ({ text, of, adds: Number(adds.toFixed(2)) })),
    },
    failed_rules: [...(explanation.failedRules ?? [])].map(([name, error]) => {
      // The other lines of an expression's error draw the place.
      return { name, error: scrub(messageOf(error).split('\n')[0] ?? '') };
    }),
    readings: isMeasured ? 'present' : 'declared',
    is_funded: isFunded,
    left_out_here: missing,
    usd_per_credit: usdPerCredit,
  };
}

/** A sentence on the hold with which the answer begins; null where there is nothing to say. */
function holdNote({ certificate, firstHold, isFunded, shortage }: HypotheticalExplanation): string | null {
  if (shortage) return `It is refused with ${shortage.status} ${shortage.code}: ${shortage.message}`;
  if (firstHold === null) {
    const waits = isFunded && certificate.choice !== null;
    return waits ? 'It would wait for money that other requests of its key hold.' : null;
  }
  const { amount, grows, capped } = firstHold;
  const credits = toCredits(amount);
  const growth = 'and the hold grows with the answer: its service stops billing when it is aborted';
  if (!isFunded) {
    return `Where its worst case is a large part of a fund, ${credits} Credits are held first, ${growth}.`;
  }
  const more = grows
    ? ` first, ${growth}`
    : capped
      ? `. Its output is capped at ${capped.outputCap} tokens: ${capReason(capped.by)}`
      : '';
  return `Of the money of its key, ${credits} Credits are held${more}.`;
}

/** The eligible models that no other one equals in quality, cost and time, and beats in one of them. */
function paretoFront(candidates: readonly CandidateEntry[]): string[] {
  const eligible = candidates.filter(({ rank }) => rank !== null);
  const isBeaten = (one: CandidateEntry) => eligible.some((other) => isAsGood(other, one) && !isAsGood(one, other));
  return eligible.filter((one) => !isBeaten(one)).map(({ model }) => model);
}

const isAsGood = (one: CandidateEntry, other: CandidateEntry): boolean =>
  one.countedQuality >= other.countedQuality &&
  one.costCredits <= other.costCredits &&
  one.latencyMs <= other.latencyMs;
