import type { Decision } from '../core/decision/decision.ts';
import { qualitiesOf } from '../core/policy/counted-quality.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Ladder, LadderReason, LadderRule, TierName, TierReason } from '../core/policy/tiers.ts';
import type { Facts } from '../core/request/facts.ts';
import { tierOf } from './tiers.ts';

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
  /** The index of the chosen model in the snapshot. */
  readonly choice: number;
  readonly ladder: LadderReason;
}

/** A model in a reason, with its declared share of good answers and how it counts, 0..1. */
interface ReasonModel {
  readonly id: string;
  readonly share: number;
  readonly counted: number;
}

interface Reason {
  readonly by: LadderRule;
  readonly tier: TierName;
  readonly choice: ReasonModel;
  readonly first: ReasonModel;
  readonly best: ReasonModel;
  readonly ladder: Ladder;
}

/**
 * Says in a clause why the ladder of a selector gave its choice: `gpt-6-luna costs least within 0.03 of the best quality (0.915 of 0.94); the
 * request is not hard`. Each place that explains a choice shows this clause.
 */
export function choiceReason(
  { facts, quality, choice, ladder: { by, why, first, best } }: LadderDecision,
  snapshot: PolicySnapshot,
): string {
  const task = facts.isTaskStated ? (snapshot.taskIndex.get(facts.task) ?? 0) : null;
  const { shares } = qualitiesOf(snapshot, task);
  const figuresOf = (index: number): ReasonModel => ({
    id: snapshot.models[index]!.id,
    share: shares[index]!,
    counted: quality[index]!,
  });
  const ladder = snapshot.selectors.get(facts.model)!.ladder!;
  const models = { choice: figuresOf(choice), first: figuresOf(first), best: figuresOf(best) };
  return `${clauses({ by, tier: tierOf(facts).name, ...models, ladder }).join('; ')}; ${WHY[why]}`;
}

/** Returns the clause of a decision; null if no ladder chose its model. */
export const decisionReason = (
  { facts, quality, ranked: [{ model: choice }], ladder }: Pick<Decision, 'facts' | 'quality' | 'ranked' | 'ladder'>,
  snapshot: PolicySnapshot,
): string | null => (ladder ? choiceReason({ facts, quality, choice, ladder }, snapshot) : null);

function clauses(reason: Reason): string[] {
  const { by, tier, choice, first } = reason;
  const { limit, stepCost } = reason.ladder;
  const better = `${choice.id} is better than ${first.id} (${qualityOf(choice, first)} instead of ${qualityOf(first, choice)})`;
  switch (by) {
    case 'first':
      return [
        `${orderClause(reason)}${stepCost === null ? '' : `, and no better one costs at most ${stepCost} times as much`}`,
      ];
    case 'stated':
      return [`${choice.id} is the first model of the list \`${tier}\` that can serve the request`];
    case 'step':
      return [`${better} and costs at most ${stepCost} times as much, step by step`, orderClause(reason)];
    case 'dominates':
      return [
        `${choice.id} is no worse than ${first.id} in quality, cost and time for this request, and better in one`,
        orderClause(reason),
      ];
    case 'limit':
      return [
        `${choice.id} is the choice of \`${limit?.selector}\` and ${limit?.by === 'latency' ? 'is faster' : 'costs less'} for this request than ${first.id}`,
        orderClause(reason),
      ];
    case 'usual':
      return [`${better} and serves usual requests, too`, orderClause(reason)];
    case 'escalated':
      return [better];
  }
}

function orderClause({ tier, first, best, ladder: { reason, margins } }: Reason): string {
  const quality =
    first.id === best.id ? qualityOf(first, first) : `${qualityOf(first, best)} of ${qualityOf(best, first)}`;
  return `${first.id} ${reason} within ${figure(margins[tier])} of the best quality (${quality})`;
}

/** Formats a quality. If it counts less, and not by as much as the quality that it is compared with, the text says as what it counts. */
function qualityOf({ share, counted }: ReasonModel, other: ReasonModel): string {
  const isMoved = Math.abs(share - counted - (other.share - other.counted)) > 1e-9;
  return isMoved && share !== counted ? `${figure(share)}, counted as ${figure(counted)}` : figure(share);
}

/** Rounds to a thousandth. */
const figure = (value: number): string => `${Math.round(value * 1000) / 1000}`;
