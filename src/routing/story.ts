import { figure, joined, model, type Parts, rule, type Sentence, sentence, words } from '../core/decision/sentence.ts';
import { shownCredits } from '../core/money/ceiling.ts';
import { guessesIn } from '../core/policy/found-models.ts';
import type { Facts } from '../core/request/facts.ts';
import { iso } from '../core/time/clock.ts';
import { choiceClause, seconds, shownQuality, tradeOff, UNKNOWN_QUALITY } from './advise.ts';
import type { AppliedPreference, CandidateEntry, Counterfactual, RejectionEntry } from './certificate.ts';
import type { Certificate } from './certify.ts';
import { capReason } from './output-maximum.ts';
import type { TieBreaker } from './rank.ts';
import {
  creditsFigure,
  fallbacksWords,
  lengthWords,
  requestWords,
  shortFigure,
  tierWords,
  tokensFigure,
} from './story-request.ts';

/** Tells a decision in a few sentences. This is the only place that tells why a model was chosen. */
export function story(certificate: Certificate, facts: Facts): Sentence[] {
  const { constraints, preferences, refusal, expectedLength, candidates, tier } = certificate;
  const ranked = candidates.filter(({ rank }) => rank !== null);
  const [choice, next] = ranked;
  const rejected = candidates.filter(({ rank }) => rank === null);
  return [
    sentence('request', requestWords(certificate, facts)),
    ...(expectedLength ? [sentence('length', lengthWords(expectedLength, certificate, facts))] : []),
    ...(constraints.length > 0
      ? [sentence('constraints', words`Constraints that apply: ${joined(constraints.map(rule))}.`)]
      : []),
    ...rejectionGroups(rejected, STORY_LIMITS).map((parts) => sentence('rejections', parts)),
    ...(refusal ? [sentence('refusal', words`Refused with ${refusal.code}: ${refusal.message}`)] : []),
    ...(choice ? [sentence('choice', choiceWords(choice, next, ranked.length, certificate, facts))] : []),
    ...(choice && next
      ? [sentence('candidates', candidatesWords(choice, ranked)), sentence('order', orderWords(ranked, certificate))]
      : []),
    ...(choice && certificate.runnerUp && facts.named === null
      ? [sentence('runner_up', runnerUpWords(certificate.runnerUp, choice, certificate))]
      : []),
    ...(choice ? healthWords(choice).map((parts) => sentence('health', parts)) : []),
    ...(choice && tier ? [sentence('tier', tierWords(tier, facts))] : []),
    ...(choice && facts.fallbacks ? [sentence('fallbacks', fallbacksWords(facts.fallbacks))] : []),
    ...certificate.found.map((one) => sentence('found', foundWords(one))),
    ...(choice?.adaptsForcedTool ? [sentence('adapted', adaptedWords(choice))] : []),
    ...(preferences.length > 0 ? [sentence('preferences', preferencesWords(certificate))] : []),
    ...[choice, next].flatMap((one) => (one && one.cachedInputTokens > 0 ? [sentence('cache', cacheWords(one))] : [])),
    ...(choice ? [...unpricedWords(choice), holdWords(choice)].map((parts) => sentence('hold', parts)) : []),
    ...(choice && certificate.baseline
      ? [sentence('baseline', baselineWords(certificate.baseline, choice, next?.model))]
      : []),
  ];
}

/** How many groups of models with the same reasons a text lists, and how many names of a group. The text counts the rest. */
interface GroupLimits {
  readonly groups: number;
  readonly names: number;
}
const STORY_LIMITS: GroupLimits = { groups: 6, names: 8 };

/** A model with the reasons against it. */
export interface RejectedModel {
  readonly model: string;
  readonly rejections: readonly RejectionEntry[];
}

/**
 * Says why models were rejected, in a sentence for each group of models with the same reasons. The largest group comes first.
 * @param rejected the first models of a group are named
 */
export function rejectionGroups(rejected: readonly RejectedModel[], { groups: most, names }: GroupLimits): Parts[] {
  const groups = Map.groupBy(rejected, ({ rejections }) => rejections.map(({ text }) => general(text)).join('; and '));
  const bySize = [...groups.values()].sort((a, b) => b.length - a.length);
  const rest = bySize.slice(most).reduce((all, models) => all + models.length, 0);
  return [
    ...bySize.slice(0, most).map((models) => {
      const [first] = models;
      const isOne = models.length === 1;
      const why = reasonWords(first!.rejections, isOne ? (text) => text : general);
      if (isOne) return words`${model(first!.model)} was rejected because ${why}.`;
      return words`${models.length} models were rejected, each because ${why}: ${named(models, names)}.`;
    }),
    ...(rest > 0 ? [words`${rest} more models were rejected for other reasons.`] : []),
  ];
}

