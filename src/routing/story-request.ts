import { figure, joined, model, type Parts, words } from '../core/decision/sentence.ts';
import { toCredits } from '../core/money/credits.ts';
import { capabilityNames } from '../core/request/capability.ts';
import { ESCALATION_SIGNALS, type Escalation, type Unescalated } from '../core/request/escalation.ts';
import type { ExpectedLength, LengthSource } from '../core/request/expected-length.ts';
import { type Difficulty, type Facts, isIntentRead, type StuckSigns } from '../core/request/facts.ts';
import { FALLBACK_REASONS, type FallbackLists, listFor, REASON_NAMES } from '../core/request/fallbacks.ts';
import { tierText as tierNames } from '../core/request/tiers.ts';
import { decimalText } from '../core/text/text.ts';
import { percent } from './advise.ts';
import type { TierEntry } from './certificate.ts';
import type { Certificate } from './certify.ts';

/** This file tells what a decision knew about its request. */

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
    ? `weights ${shortFigure(cost)} for cost, ${shortFigure(quality)} for quality`
    : `weights ${shortFigure(cost)} for cost, ${shortFigure(quality)} for quality, ${shortFigure(latency)} for latency`;

/** Says what the request names and asks for. */
export function requestWords({ candidates }: Certificate, facts: Facts): Parts {
  const { model: asked, alias, named, task, mix, weights, ceilings, budget, funds, choices } = facts;
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
    funds?.free != null && words`the budgets have ${creditsFigure(toCredits(funds.free))} left`,
  ].filter((term) => typeof term !== 'boolean' && term !== null);
  const size = words`about ${tokensFigure(input, 'input tokens')}`;
  const kind = isIntentRead(facts)
    ? `its task is ${task}${shares && ` (${shares})`}`
    : 'its task was not read, because nothing depends on it';
  const target = named === null ? asked : model(asked);
  const name = alias === null ? words`${target}` : words`${alias} (an alias of ${target})`;
  return words`The request names ${name}, and ${kind}: ${joined([size, ...terms], '; ')}.`;
}

/** Says how long the answer was expected to be: `Expected answer: 640 tokens, measured from answers to coding tasks.` */
export function lengthWords({ tokens, source }: ExpectedLength, { measuredTasks }: Certificate, facts: Facts): Parts {
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
  return words`Expected answer: ${tokensFigure(tokens, tokens === 1 ? 'token' : 'tokens')}, ${sources[source]}.`;
}

/** Says which tier decided: `The first question is hard with a probability of 12 %, below 88 %. The order of auto: luna, then flash.` */
export function tierWords(tier: TierEntry, { model: selector, tier: first, escalation, unescalated }: Facts): Parts {
  const { why, order, stated, hard, strongFrom } = tier;
  const side = hard >= strongFrom ? 'at least' : 'below';
  const probability = `The first question is hard with a probability of ${percent(hard)}, ${side} ${percent(strongFrom)}. `;
  // A request for embeddings has no question.
  const question = first ? probability : '';
  const because =
    why === 'escalated' && escalation ? `The conversation is escalated: ${escalationText(escalation)}. ` : question;
  const withheld = unescalated ? unescalatedText(unescalated) : '';
  const lists = stated
    ? `The policy states the models of ${selector}: usual ${tierNames(stated.usual)}; strong ${tierNames(stated.strong)}.`
    : `The order of ${selector}: ${tierNames(order)}.`;
  return words`${because}${withheld}${lists}`;
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
export function fallbacksWords(lists: FallbackLists): Parts {
  const texts = REASON_NAMES.flatMap((reason) => {
    const list = listFor(lists, reason);
    return list.length > 0 ? [words`${FALLBACK_REASONS[reason].when}: ${joined(list.map(model))}`] : [];
  });
  return words`Fallbacks that the ${lists.by} lists, in this order, ${joined(texts, '; ')}. Models that cannot serve the request are skipped.`;
}

export const creditsFigure = (credits: number) => figure(credits, 'credits', `${credits} Credits`);

/** @param noun the unit behind the number, such as `input tokens` */
export const tokensFigure = (tokens: number, noun: string) =>
  figure(tokens, 'tokens', `${Math.round(tokens).toLocaleString('en')} ${noun}`);

/** Formats a number with three significant digits. */
export const shortFigure = (value: number): string => decimalText(Number(value.toPrecision(3)));
