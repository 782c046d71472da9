import { toCredits } from '../../core/credits.ts';
import type { CandidateEntry } from '../../routing/certificate.ts';
import { certificateBody } from '../certificate-body.ts';
import { factsBody } from '../decision-body.ts';
import type { HypotheticalExplanation, TaskReasons } from './explain.ts';

/** The explanation as `policy explain --json` prints it and `POST /admin/policy/explain` answers. */
export function explanationBody({ facts, certificate, firstHold, shortage, runtime }: HypotheticalExplanation) {
  const { choice, reason, refusal } = certificate;
  return {
    ...{ policy_revision: runtime.snapshot.revision, route_reason: reason, choice, refusal },
    ...{ facts: factsBody(facts), ...certificateBody(certificate, facts) },
    first_hold_credits: firstHold && toCredits(firstHold.amount),
    shortage: shortage?.code ?? null,
    pareto_front: paretoFront(certificate.candidates),
  };
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

/** The evidence for a task, with the share that it is likely by, 0..1. */
export const taskBody = ({ task, share, words }: TaskReasons) => ({
  task,
  share,
  words: words.map(({ text, of, adds }) => ({ text, of, adds: Number(adds.toFixed(2)) })),
});
