import { figure, model, type Parts, type Sentence, sentence, textOf, words } from '../core/decision/sentence.ts';
import { plainVerdict, verdictText } from '../core/decision/verdict.ts';
import type { Worth } from '../core/define/field.ts';
import { json } from '../core/define/fields.ts';
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
import { PolicyExplanation, type ShownExplanation } from './policy-explanation.ts';
import type { HypotheticalExplanation, RequestExplanation } from './use-cases/policy/explain.ts';

/** The explanation of a request, or of a case, which has no details about its text. */
type Explained = HypotheticalExplanation & Partial<RequestExplanation>;

interface ExplanationTerms {
  /** Whether current measurements were used. */
  readonly isMeasured: boolean;
  /** Whether the money of the sender was considered. */
  readonly isFunded: boolean;
  /** Providers that cannot serve with the variables set here, each with the reason. */
  readonly missing?: readonly string[];
}

/** Returns the explanation in the form of the API, with the value of a Credit in its own policy. */
export function explanationJson(explanation: Explained, terms: ExplanationTerms) {
  const { runtime } = explanation;
  const usd = usdWriter(runtime.snapshot.usdPerCredit);
  return json(PolicyExplanation, shownExplanation(explanation, terms, usd), { usd });
}

function shownExplanation(
  explanation: Explained,
  { isMeasured, isFunded, missing }: ExplanationTerms,
  usd: Worth['usd'],
): ShownExplanation {
  const { certificate, facts, runtime, firstHold, shortage, taskNote = null, taskReasons = null } = explanation;
  const { snapshot } = runtime;
  const note = holdNote(explanation);
  const decided = decisionStory(explanation);
  return {
    certificate,
    facts,
    policyRevision: snapshot.revision,
    routeReason: certificate.reason,
    choice: certificate.choice,
    refusal: certificate.refusal,
    decisionStory: decided,
    sentences: explanationStory(explanation, decided),
    firstHoldCredits: firstHold && toCredits(firstHold.amount),
    firstHoldUsd: firstHold && usd(firstHold.amount),
    holdNote: note && textOf(note),
    shortage: shortage?.code ?? null,
    paretoFront: paretoFront(certificate.candidates),
    taskNote,
    taskReasons: taskReasons && {
      ...taskReasons,
      words: taskReasons.words.map((word) => ({ ...word, adds: Number(word.adds.toFixed(2)) })),
    },
    failedRules: failedRulesOf(explanation),
    readings: isMeasured ? 'present' : 'declared',
    isFunded,
    leftOutHere: missing ?? leftOutProviders(snapshot),
    usdPerCredit: snapshot.usdPerCredit,
  };
}

/** Tells the decision for a request that was not sent, without the notes about the request. */
const decisionStory = ({ certificate, facts, runtime, verdicts = [], isCached = false }: Explained): Sentence[] => [
  ...verdicts.map((verdict) => sentence('guards', [verdictText(plainVerdict(verdict))])),
  ...story(certificate, facts),
  ...(isCached ? [sentence('cache', [CACHED])] : []),
  ...lacksIn(runtime.snapshot).map((lack) => sentence('warning', [`${lack}.`])),
];

/** Adds the answer, and notes about the task, the hold, and rules whose condition failed. */
function explanationStory(explanation: Explained, decided: readonly Sentence[]): Sentence[] {
  const { certificate, shortage, taskNote = null, taskReasons = null } = explanation;
  const { choice } = certificate;
  const note = holdNote(explanation);
  return [
    ...(choice === null ? [] : [sentence('outcome', answerWords(choice, explanation))]),
    ...(taskNote === null ? [] : [sentence('task', [taskNote])]),
    ...(taskReasons === null ? [] : [sentence('task', taskWords(taskReasons))]),
    ...decided,
    ...(note === null ? [] : [sentence(shortage ? 'refusal' : 'hold', note)]),
    ...failedRulesOf(explanation).map(({ name, error }) =>
      sentence('warning', [`The condition of ${name} failed, so Signalbox treated it as true: ${error}.`]),
    ),
  ];
}

/** Returns the rules whose condition failed, with the first line of the error. The other lines point to the location. */
const failedRulesOf = ({ failedRules }: Explained) =>
  [...(failedRules ?? [])].map(([name, error]) => ({ name, error: scrub(messageOf(error).split('\n')[0] ?? '') }));

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
