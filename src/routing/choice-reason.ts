import type { Decision } from '../core/decision/decision.ts';
import { goodShareOf } from '../core/policy/counted-quality.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import type { Ladder, LadderReason, LadderRule, TierName, TierReason } from '../core/request/tiers.ts';
import { STEP_QUALITY } from './ladder.ts';

const WHY: Readonly<Record<TierReason, string>> = {
  usual: 'the request is not hard',
  hard: 'the request is hard',
  escalated: 'an answer of the conversation failed',
};

/** The parts of a decision that its reason says. */
export interface LadderDecision {
  readonly facts: Facts;
  /** Q of every model of the snapshot for this request. */
  readonly quality: Float64Array;
  readonly ladder: LadderReason;
}

/** A model in a reason, with its declared share of good answers and how it counts, 0..1. */
interface ReasonModel {
  /** The index of the model in the snapshot. */
  readonly index: number;
  readonly id: string;
  readonly share: number;
  readonly counted: number;
}

/** A model that was chosen, by its rule, instead of the model `before`. */
interface ReasonStep {
  readonly by: LadderRule;
  readonly choice: ReasonModel;
  readonly before: ReasonModel;
}

/** The facts that the clauses of a reason share. */
interface ReasonScope {
  readonly tier: TierName;
  readonly best: ReasonModel;
  readonly ladder: Ladder;
}

/**
 * Says why the ladder of a selector gave its choice: `gpt-6-luna costs least within 0.03 of the best quality (0.915 of 0.94); the request is
 * not hard`. A clause for each model that was replaced says why. Each place that explains a choice shows this text.
 */
export function choiceReason({ facts, quality, ladder: reason }: LadderDecision, snapshot: PolicySnapshot): string {
  const { why, began, steps, best } = reason;
  const task = facts.isTaskStated ? (snapshot.taskIndex.get(facts.task) ?? 0) : null;
  const figuresOf = (index: number): ReasonModel => {
    const model = snapshot.models[index]!;
    return { index, id: model.id, share: goodShareOf(model, snapshot, task), counted: quality[index]! };
  };
  const ladder = snapshot.selectors.get(facts.model)!.ladder!;
  const scope = { tier: began, best: figuresOf(best), ladder };
  const [last] = steps;
  const isEscalated = last!.by === 'escalated';
  // After an escalation, it does not matter why the model was chosen whose answer failed.
  const shown = isEscalated ? [last!] : steps;
  const clauses = shown.map(({ by, model }, at) =>
    clauseOf({ by, choice: figuresOf(model), before: figuresOf((steps[at + 1] ?? steps[at]!).model) }, scope),
  );
  const end =
    last!.by === 'first' && ladder.stepCost !== null && last!.model !== best
      ? `, and no model at least ${STEP_QUALITY} better ${costsAtMost(ladder.stepCost)}`
      : '';
  const escalation = why === 'escalated' && !isEscalated ? ', but there is no better model to move to' : '';
  return `${clauses.join('; ')}${end}; ${WHY[why]}${escalation}`;
}

/** Returns the reason of a decision; null if no ladder chose its model. */
export const decisionReason = (
  { facts, quality, ladder }: Pick<Decision, 'facts' | 'quality' | 'ladder'>,
  snapshot: PolicySnapshot,
): string | null => (ladder ? choiceReason({ facts, quality, ladder }, snapshot) : null);

function clauseOf({ by, choice, before }: ReasonStep, scope: ReasonScope): string {
  const { limit, stepCost } = scope.ladder;
  const better = () =>
    `${choice.id} is better than ${before.id} (${qualityOf(choice, before)} instead of ${qualityOf(before, choice)})`;
  const nearer = () => `${limit?.by === 'latency' ? 'is faster' : 'costs less'} for this request than ${before.id}`;
  switch (by) {
    case 'first':
      return orderClause(choice, scope);
    case 'stated':
      return statedClause(choice, scope);
    case 'step':
      return `${better()} and ${costsAtMost(stepCost!)}, step by step`;
    case 'dominates':
      return `${choice.id} is no worse than ${before.id} in quality, cost and time for this request, and better in one`;
    case 'limit':
      return `${choice.id} is the choice of \`${limit?.selector}\` and ${nearer()}`;
    case 'usual':
      return `${better()} and serves usual requests, too`;
    case 'strong':
      return `${choice.id} serves hard requests, too, and ${nearer()}`;
    case 'escalated':
      return choice.counted > before.counted ? better() : `${choice.id} is as good as ${before.id}`;
  }
}

function statedClause({ id, index }: ReasonModel, { tier, ladder: { stated } }: ReasonScope): string {
  const isOwn = stated![tier].includes(index);
  const list = isOwn ? tier : tier === 'usual' ? 'strong' : 'usual';
  const other = isOwn ? '' : `, and no model of \`${tier}\` can`;
  return `${id} is the first model of the list \`${list}\` that can serve the request${other}`;
}

/** Says how much more a step may cost. */
const costsAtMost = (times: number): string => (times === 1 ? 'costs no more' : `costs at most ${times} times as much`);

function orderClause(first: ReasonModel, { tier, best, ladder: { reason, margins } }: ReasonScope): string {
  const quality = first.id === best.id ? qualityOf(first) : `${qualityOf(first, best)} of ${qualityOf(best, first)}`;
  return `${first.id} ${reason} within ${figure(margins[tier])} of the best quality (${quality})`;
}

/** Formats a quality. If it counts otherwise, and not by as much as another quality that it is compared with, the text says as what it counts. */
function qualityOf({ share, counted }: ReasonModel, other?: ReasonModel): string {
  const moved = share - counted - (other ? other.share - other.counted : 0);
  return Math.abs(moved) > 1e-9 && share !== counted
    ? `${figure(share)}, counted as ${figure(counted)}`
    : figure(share);
}

/** Rounds to a thousandth. */
const figure = (value: number): string => `${Math.round(value * 1000) / 1000}`;
