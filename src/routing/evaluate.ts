import type { CallerWeights, Candidates, PreparedStrategy } from '../contract/strategy.ts';
import { fallbackReason, type InsteadOf, type RankedModel } from '../core/decision/decision.ts';
import type { Readings } from '../core/decision/readings.ts';
import { OPERATIONS } from '../core/kinds/operations.ts';
import { type Qualities, qualitiesOf } from '../core/policy/counted-quality.ts';
import { hasBit } from '../core/policy/rules.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import type { Ladder, LadderReason, LadderStep, TierName } from '../core/request/tiers.ts';
import { costReference, dearestCase } from './estimate.ts';
import { bestAt, escalated, type LadderChoice, laddered, writeUtilities } from './ladder.ts';
import { absentInstead } from './model-name.ts';
import { selectTop } from './rank.ts';
import { leftOut } from './rejections.ts';
import { Shortlist } from './shortlist.ts';
import { type AppliedTier, tierOf } from './tiers.ts';

/** How requests are scored that no ladder decides. */
export interface ChoiceOptions {
  readonly strategy: PreparedStrategy;
  /** The value of `route_reason`. */
  readonly reason: string;
}

/** How a ladder chose a model. */
export interface AppliedLadder extends AppliedTier {
  readonly ladder: Ladder;
  readonly choice: LadderChoice;
  /** The tier that the conversation began with. */
  readonly began: TierName;
  /** The position of the eligible model of the best quality. */
  readonly best: number;
}

/** How a model was chosen. */
interface Choice {
  /** Whether the strategy gave no usable score. */
  readonly faulty: boolean;
  readonly reason: string;
  /** Null if no ladder chose the model. */
  readonly applied: AppliedLadder | null;
  /** The model that the request names, if it was left out; absent otherwise. */
  readonly insteadOf?: InsteadOf;
}

/**
 * Shortlists and ranks the models for one request at a time, for decisions and their explanations. The arrays of an evaluation are allocated
 * once per snapshot.
 */
export class Evaluation {
  readonly shortlist: Shortlist;
  /** Utilities by position on the shortlist, rounded as the ranking rounds them; 0 for models that a ladder or the request orders. */
  readonly utility: Float64Array;
  /** Positions on the shortlist from best to worst. */
  readonly order: number[] = [];
  /** The expected share of good answers by model, before preferences. */
  shares: Float64Array;
  readonly #snapshot: PolicySnapshot;
  readonly #typical: Qualities;
  /** The qualities by index of the task, for requests that state their task. */
  readonly #byTask = new Map<number, Qualities>();
  /** The readings of the last `fill`. */
  #readings: Readings | undefined;

  constructor(snapshot: PolicySnapshot) {
    this.#snapshot = snapshot;
    this.shortlist = new Shortlist(snapshot);
    this.utility = new Float64Array(snapshot.models.length);
    this.#typical = qualitiesOf(snapshot, null);
    this.shares = this.#typical.shares;
  }