/** Says the reasons against a model as clauses, with the rules of the policy and their lines. */
const reasonWords = (rejections: readonly RejectionEntry[], write: (text: string) => string = (text) => text): Parts =>
  joined(
    rejections.map(({ text, rules }) =>
      rules.length === 0 ? write(text) : words`the policy rejects it: ${joined(rules.map(rule))}`,
    ),
    '; and ',
  );

/** Removes the model's own figure from a reason, so that models with the same reason can be grouped. */
const general = (text: string): string => text.replace(/ of \d\S*(?: (?:Credits|ms|tokens|%))?/, '');

function named(models: readonly { readonly model: string }[], most: number): Parts {
  const shown = joined(models.slice(0, most).map((one) => model(one.model)));
  const more = models.length - most;
  return more > 0 ? words`${shown} and ${more} more` : shown;
}

function choiceWords(
  choice: CandidateEntry,
  next: CandidateEntry | undefined,
  eligible: number,
  { reason, faulty, tieDecidedBy, isListed, insteadOf, choiceReason }: Certificate,
  { model: first, named }: Facts,
): Parts {
  const isNamed = named !== null;
  const why = choiceClause({
    id: choice.model,
    eligible,
    reason,
    insteadOf,
    isNamed,
    choiceReason,
    listedBy: isListed ? first : null,
  });
  if (!next || isListed || insteadOf || isNamed) return words`${why}: ${figuresOf(choice)}.`;
  if (choiceReason !== null) return words`${why}. ${model(choice.model)}: ${figuresOf(choice)}.`;
  const start = words`${why}: ${figuresOf(choice)}.`;
  const decisive = tieDecidedBy && TIE_TEXTS[tieDecidedBy];
  if (faulty) return words`${start} The strategy gave no usable score, so ${decisive ?? 'quality'} decided.`;
  if (decisive) return words`${start} ${model(next.model)} has the same utility; ${decisive} decided.`;
  const lead = shortFigure(choice.utility! - next.utility!);
  const parts = leads(choice, next);
  return words`${start} Its utility is ${lead} above the utility of ${model(next.model)}${parts && `: ${parts}`}.`;
}

/** The expected quality, cost and time of a candidate. A quality that a choice counts otherwise is shown apart. */
function figuresOf({ quality, countedQuality, costCredits, latencyMs }: CandidateEntry): Parts {
  const counted = quality === countedQuality ? '' : words` (counts as ${qualityFigure(countedQuality)})`;
  const share = quality === null ? UNKNOWN_QUALITY : words`expected quality ${qualityFigure(quality)}${counted}`;
  return words`${share}, ${creditsFigure(shownCredits(costCredits))}, ${figure(latencyMs, 'ms', `${seconds(latencyMs)} s`)}`;
}

const qualityFigure = (quality: number) => figure(quality, 'share', shownQuality(quality));

/** Says whether another eligible model would have been cheaper or better, and which. */
function candidatesWords(choice: CandidateEntry, ranked: readonly CandidateEntry[]): Parts {
  const beating = ranked.find(
    ({ costCredits: cost, countedQuality: quality }) =>
      (cost < choice.costCredits && quality >= choice.countedQuality) ||
      (cost <= choice.costCredits && quality > choice.countedQuality),
  );
  const place = beating
    ? words`${model(beating.model)} was ${leadOver(beating, choice)}`
    : 'no other model was both cheaper and better';
  return words`Of ${ranked.length} models that could serve the request, ${place}.`;
}

function leadOver({ costCredits: cost, countedQuality: quality }: CandidateEntry, choice: CandidateEntry): string {
  if (cost === choice.costCredits) return 'better at the same cost';
  return quality === choice.countedQuality ? 'cheaper and as good' : 'cheaper and better';
}

/** Says what decides the order of the eligible models. */
function orderWords(ranked: readonly CandidateEntry[], { tier }: Certificate): Parts {
  if (tier)
    return [
      'The models have the order of the selector for typical requests, and the first one that is good enough is chosen.',
    ];
  const utilities = ranked.map(({ utility }) => utility ?? 0);
  // The models of a list of fallbacks are in the order of the list.
  return [utilities[0] === Math.max(...utilities) ? 'The highest utility wins.' : 'The utility does not decide here.'];
}

/** Compares the next best model with the choice. */
function runnerUpWords(next: Counterfactual, choice: CandidateEntry, { choiceReason }: Certificate): Parts {
  const place = choiceReason === null ? 'The next best is' : 'The next in the order is';
  return words`${place} ${model(next.model)}: ${comparedTo(choice, next)}`;
}

const comparedTo = ({ quality, countedQuality, ...figures }: CandidateEntry, other: Counterfactual): string =>
  tradeOff(other, { ...figures, quality: quality ?? countedQuality }).replace(/^The/, 'the');

