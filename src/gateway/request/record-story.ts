import type { AttemptRecord } from '../../core/decision/attempt.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import { type DecisionRecord, isAnsweredHere, isRunning } from '../../core/decision/record.ts';
import {
  figure,
  joined,
  joinedByWhich,
  model,
  type Part,
  type Parts,
  type Sentence,
  sentence,
  textOf,
  words,
} from '../../core/decision/sentence.ts';
import { ERRORS } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { figureOf } from '../../core/money/usage.ts';
import { creditsText } from '../../core/text/text.ts';
import { choiceClause } from '../../routing/advise.ts';
import { story } from '../../routing/story.ts';
import { ANSWERED_HERE, type Hindsight, type RecordedCertificate } from './recorded-certificate.ts';

/** Tells a recorded request: which model it got, why, what it cost, and whether the decision can be repeated. */
export function recordStory(recorded: RecordedCertificate): Sentence[] {
  const { record, certificate, hindsight } = recorded;
  const { facts, outcome } = record;
  return [
    ...(certificate ? [...outcomeStory(record), ...story(certificate, facts)] : briefStory(record)),
    ...(outcome ? moneyStory(outcome, hindsight) : []),
    ...replayStory(recorded),
  ];
}

/** Tells what a record itself knows, without repeating its decision. */
export function briefStory(record: DecisionRecord): Sentence[] {
  const [ended, chosen] = [outcomeStory(record), choiceStory(record)];
  const [first, ...others] = ended;
  const joint = first && chosen && !record.outcome?.insteadOf ? joinedByWhich(first.parts, chosen.parts) : null;
  return joint ? [sentence('outcome', joint), ...others] : [...ended, ...(chosen ? [chosen] : [])];
}

/** Says why the model was chosen, if the decision cannot be repeated. */
function choiceStory({ choice, reason, facts, outcome }: DecisionRecord): Sentence | null {
  // A hit of the cache has no decision of its own.
  if (choice === '' || outcome?.repeats !== undefined) return null;
  const { insteadOf = null } = outcome ?? {};
  const isNamed = facts.named !== null;
  const decided = { eligible: null, reason, isNamed, choiceReason: null, listedBy: null };
  // A fallback can be tried although the decision chose the named model.
  const isAfterDecision = insteadOf?.model === choice;
  const clause = choiceClause({ id: choice, insteadOf: isAfterDecision ? null : insteadOf, ...decided });
  return sentence('choice', words`${clause}.`);
}

function outcomeStory(record: DecisionRecord): Sentence[] {
  const { outcome, choice } = record;
  const tell = (parts: Parts) => sentence('outcome', parts);
  if (outcome === null)
    return [tell(words`${isRunning(record) ? 'It went to' : 'The recommendation was'} ${model(choice)}.`)];
  const { repeats, status, error } = outcome;
  if (repeats !== undefined) return [tell(cacheWords(choice, idText('dec_', repeats)))];
  if (status === 'failed') return [tell(failedWords(outcome)), ...(error ? [tell([ERRORS[error].means])] : [])];
  const end = ENDS[status];
  return [tell(choice === '' ? [ANSWERED_HERE] : wentWords(record, outcome)), ...(end ? [tell([end])] : [])];
}

const ENDS: Readonly<Partial<Record<DecisionOutcome['status'], string>>> = {
  broken: 'The answer is incomplete.',
  abandoned: 'The answer is incomplete because the client disconnected or the server stopped.',
};

/** @param repeated the ID of the decision whose answer the cache repeated */
function cacheWords(choice: string, repeated: string): Parts {
  const decision: Part = { kind: 'decision', text: repeated };
  if (choice === '') return words`The cache repeated the answer to an equal request, ${decision}.`;
  return words`The cache repeated the answer that ${model(choice)} gave to an equal request, ${decision}.`;
}

function failedWords({ attempts, error }: DecisionOutcome): Parts {
  const failed = attempts.length === 1 ? 'the attempt failed' : `all ${attempts.length} attempts failed`;
  const tried = attempts.length === 0 ? 'nothing was tried' : `${failed} (${failuresText(attempts)})`;
  return words`No model answered${error === null ? '' : ` (${error})`}: ${tried}.`;
}