  /**
   * Fills the shortlist.
   *
   * @returns Q of every model of the snapshot: the declared quality as a choice counts it, with the worth of preferences
   */
  fill(facts: Facts, readings: Readings): Float64Array {
    const taskAt = this.#snapshot.taskIndex.get(facts.task) ?? 0;
    const { shares, counted } = facts.isTaskStated ? this.#ofTask(taskAt) : this.#typical;
    const quality = withPreferences(counted, facts, this.#snapshot);
    this.shares = shares;
    this.#readings = readings;
    this.shortlist.fill(facts, this.#snapshot.tasks[taskAt]!, quality, readings);
    return quality;
  }

  #ofTask(task: number): Qualities {
    const known = this.#byTask.get(task) ?? qualitiesOf(this.#snapshot, task);
    this.#byTask.set(task, known);
    return known;
  }

  /** Returns the shortlist in the form that strategies receive. */
  candidates(facts: Facts): Candidates {
    const { n, quality, cost, latency } = this.shortlist;
    return { n, quality, cost, latency, reference: costReference(this.#snapshot, facts, this.#readings) };
  }

  /**
   * Scores the shortlist and writes its best positions to `order`, at most `most` positions. Named models keep their order.
   * @returns whether the strategy gave no usable score
   */
  rank(facts: Facts, { strategy }: ChoiceOptions, most: number): boolean {
    const candidates = this.candidates(facts);
    score(strategy, candidates, facts, this.utility);
    const { faulty } = selectTop(candidates, this.utility, most, this.order);
    if (this.#isOrdered(facts)) this.#keepNamed();
    return faulty;
  }

  /**
   * Chooses the first model that the request names, or the model that the ladder of the selector gives. A selector without a ladder, and a
   * caller's own weights, score the shortlist. The shortlist must not be empty when `choose` is called.
   */
  choose(facts: Facts, options: ChoiceOptions, most: number): Choice {
    const { reason } = options;
    if (this.#isOrdered(facts)) return this.#takeNamed(facts, reason);
    const ladder = facts.weights === null ? this.#snapshot.selectors.get(facts.model)?.ladder : undefined;
    const applied = ladder && this.#climb(ladder, facts, most);
    if (applied) return { faulty: false, reason: `${facts.model}:${applied.name}`, applied };
    return { faulty: this.rank(facts, options, most), reason, applied: null };
  }

  #climb(ladder: Ladder, facts: Facts, most: number): AppliedLadder | null {
    const { shortlist } = this;
    const tier = tierOf(facts);
    const limiting = this.#limiting(ladder);
    const isEscalated = tier.why === 'escalated';
    const began = isEscalated ? facts.tier!.name : tier.name;
    const best = bestAt(ladder, shortlist);
    let choice = laddered(ladder, limiting, began, shortlist, best);
    if (choice === null) return null;
    if (isEscalated) {
      const at = escalated(ladder, limiting, shortlist, choice.at, best);
      if (at >= 0) choice = { at, by: 'escalated', before: choice };
    }
    const { utility } = this;
    writeUtilities(ladder, tier.name, shortlist, choice.at, best, utility);
    selectTop(shortlist, utility, most, this.order);
    // A model that the strategy ruled out when the policy was built has -Infinity.
    for (let i = 0; i < shortlist.n; i++) if (utility[i] !== Number.NEGATIVE_INFINITY) utility[i] = 0;
    return { ...tier, ladder, choice, began, best };
  }

  /** Returns why a ladder gave its choice. Call it before the shortlist is filled again. */
  reasonOf({ why, choice, began, best }: AppliedLadder): LadderReason {
    const { model } = this.shortlist;
    const steps: LadderStep[] = [];
    for (let step: LadderChoice | null = choice; step !== null; step = step.before)
      steps.push({ by: step.by, model: model[step.at]! });
    return { why, began, steps, best: model[best]! };
  }

  #limiting({ limit }: Ladder): Ladder | null {
    return (limit && this.#snapshot.selectors.get(limit.selector)?.ladder) ?? null;
  }

  /** Whether the order of the shortlist is the order in which its models are tried. */
  #isOrdered({ named }: Facts): boolean {
    return named !== null || this.shortlist.isListed;
  }

  #takeNamed(facts: Facts, reason: string): Choice {
    this.keepOrder();
    const insteadOf = facts.fallbacks && this.#insteadOf(facts);
    if (!insteadOf) return { faulty: false, reason, applied: null };
    return { faulty: false, reason: fallbackReason(reason), applied: null, insteadOf };
  }

  /** Returns the model that the request names, if it is not the first model of the shortlist. */
  #insteadOf(facts: Facts): InsteadOf | undefined {
    const { shortlist } = this;
    const { models, modelIndex } = this.#snapshot;
    if (facts.named === null) return undefined;
    const absent = absentInstead(facts, this.#snapshot);
    if (absent) return absent;
    const first = modelIndex.get(facts.model);
    const left = shortlist.rejected.find(({ model }) => model === first);
    if (first === undefined || !left) return undefined;
    const inputs = { facts, readings: this.#readings!, snapshot: this.#snapshot, lastResort: shortlist.isLastResort };
    return leftOut(models[first]!, left.rejections, inputs);
  }

  /** Returns the model to try in the same request if the answer of the chosen model failed; undefined for none. Call `choose` before. */
  second(facts: Facts, { ladder, best }: AppliedLadder): RankedModel | undefined {
    const [chosen] = this.order;
    const at = escalated(ladder, this.#limiting(ladder), this.shortlist, chosen!, best);
    return at < 0 ? undefined : this.rankedAt(at, facts);
  }

  /** Ranks the models in the order of the shortlist, without a score. */
  keepOrder(): void {
    this.utility.fill(0, 0, this.shortlist.n);
    this.#keepNamed();
  }

  /** Ranks named models as the request names them, which is the order of the shortlist. The strategy rules out no named model. */
  #keepNamed(): void {
    const { order, utility, shortlist } = this;
    order.length = 0;
    for (let at = 0; at < shortlist.n; at++) {
      order.push(at);
      if (utility[at] === Number.NEGATIVE_INFINITY) utility[at] = 0;
    }
  }

  /** Returns the share of good answers that people see for a model; null if no quality is stated. */
  shareOf(model: number): number | null {
    return this.shortlist.models[model]!.pattern === undefined ? this.shares[model]! : null;
  }

  /** Returns the candidate at a position of the shortlist. */
  rankedAt(at: number, facts: Facts): RankedModel {
    const { models, model: indexes, quality, cost, latency, tokens, cap, isCapped, endpoints } = this.shortlist;
    const model = indexes[at]!;
    const outputCap = cap[at]!;
    return {
      model,
      share: this.shareOf(model),
      quality: quality[at]!,
      costCredits: cost[at]!,
      latencyMs: latency[at]!,
      utility: this.utility[at]!,
      tokens: tokens[at]!,
      outputCap,
      cappedBy: isCapped[at] === 0 ? null : (facts.funds?.cap?.by ?? null),
      endpoints: endpoints[at]!,
      bound: dearestCase(models[model]!, endpoints[at]!, facts, outputCap),
    };
  }

  /** Returns the index of the model that savings are measured against. The shortlist must not be empty when `baseline` is called. */
  baseline(facts: Facts): number {
    const { operation } = facts;
    const { model } = this.shortlist;
    if (this.#isOrdered(facts)) return model[0]!;
    const { baseline: named, models } = this.#snapshot;
    const isServing = named !== null && (models[named]!.operations & OPERATIONS[operation].bit) !== 0;
    return isServing ? named : model[bestOf(this.shortlist)]!;
  }
}

/**
 * Lets the strategy write its utilities. A utility that the strategy does not write is NaN; if the strategy throws, all utilities are NaN.
 */
function score(strategy: PreparedStrategy, candidates: Candidates, facts: Facts, utility: Float64Array): void {
  utility.fill(Number.NaN, 0, candidates.n);
  try {
    strategy.score(candidates, utility, callerWeights(facts));
  } catch {
    utility.fill(Number.NaN, 0, candidates.n);
  }
}

/** Returns the caller's weights, scaled to sum to 1; undefined if the caller sent none. */
export function callerWeights({ weights }: Facts): CallerWeights | undefined {
  if (weights === null) return undefined;
  const { cost, quality, latency } = weights;
  // The division by the largest weight prevents an overflow of the sum.
  const largest = Math.max(cost, quality, latency ?? 0);
  const sum = cost / largest + quality / largest + (latency ?? 0) / largest;
  const scaled = { cost: cost / largest / sum, quality: quality / largest / sum };
  return latency === undefined ? scaled : { ...scaled, latency: latency / largest / sum };
}

/** Returns the qualities with the worth of the preferences that apply, within 0..1; the same array if none applies. */
function withPreferences(quality: Float64Array, { rules }: Facts, { preferences }: PolicySnapshot): Float64Array {
  if (rules.preferences.length === 0) return quality;
  const counted = quality.slice();
  for (const at of rules.preferences) {
    const { prefers, worth } = preferences[at]!;
    for (let model = 0; model < counted.length; model++) if (hasBit(prefers, model)) counted[model]! += worth;
  }
  for (let model = 0; model < counted.length; model++) counted[model] = Math.min(1, Math.max(0, counted[model]!));
  return counted;
}

/** Returns the position of the eligible model with the best quality, or the cheapest of several with the same quality. */
function bestOf({ n, quality, cost }: Shortlist): number {
  let best = 0;
  for (let i = 1; i < n; i++) {
    if (quality[i]! > quality[best]! || (quality[i] === quality[best] && cost[i]! < cost[best]!)) best = i;
  }
  return best;
}
