import { shownCredits } from '../core/money/ceiling.ts';
import { toCredits } from '../core/money/credits.ts';
import { guessesIn } from '../core/policy/found-models.ts';
import { capabilityNames } from '../core/request/capability.ts';
import type { ExpectedLength, LengthSource } from '../core/request/expected-length.ts';
import {
  type Difficulty,
  ESCALATION_SIGNALS,
  type Escalation,
  type Facts,
  isIntentRead,
  type StuckSigns,
  type Unescalated,
} from '../core/request/facts.ts';
import { FALLBACK_REASONS, type FallbackLists, listFor, REASON_NAMES } from '../core/request/fallbacks.ts';
import { tierText as tierNames } from '../core/request/tiers.ts';
import type { SourcePlace } from '../core/source-place.ts';
import { decimalText } from '../core/text/text.ts';
import { iso } from '../core/time/clock.ts';
import { percent, seconds, shownQuality, tradeOff, UNKNOWN_QUALITY } from './advise.ts';
import type { AppliedPreference, AppliedRule, CandidateEntry, TierEntry } from './certificate.ts';
import type { Certificate } from './certify.ts';
import { capReason } from './output-maximum.ts';
import type { TieBreaker } from './rank.ts';

/** Explains a decision in a few sentences. */
export function story(certificate: Certificate, facts: Facts): string[] {
  const { constraints, preferences, unpreferred, refusal, expectedLength } = certificate;
  const ranked = certificate.candidates.filter(({ rank }) => rank !== null);
  const [choice, runnerUp] = ranked;
  return [
    requestText(certificate, facts),
    ...(expectedLength ? [lengthText(expectedLength, certificate, facts)] : []),
    ...(constraints.length > 0 ? [`Constraints that apply: ${constraints.map(ruleText).join(', ')}.`] : []),
    ...rejectedTexts(certificate.candidates.filter(({ rank }) => rank === null)),
    ...(refusal ? [`Refused with ${refusal.code}: ${refusal.message}`] : []),
    ...(choice ? [choiceText(choice, runnerUp, ranked.length, certificate, facts), ...healthText(choice)] : []),
    ...(choice && certificate.tier ? [tierText(certificate.tier, facts)] : []),
    ...(choice && facts.fallbacks ? [fallbacksText(facts.fallbacks)] : []),
    ...certificate.found.map(foundText),
    ...(choice?.adaptsForcedTool ? [adaptedText(choice)] : []),
    ...(preferences.length > 0 ? [preferencesText(preferences, unpreferred, choice)] : []),
    ...[choice, runnerUp].flatMap((one) => (one && one.cachedInputTokens > 0 ? [cacheText(one)] : [])),
    ...(choice ? [holdText(choice), ...baselineText(certificate, choice)] : []),
  ];
}

/** Shortens a location to `rules.yaml:12`, because readers do not need the folder. */
export const shortPlace = ({ file, line }: Pick<SourcePlace, 'file' | 'line'>): string =>
  `${file.slice(file.lastIndexOf('/') + 1)}:${line}`;

const ruleText = ({ name, place }: AppliedRule): string => `${name} (${shortPlace(place)})`;

const DIFFICULTY: Readonly<Record<Difficulty, string | false>> = {
  easy: 'the request is clearly easy, so models reason less',
  usual: false,
  hard: 'the request is clearly hard, so models reason more',
};

const difficultyText = ({ difficulty, stuck }: Facts): string | false =>
  stuck ? `${stuckText(stuck)}, so models reason more` : DIFFICULTY[difficulty];

/** Lists the signs that an agent is stuck: `the agent is stuck (2 repeated failures, 3 failing runs)`. */
function stuckText({ sameFailures, failingRuns, undoneEdits, repeatedCalls }: StuckSigns): string {
  const signs = [
    [sameFailures, 'repeated failure'],
    [failingRuns, 'failing run'],
    [undoneEdits, 'undone edit'],
    [repeatedCalls, 'repeated call'],
  ] as const;
  const texts = signs.flatMap(([many, sign]) => (many === 0 ? [] : `${many} ${many === 1 ? sign : `${sign}s`}`));
  return `the agent is stuck (${texts.join(', ')})`;
}