/** Says which model answered, and why it was not the choice. */
function wentWords({ choice }: DecisionRecord, { attempts, insteadOf }: DecisionOutcome): Parts {
  const last = attempts.at(-1);
  if (!last || last.model === choice) return words`It went to ${model(choice)}.`;
  if (insteadOf?.model === choice)
    return words`It went to ${model(last.model)} instead of ${model(choice)}: ${insteadOf.text}.`;
  const failures = failuresText(attempts.slice(0, -1));
  return words`It went to ${model(last.model)} after ${model(choice)}, the first choice, failed (${failures}).`;
}

/** Says equal failures together: `rate limited at a (2 times) and b, timeout at c`. */
function failuresText(attempts: readonly AttemptRecord[]): string {
  const failed = attempts.filter(({ failure }) => failure !== null);
  const texts = [...Map.groupBy(failed, ({ failure }) => failure)].map(([failure, equal]) => {
    const providers = [...Map.groupBy(equal, ({ provider }) => provider)].map(([provider, { length }]) =>
      length === 1 ? provider : `${provider} (${length} times)`,
    );
    return `${failure?.replaceAll('_', ' ')} at ${textOf(joined(providers, ', ', ' and '))}`;
  });
  return texts.join(', ') || 'an unknown fault';
}

const amount = (microcredits: Microcredits) => figure(toCredits(microcredits), 'credits', creditsText(microcredits));

/** Says how long a request took, what it used and cost, and what it would have cost on other models. */
function moneyStory(outcome: DecisionOutcome, hindsight: Hindsight | null): Sentence[] {
  const { status, error, usage, estimated, charged, saved, totalMs, attempts } = outcome;
  const { serviceTier: tier, assumedTier: assumed } = attempts.at(-1) ?? {};
  const counted = estimated ? ', counted by Signalbox' : '';
  const tokens = usage
    ? `${usage.inputTokens} input tokens (${figureOf(usage, 'cache_read')} cached) and ${usage.outputTokens} output tokens${counted}; `
    : '';
  const end = error ? `ended as ${status} with ${error}` : `was ${status}`;
  const time = figure(totalMs, 'ms', `${Math.round(totalMs)} ms`);
  const elsewhere = [
    hindsight?.runnerUp == null ? null : words`${amount(hindsight.runnerUp)} on the runner-up`,
    hindsight?.baseline == null ? null : words`${amount(hindsight.baseline)} on the baseline`,
  ].filter((parts) => parts !== null);
  return [
    sentence(
      'money',
      words`The request ${end} in ${time}: ${tokens}charged ${amount(charged)}${tier === undefined || assumed !== undefined ? '' : ` at the service tier ${tier}`}, saved ${amount(saved)}.`,
    ),
    ...(assumed === undefined ? [] : [sentence('money', assumedWords(assumed, tier))]),
    ...(elsewhere.length === 0
      ? []
      : [sentence('money', words`The same tokens would have cost ${joined(elsewhere, ' and ')}.`)]),
  ];
}

/** Says which tier's price applied, if the answer does not tell. @param stated the tier that the answer states; undefined for none */
const assumedWords = (assumed: string, stated: string | undefined): Parts => [
  `The provider stated ${stated === undefined ? 'no service tier' : 'a service tier that the policy has no price for'}; the price of the service tier ${assumed} applied, the most expensive one that could.`,
];

/** Says whether the decision, repeated from its record, is the same. An answer without a model has no decision. */
function replayStory(recorded: RecordedCertificate): Sentence[] {
  const { record, certificate, matches, repeatsEndpoints, reason, leftOut } = recorded;
  if (isAnsweredHere(record)) return [];
  const replay = certificate
    ? `The decision, repeated from its record, is ${matches ? 'identical, bit for bit' : 'different'}.`
    : `The decision cannot be repeated. ${reason}`;
  const missing = leftOut?.length ? `Providers that could not serve at that time: ${leftOut.join(', ')}.` : null;
  return [
    replay,
    ...(repeatsEndpoints === null ? [] : [repeatsEndpoints ? SAME_ENDPOINTS : OTHER_ENDPOINT]),
    ...(matches === false ? [EDITED] : []),
    ...(missing === null ? [] : [missing]),
  ].map((text) => sentence('replay', [text]));
}

const SAME_ENDPOINTS = 'Each attempt, repeated from its record, has the same endpoint.';
const OTHER_ENDPOINT = 'An attempt, repeated from its record, has another endpoint.';
const EDITED = 'The record or the policy was edited, so the reasons may be wrong.';