const TIE_TEXTS: Readonly<Record<TieBreaker, string>> = {
  quality: 'the higher quality',
  cost: 'the lower cost',
  latency: 'the lower latency',
  id: 'the order of the IDs',
};

/** Returns the lead of `a` over `b` by part: `quality +0.036, cost +0.015, latency −0.027`. */
function leads(a: CandidateEntry, b: CandidateEntry): string {
  const [ofA, ofB] = [Object.keys(a.parts), Object.keys(b.parts)];
  // A difference by part is only meaningful if both models have parts.
  if (ofA.length === 0 || ofB.length === 0) return '';
  return [...new Set([...ofA, ...ofB])]
    .map((part) => [part, (a.parts[part] ?? 0) - (b.parts[part] ?? 0)] as const)
    .filter(([, lead]) => Math.abs(lead) >= 1e-9)
    .map(([part, lead]) => `${part} ${signed(lead)}`)
    .join(', ');
}

/** Says where a model comes from that the policy does not declare. */
function foundWords({ model: id, provider, since, ...mark }: Certificate['found'][number]): Parts {
  const time = `${iso(since).slice(0, 16).replace('T', ' ')} UTC`;
  const guesses = guessesIn(mark).join(' and ');
  return words`${model(id)} was found at ${provider}, ${time}; its ${guesses} ${guesses.includes(' ') ? 'are guesses' : 'is a guess'}.`;
}

/** Says what the first hold of the choice is, and what capped its output. */
function holdWords({ worstCaseCredits, outputCap, cappedBy }: CandidateEntry): Parts {
  const output = tokensFigure(outputCap, 'output tokens');
  const hold = words`Signalbox holds at most ${creditsFigure(worstCaseCredits)}, the cost of up to ${output}`;
  return cappedBy === null ? words`${hold}.` : words`${hold}: ${capReason(cappedBy)}.`;
}

const adaptedWords = ({ model: id }: CandidateEntry): Parts =>
  words`${model(id)} does not accept the forced tool call. Signalbox sends the function's parameters as the JSON schema of the answer, and returns the answer as the call.`;

/** Lists the endpoints of the choice that are not healthy. */
function healthWords({ model: id, endpoints }: CandidateEntry): Parts[] {
  const out = endpoints.filter(({ health }) => health !== 'healthy');
  if (out.length === 0) return [];
  const states = out.map(({ provider, health }) => `${provider} is ${health}`).join(', ');
  return [words`Some endpoints of ${model(id)} are not healthy: ${states}.`];
}

/** Lists the endpoints of the choice that get no request because they lack a price. */
function unpricedWords({ model: id, endpoints }: CandidateEntry): Parts[] {
  return endpoints
    .filter(({ unpriced }) => unpriced.length > 0)
    .map(
      ({ provider, unpriced }) =>
        words`The endpoint of ${model(id)} at ${provider} is left out: it has no price for ${unpriced.join(', ')}.`,
    );
}

function preferencesWords({ preferences, unpreferred, choice }: Certificate): Parts {
  const shown = preferences.slice(0, STORY_LIMITS.names).map(preferenceWords);
  const more = preferences.length - shown.length;
  const moved =
    choice === null || unpreferred === null || unpreferred === choice
      ? ''
      : words` Without them, ${model(unpreferred)} would be chosen.`;
  return words`Preferences that apply: ${joined([...shown, ...(more > 0 ? [`and ${more} more`] : [])], '; ')}.${moved}`;
}

function preferenceWords({ models, worth, ...preference }: AppliedPreference): Parts {
  const all = models.map((id) => ({ model: id }));
  const names = all.length > 0 ? named(all, STORY_LIMITS.names) : 'no model';
  return words`${rule(preference)} counts as ${signed(worth)} quality for ${names}`;
}

const cacheWords = ({ model: id, inputTokens, cachedInputTokens }: CandidateEntry): Parts =>
  words`About ${Math.round(cachedInputTokens).toLocaleString('en')} of ${tokensFigure(inputTokens, 'input tokens')} are probably still in the cache of ${model(id)}.`;

/** @param next the model that another sentence compares with the choice */
function baselineWords(other: Counterfactual, choice: CandidateEntry, next: string | undefined): Parts {
  if (other.model === choice.model)
    return words`${model(choice.model)} is also the baseline that savings are measured against, so this choice saves nothing.`;
  const cost = creditsFigure(shownCredits(other.costCredits));
  const difference = other.model === next ? '.' : `: ${comparedTo(choice, other)}`;
  return words`Savings are measured against the baseline, ${model(other.model)}, which would cost ${cost}${difference}`;
}

const signed = (value: number): string => (value < 0 ? `−${shortFigure(-value)}` : `+${shortFigure(value)}`);