const weightsText = ({ cost, quality, latency }: NonNullable<Facts['weights']>): string =>
  latency === undefined
    ? `weights ${figure(cost)} for cost, ${figure(quality)} for quality`
    : `weights ${figure(cost)} for cost, ${figure(quality)} for quality, ${figure(latency)} for latency`;

function requestText({ candidates }: Certificate, facts: Facts): string {
  const { model, alias, task, mix, weights, ceilings, budget, funds, choices } = facts;
  const shares = mix.map((one) => `${percent(one.share)} ${one.task}`).join(', ');
  // Each model counts images differently. The text uses the input tokens of the best model.
  const input = candidates[0]?.inputTokens ?? facts.inputTokens;
  const needs = capabilityNames(facts.needs);
  const terms = [
    difficultyText(facts),
    needs.length > 0 && `needs ${needs.join(', ')}`,
    facts.languages.length > 0 && `must handle ${facts.languages.join(', ')}`,
    choices > 1 && `${choices} choices`,
    weights && weightsText(weights),
    ceilings.costCredits !== null && `max_cost_credits ${decimalText(ceilings.costCredits)}`,
    ceilings.latencyMs !== null && `max_latency_ms ${ceilings.latencyMs}`,
    facts.outputTokensMin !== undefined && `min_output_tokens ${facts.outputTokensMin}`,
    budget !== null && `budget_limit ${toCredits(budget)}`,
    funds?.free != null && `the budgets have ${toCredits(funds.free)} Credits left`,
  ].filter((term) => typeof term === 'string');
  const size = `about ${count(input)} input tokens`;
  const kind = isIntentRead(facts)
    ? `its task is ${task}${shares && ` (${shares})`}`
    : 'its task was not read, because nothing depends on it';
  const named = alias === null ? model : `${alias} (an alias of ${model})`;
  return `The request names ${named}, and ${kind}: ${[size, ...terms].join('; ')}.`;
}

/** Explains the expected length: `Expected answer: 640 tokens, measured from answers to coding tasks.` */
function lengthText({ tokens, source }: ExpectedLength, { measuredTasks }: Certificate, facts: Facts): string {
  const { task, mix } = facts;
  const tasksText = (all: readonly string[]) => `${all.join(', ')} tasks`;
  const all = mix.length === 0 ? [task] : mix.map((one) => one.task);
  const isPart = measuredTasks.length < mix.length;
  const measured = `${isPart ? 'partly ' : ''}measured from answers to ${tasksText(measuredTasks)}`;
  const sources: Readonly<Record<LengthSource, string>> = {
    request: 'stated by the request',
    prompt: 'read from the prompt or the response format',
    max_tokens: 'limited by max_tokens',
    measured,
    declared: `declared by the policy${isIntentRead(facts) ? ` for ${tasksText(all)}` : ''}`,
  };
  return `Expected answer: ${count(tokens)} ${tokens === 1 ? 'token' : 'tokens'}, ${sources[source]}.`;
}

/** Explains where a model comes from that the policy does not declare. */
function foundText({ model, provider, since, ...mark }: Certificate['found'][number]): string {
  const time = `${iso(since).slice(0, 16).replace('T', ' ')} UTC`;
  const guesses = guessesIn(mark).join(' and ');
  return `${model} was found at ${provider}, ${time}; its ${guesses} ${guesses.includes(' ') ? 'are guesses' : 'is a guess'}.`;
}

/** The maximum number of groups and names that a text lists; the text only counts the rest. */
const GROUPS_MAX = 6;
const NAMES_MAX = 8;

