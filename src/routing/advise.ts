import type { Decision, InsteadOf, RankedModel } from '../core/decision/decision.ts';
import { model, type Parts, textOf, words } from '../core/decision/sentence.ts';
import { idText } from '../core/id.ts';
import { shownCredits, shownMs } from '../core/money/ceiling.ts';
import { toCredits } from '../core/money/credits.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { type Facts, isIntentRead } from '../core/request/facts.ts';
import { plural } from '../core/text/text.ts';
import { decisionReason } from './choice-reason.ts';
import { adaptedFields } from './forced-function.ts';
import { capReason, outputCappedBy } from './output-maximum.ts';

/** The body of an answer of `/v1/route`. */
export type Advice = Readonly<ReturnType<typeof advise>>;

/** Returns a sentence that says that an unknown `task_type` counts as `general`, or null if the decision used the requested task. */
export function taskNote(requested: string | undefined, task: string): string | null {
  if (requested === undefined || task.toLowerCase() === requested.toLowerCase()) return null;
  return `The task type "${requested.slice(0, 64)}" is unknown, so Signalbox used the task general. `;
}

/** Describes a decision for `/v1/route`. `note` comes from `taskNote`. */
export function advise(decision: Decision, snapshot: PolicySnapshot, note: string | null) {
  const [choice, ...rest] = decision.ranked;
  return {
    recommended_model: snapshot.models[choice.model]!.id,
    ...(decision.facts.alias !== null && { alias: decision.facts.alias }),
    reasoning: reasoning(decision, snapshot, note),
    estimated_cost_credits: shownCredits(choice.costCredits),
    estimated_latency_ms: shownMs(choice.latencyMs),
    /** The worst-case cost of the choice, in Credits. */
    max_cost_credits: toCredits(choice.bound),
    ...termsOf(choice, decision.facts, snapshot),
    alternatives: rest.map((other) => ({
      model: snapshot.models[other.model]!.id,
      estimated_cost_credits: shownCredits(other.costCredits),
      estimated_latency_ms: shownMs(other.latencyMs),
      ...termsOf(other, decision.facts, snapshot),
      quality_trade_off: tradeOff(asShown(other), asShown(choice)),
    })),
    route_reason: decision.reason,
    ...(decision.insteadOf && { instead_of: decision.insteadOf }),
    decision_id: idText('dec_', decision.id),
    policy_revision: decision.revision,
  };
}

/**
 * Returns the maximum output tokens per choice that Signalbox would send to this model for a chat. `termsOf` also names the limit that
 * lowered the caller's maximum, and the fields that would reach the model's first endpoint in another form.
 */
function termsOf(ranked: RankedModel, facts: Facts, { models }: PolicySnapshot) {
  const model = models[ranked.model]!;
  const cappedBy = outputCappedBy(ranked, model, facts);
  const adapted = adaptedFields(facts.needs, model.endpoints[ranked.endpoints[0]!]!);
  return {
    max_output_tokens: ranked.outputCap,
    ...(cappedBy !== null && { output_capped_by: cappedBy }),
    ...(adapted !== null && { adapted }),
  };
}

function reasoning(decision: Decision, snapshot: PolicySnapshot, note: string | null): string {
  const { facts, eligible, reason } = decision;
  const [choice] = decision.ranked;
  const id = snapshot.models[choice.model]!.id;
  const figures = `${qualityText(choice)}, ${shownCredits(choice.costCredits)} Credits, ${shownMs(choice.latencyMs)} ms`;
  const cappedBy = outputCappedBy(choice, snapshot.models[choice.model]!, facts);
  const capped =
    cappedBy === null ? '' : ` Its output is capped at ${plural(choice.outputCap, 'token')}: ${capReason(cappedBy)}.`;
  const { insteadOf = null } = decision;
  const choiceReason = eligible > 1 && insteadOf === null ? decisionReason(decision, snapshot) : null;
  const isNamed = facts.named !== null;
  const why = textOf(choiceClause({ id, eligible, reason, insteadOf, isNamed, choiceReason, listedBy: null }));
  if (choiceReason !== null) return `${note ?? ''}${why}. ${id}: ${figures}.${capped}`;
  const task = isIntentRead(facts) ? `For the task ${facts.task}, ` : '';
  return `${note ?? ''}${task}${why}: ${figures}.${capped}`;
}

/** What decided for a model. */
interface ChosenModel {
  readonly id: string;
  /** The number of models that could serve the request; null if it is unknown. */
  readonly eligible: number | null;
  /** The value of `route_reason`. */
  readonly reason: string;
  /** The model that the request names, if the choice is a fallback of it; null otherwise. */
  readonly insteadOf: InsteadOf | null;
  /** The selector without an eligible model of its own, if the choice is a listed fallback of it; null otherwise. */
  readonly listedBy: string | null;
  readonly isNamed: boolean;
  /** Why the ladder of a selector gave the choice; null if no ladder chose it. */
  readonly choiceReason: string | null;
}

