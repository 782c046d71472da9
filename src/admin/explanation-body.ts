import { figure, model, type Parts, sentence, textOf, textsOf, words } from '../core/decision/sentence.ts';
import { plainVerdict, verdictText } from '../core/decision/verdict.ts';
import { bothAmounts } from '../core/money/budget-words.ts';
import { limitFromCredits, toCredits } from '../core/money/credits.ts';
import { usdWriter } from '../core/money/usd.ts';
import { lacksIn } from '../core/policy/found-models.ts';
import { plural } from '../core/text/text.ts';
import { visible } from '../core/text/visible.ts';
import { messageOf } from '../core/thrown.ts';
import { scrub } from '../host/telemetry/secrets.ts';
import { leftOutProviders } from '../policy/runtime/candidate.ts';
import { percent } from '../routing/advise.ts';
import type { CandidateEntry } from '../routing/certificate.ts';
import { capReason } from '../routing/output-maximum.ts';
import { story } from '../routing/story.ts';
import { creditsFigure } from '../routing/story-request.ts';
import { certificateJson } from './certificate.ts';
import { factsJson } from './decision-facts.ts';
import { sentencesJson } from './sentence.ts';
import type { HypotheticalExplanation, RequestExplanation } from './use-cases/policy/explain.ts';

export interface ExplanationTerms {
  /** Whether current measurements were used. */
  readonly isMeasured: boolean;
  /** Whether the money of the sender was considered. */
  readonly isFunded: boolean;
  /** Providers that cannot serve with the variables set here, each with the reason. */
  readonly missing?: readonly string[];
}

/** The explanation, as commands print it and the API returns it. */
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
    verdicts = [],
    isCached = false,
  } = explanation;
  const { choice, reason, refusal } = certificate;
  const { revision, usdPerCredit } = runtime.snapshot;
  const worth = { usd: usdWriter(usdPerCredit) };
  const body = certificateJson({ certificate, facts }, worth);
  const failedRules = [...(explanation.failedRules ?? [])].map(([name, error]) => {
    // The explanation keeps only the first line of an expression's error, because the other lines point to the location.
    return { name, error: scrub(messageOf(error).split('\n')[0] ?? '') };
  });
  const note = holdNote(explanation);
  const told = [
    ...verdicts.map((verdict) => sentence('guards', [verdictText(plainVerdict(verdict))])),
    ...story(certificate, facts),
    ...(isCached ? [sentence('cache', [CACHED])] : []),
    ...lacksIn(runtime.snapshot).map((lack) => sentence('warning', [`${lack}.`])),
  ];
  return {
    policy_revision: revision,
    route_reason: reason,
    choice,
    refusal,
    facts: factsJson(facts),
    ...body,
    explanation: textsOf(told),
    sentences: sentencesJson(
      [
        ...(choice === null ? [] : [sentence('outcome', answerWords(choice, explanation))]),
        ...(taskNote === null ? [] : [sentence('task', [taskNote])]),
        ...(reasons === null ? [] : [sentence('task', taskWords(reasons))]),
        ...told,
        ...(note === null ? [] : [sentence(shortage ? 'refusal' : 'hold', note)]),
        ...failedRules.map(({ name, error }) =>
          sentence('warning', [`The condition of ${name} failed, so Signalbox treated it as true: ${error}.`]),
        ),
      ],
      worth,
    ),
    first_hold_credits: firstHold && toCredits(firstHold.amount),
    first_hold_usd: firstHold && worth.usd(firstHold.amount),
    hold_note: note && textOf(note),
    shortage: shortage?.code ?? null,
    pareto_front: paretoFront(certificate.candidates),
    task_note: taskNote,
    task_reasons: reasons && {
      ...reasons,
      words: reasons.words.map(({ text, of, adds }) => ({ text, of, adds: Number(adds.toFixed(2)) })),
    },
    failed_rules: failedRules,
    readings: isMeasured ? 'present' : 'declared',
    is_funded: isFunded,
    left_out_here: missing,
    usd_per_credit: usdPerCredit,
  };
}

/** Says which model would answer. */
function answerWords(choice: string, { certificate: { insteadOf }, shortage }: HypotheticalExplanation): Parts {
  if (shortage) return words`${model(choice)} would be chosen, but there are not enough Credits (${shortage.code}).`;
  return words`${model(choice)} would answer${insteadOf ? words` instead of ${model(insteadOf.model)}` : ''}.`;
}

const CACHED = 'The cache applies: an equal request gets the same answer without a model.';

/** The places of words, apart from the question itself. */
const PLACES: Readonly<Record<string, string>> = {
  'system prompt': ' in the system prompt',
  'question before': ' in the question before',
};

/** Writes, for example: `Task: classification (81 % likely, because of “classify”, “tickets” in the system prompt; “label”).` */
function taskWords({ task, share, words: signs }: NonNullable<RequestExplanation['taskReasons']>): Parts {
  const places = [...Map.groupBy(signs, ({ of }) => of)].map(
    ([of, all]) => `${all.map(({ text }) => `“${visible(text)}”`).join(', ')}${PLACES[of] ?? ''}`,
  );
  const because = places.length > 0 ? `, because of ${places.join('; ')}` : '';
  return words`Task: ${task} (${figure(share, 'share', percent(share))} likely${because}).`;
}

/** A sentence about the first hold of the request; null if there is nothing to say. */
function holdNote({ certificate, firstHold, isFunded, shortage, runtime }: HypotheticalExplanation): Parts | null {
  if (shortage) {
    const limit = shortage.info.details?.limit_credits;
    const usd = usdWriter(runtime.snapshot.usdPerCredit);
    const worth = typeof limit === 'number' ? ` The limit is ${bothAmounts(limit, usd(limitFromCredits(limit)))}.` : '';
    return [`The request is refused with ${shortage.status} ${shortage.code}: ${shortage.message}${worth}`];
  }
  if (firstHold === null) {
    const waits = isFunded && certificate.choice !== null;
    return waits ? ['The request would wait for money that other requests of its key hold.'] : null;
  }
  const { amount, grows, capped } = firstHold;
  const credits = creditsFigure(toCredits(amount));
  const growth = 'and the hold grows with the answer, because the provider stops billing when a request is aborted';
  if (!isFunded) {
    return words`If the worst case of the request is a large part of a fund, ${credits} are held first, ${growth}.`;
  }
  const more = grows
    ? ` first, ${growth}`
    : capped
      ? `. The output is capped at ${plural(capped.outputCap, 'token')}: ${capReason(capped.by)}`
      : '';
  return words`${credits} of the caller’s money are held${more}.`;
}

/** Returns the eligible models for which no other model is at least as good in quality, cost and latency and better in one of them. */
function paretoFront(candidates: readonly CandidateEntry[]): string[] {
  const eligible = candidates.filter(({ rank }) => rank !== null);
  const isBeaten = (one: CandidateEntry) => eligible.some((other) => isAsGood(other, one) && !isAsGood(one, other));
  return eligible.filter((one) => !isBeaten(one)).map(({ model }) => model);
}

const isAsGood = (one: CandidateEntry, other: CandidateEntry): boolean =>
  one.countedQuality >= other.countedQuality &&
  one.costCredits <= other.costCredits &&
  one.latencyMs <= other.latencyMs;