function rejectedTexts(rejected: readonly CandidateEntry[]): string[] {
  const groups = Map.groupBy(rejected, ({ rejections }) => rejections.map(({ text }) => general(text)).join('; and '));
  const bySize = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const rest = bySize.slice(GROUPS_MAX).reduce((all, [, models]) => all + models.length, 0);
  return [
    ...bySize.slice(0, GROUPS_MAX).map(([why, models]) => {
      const [first] = models;
      if (models.length > 1) return `${models.length} models were rejected, each because ${why}: ${names(models)}.`;
      return `${first!.model} was rejected because ${first!.rejections.map(({ text }) => text).join('; and ')}.`;
    }),
    ...(rest > 0 ? [`${rest} more models were rejected for other reasons.`] : []),
  ];
}

/** Removes the model's own figure from a reason, so that models with the same reason can be grouped. */
const general = (text: string): string => text.replace(/ of \d\S*(?: (?:Credits|ms|tokens|%))?/, '');

function names(models: readonly { readonly model: string }[]): string {
  const shown = models.slice(0, NAMES_MAX).map(({ model }) => model);
  const more = models.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

function choiceText(
  choice: CandidateEntry,
  runnerUp: CandidateEntry | undefined,
  ranked: number,
  { reason, faulty, tieDecidedBy, isListed, insteadOf, choiceReason }: Certificate,
  { model: first, named }: Facts,
): string {
  const { model, costCredits, latencyMs } = choice;
  const figures = `${qualityText(choice)}, ${shownCredits(costCredits)} Credits, ${seconds(latencyMs)} s`;
  if (isListed || insteadOf)
    return `${model} is a fallback of ${insteadOf?.model ?? first}, which cannot serve the request: ${figures}.`;
  if (named !== null) return `${model} was requested by name: ${figures}.`;
  if (!runnerUp) return `${model} is the only model left: ${figures}.`;
  if (choiceReason) return `${choiceReason}. ${model}: ${figures}.`;
  const best = `${model} is the best of ${ranked} models by ${reason}: ${figures}.`;
  const decisive = tieDecidedBy && TIE_TEXTS[tieDecidedBy];
  if (faulty) return `${best} The strategy gave no usable score, so ${decisive} decided.`;
  const lead = choice.utility! - runnerUp.utility!;
  if (decisive) return `${best} ${runnerUp.model} has the same utility; ${decisive} decided.`;
  const parts = leads(choice, runnerUp);
  return `${best} Its utility is ${figure(lead)} above the utility of ${runnerUp.model}${parts && `: ${parts}`}.`;
}

/** The quality of a candidate; a quality that a choice counts otherwise is shown apart. */
const qualityText = ({ quality, countedQuality }: CandidateEntry): string => {
  if (quality === null) return UNKNOWN_QUALITY;
  const counted = quality === countedQuality ? '' : ` (counts as ${shownQuality(countedQuality)})`;
  return `expected quality ${shownQuality(quality)}${counted}`;
};

/** Explains the tier: `The first question is hard with a probability of 12 %, below 88 %. The order of auto: luna, then flash.` */
function tierText(tier: TierEntry, { model, tier: first, escalation, unescalated }: Facts): string {
  const { why, order, stated, hard, strongFrom } = tier;
  const side = hard >= strongFrom ? 'at least' : 'below';
  const probability = `The first question is hard with a probability of ${percent(hard)}, ${side} ${percent(strongFrom)}. `;
  // A request for embeddings has no question.
  const question = first ? probability : '';
  const because =
    why === 'escalated' && escalation ? `The conversation is escalated: ${escalationText(escalation)}. ` : question;
  const withheld = unescalated ? unescalatedText(unescalated) : '';
  const lists = stated
    ? `The policy states the models of ${model}: usual ${tierNames(stated.usual)}; strong ${tierNames(stated.strong)}.`
    : `The order of ${model}: ${tierNames(order)}.`;
  return `${because}${withheld}${lists}`;
}

const escalationText = ({ signal, turnsAgo }: Escalation): string =>
  `${ESCALATION_SIGNALS[signal]}${turnsAgo === 0 ? '' : `, ${turnsAgo === 1 ? 'one answer' : `${turnsAgo} answers`} ago`}`;

function unescalatedText(unescalated: Unescalated): string {
  return `The conversation was not escalated, although ${escalationText(unescalated)}: ${withheldText(unescalated)}. `;
}

function withheldText({ share, isUnpaid }: Unescalated): string {
  if (isUnpaid) return 'the money that is left cannot pay for the strong tier';
  if (!share) return 'the conversations of this key could not be counted';
  return `${share.escalated} of ${share.conversations} conversations of this key in the last hour are escalated, and \`escalate.share_max\` allows no more`;
}

/** Lists the fallbacks by reason: `Listed by the policy: after an error b, c; if the prompt is too long long.` */
function fallbacksText(lists: FallbackLists): string {
  const texts = REASON_NAMES.flatMap((reason) => {
    const list = listFor(lists, reason);
    return list.length > 0 ? [`${FALLBACK_REASONS[reason].when}: ${list.join(', ')}`] : [];
  });
  return `Fallbacks that the ${lists.by} lists, in this order, ${texts.join('; ')}. Models that cannot serve the request are skipped.`;
}

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

/** Explains the first hold of the choice, and what capped its output. */
function holdText({ worstCaseCredits, outputCap, cappedBy }: CandidateEntry): string {
  const hold = `Signalbox holds at most ${worstCaseCredits} Credits, the cost of up to ${count(outputCap)} output tokens`;
  return cappedBy === null ? `${hold}.` : `${hold}: ${capReason(cappedBy)}.`;
}

const adaptedText = ({ model }: CandidateEntry): string =>
  `${model} does not accept the forced tool call. Signalbox sends the function's parameters as the JSON schema of the answer, and returns the answer as the call.`;

/** Lists the endpoints of the choice that are not healthy. */
function healthText({ model, endpoints }: CandidateEntry): string[] {
  const out = endpoints.filter(({ health }) => health !== 'healthy');
  if (out.length === 0) return [];
  return [
    `Some endpoints of ${model} are not healthy: ${out.map(({ provider, health }) => `${provider} is ${health}`).join(', ')}.`,
  ];
}

function preferencesText(
  preferences: readonly AppliedPreference[],
  unpreferred: string | null,
  choice: CandidateEntry | undefined,
): string {
  const texts = preferences.slice(0, NAMES_MAX).map((one) => {
    const models = one.models.length > 0 ? names(one.models.map((model) => ({ model }))) : 'no model';
    return `${ruleText(one)} counts as ${signed(one.worth)} quality for ${models}`;
  });
  const moved =
    choice === undefined || unpreferred === choice.model ? '' : ` Without them, ${unpreferred} would be chosen.`;
  const more = preferences.length - texts.length;
  if (more > 0) texts.push(`and ${more} more`);
  return `Preferences that apply: ${texts.join('; ')}.${moved}`;
}

const cacheText = ({ model, inputTokens, cachedInputTokens }: CandidateEntry): string =>
  `About ${count(cachedInputTokens)} of ${count(inputTokens)} input tokens are probably still in the cache of ${model}.`;

function baselineText({ baseline: other }: Certificate, choice: CandidateEntry): string[] {
  if (!other) return [];
  if (other.model === choice.model)
    return [`${choice.model} is also the baseline that savings are measured against, so this choice saves nothing.`];
  const { quality, countedQuality } = choice;
  const difference = tradeOff(other, { ...choice, quality: quality ?? countedQuality }).replace(/^The/, 'the');
  return [
    `Savings are measured against the baseline, ${other.model}, which would cost ${shownCredits(other.costCredits)} Credits: ${difference}`,
  ];
}

const count = (figures: number): string => Math.round(figures).toLocaleString('en');

/** Formats a number with three significant digits. */
const figure = (value: number): string => decimalText(Number(value.toPrecision(3)));

const signed = (value: number): string => (value < 0 ? `−${figure(-value)}` : `+${figure(value)}`);