/** Says in a clause why a model was chosen. Each explanation of a decision uses it. */
export function choiceClause(chosen: ChosenModel): Parts {
  const { id, eligible, reason, insteadOf, listedBy, isNamed, choiceReason } = chosen;
  if (insteadOf)
    return words`${model(id)} is a fallback of ${model(insteadOf.model)}, which was left out (${insteadOf.text})`;
  if (listedBy !== null) return words`${model(id)} is a fallback of ${listedBy}, which cannot serve the request`;
  if (isNamed) return words`${model(id)} was requested by name`;
  if (eligible === 1) return words`${model(id)} is the only model that can serve the request`;
  if (choiceReason !== null) return words`${choiceReason}`;
  if (eligible === null) return words`${model(id)} was chosen by ${reason}`;
  return words`${model(id)} is the best of ${eligible} eligible models by ${reason}`;
}

/** The quality of a model as text. A choice may count another figure, which is not the expected share of good answers, so it is shown apart. */
function qualityText({ share, quality }: RankedModel): string {
  if (share === null) return UNKNOWN_QUALITY;
  const bonus = share === quality ? '' : ` (counts as ${shownQuality(quality)} for the choice)`;
  return `expected quality ${shownQuality(share)}${bonus}`;
}

/** The text for a model whose quality is stated neither by the policy nor by the catalog. */
export const UNKNOWN_QUALITY = 'unknown quality';

/** The figures that two models are compared by. `quality` is the expected share of good answers. */
type CandidateFigures = Pick<RankedModel, 'quality' | 'costCredits' | 'latencyMs'>;

const asShown = (one: RankedModel): CandidateFigures => ({ ...one, quality: one.share ?? one.quality });

/**
 * Compares two models in one sentence with figures: `3 percentage points lower expected quality at 12 % of the cost, in 1.2 s instead of
 * 4.5 s.`
 */
export function tradeOff(other: CandidateFigures, choice: CandidateFigures): string {
  const difference = Math.round((other.quality - choice.quality) * 1000) / 10;
  const points = Math.abs(difference) === 1 ? 'percentage point' : 'percentage points';
  const quality =
    difference === 0
      ? 'The same expected quality'
      : `${Math.abs(difference)} ${points} ${difference > 0 ? 'higher' : 'lower'} expected quality`;
  return `${quality} at ${costRatio(other.costCredits, choice.costCredits)}${timeInstead(other.latencyMs, choice.latencyMs)}.`;
}

/**
 * The smallest difference in latency that people notice: in ms, and as a share of the choice's latency. Signalbox does not show smaller
 * differences in latency.
 */
const NOTICEABLE_MS = 100;
const NOTICEABLE_SHARE = 0.1;

function timeInstead(other: number, choice: number): string {
  const difference = Math.abs(other - choice);
  if (difference < NOTICEABLE_MS || difference < NOTICEABLE_SHARE * choice) return '';
  return `, in ${seconds(other)} s instead of ${seconds(choice)} s`;
}

/** Formats milliseconds as seconds, with two decimals below 1 s and one decimal below 100 s. */
export function seconds(ms: number): string {
  const decimals = ms < 1000 ? 100 : ms < 100_000 ? 10 : 1;
  const rounded = Math.round((ms / 1000) * decimals) / decimals;
  return rounded < 1_000 ? `${rounded}` : IN_ENGLISH.format(rounded);
}
const IN_ENGLISH = new Intl.NumberFormat('en');

function costRatio(other: number, choice: number): string {
  if (other === choice) return 'the same cost';
  if (choice === 0) return `${shownCredits(other)} Credits instead of none`;
  const ratio = other / choice;
  return ratio < 10 ? `${percent(ratio)} of the cost` : `${Math.round(ratio)} times the cost`;
}

/** @param share 0..1. */
export function percent(share: number): string {
  const value = share * 100;
  // Rounding up would show a share just below 100 % as 100 %.
  if (value >= 99.5 && value < 100) return `${Math.floor(value * 10 + 1e-6) / 10} %`;
  return `${value < 1 ? Math.round(value * 100) / 100 : Math.round(value)} %`;
}

/** The highest quality that is ever shown, because no model is certain to answer well. */
export const SHOWN_QUALITY_MAX = 0.999;

/** @param quality 0..1, including the bonuses from preferences */
export const shownQuality = (quality: number): string => percent(Math.min(quality, SHOWN_QUALITY_MAX));
