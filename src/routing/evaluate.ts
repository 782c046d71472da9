import type { CallerWeights, Candidates, PreparedStrategy } from '../contract/strategy.ts';
import { fallbackReason, type InsteadOf, type RankedModel } from '../core/decision/decision.ts';
import { allMoved, type Estimate } from '../core/decision/estimate.ts';
import type { Readings } from '../core/decision/readings.ts';
import { classed, declaredByTask, declaredFor } from '../core/policy/declared.ts';
import { hasBit } from '../core/policy/rules.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import { addWorth, type Languages } from '../core/request/language-support.ts';
import { OPERATIONS } from '../core/request/operation.ts';
import { CODE_TASKS } from '../core/request/tasks.ts';
import { atDifficulty } from './difficulty-effect.ts';
import { costReference, dearestCase } from './estimate.ts';
import { referenceOutput } from './expected-length.ts';
import { absentInstead } from './model-name.ts';
import { holdToFloor, selectTop } from './rank.ts';
import { leftOut } from './rejections.ts';
import { Shortlist } from './shortlist.ts';
import { type AppliedTiers, TierChoice, tiersFor } from './tiers.ts';

/** The options for ranking a shortlist. */
export interface RankingOptions {
  readonly strategy: PreparedStrategy;
  /**
   * The minimum quality of the chosen model, 0..1. Without `qualityFloor`, the strategy's own floor applies. If the caller sends weights,
   * `qualityFloor` is the floor of the selector.
   */
  readonly qualityFloor?: number;
}

export interface ChoiceOptions extends RankingOptions {
  /** The value of `route_reason`. */
  readonly reason: string;
}

/** How a model was chosen. */
interface Choice {
  /** Whether the strategy gave no usable score. */
  readonly faulty: boolean;
  readonly belowFloor: boolean;
  readonly reason: string;
  readonly tier: AppliedTiers | null;
  /** The model that the request names, if it was left out; absent otherwise. */
  readonly insteadOf?: InsteadOf;
}

/**
 * Shortlists, scores and ranks the models for one request at a time, for decisions and their explanations. The arrays of an evaluation are
 * allocated once per snapshot.
 */
export class Evaluation {
  readonly shortlist: Shortlist;
  /** Utilities by position on the shortlist, rounded as the ranking rounds them. */
  readonly utility: Float64Array;
  /** Positions on the shortlist from best to worst. */
  readonly order: number[] = [];
  /** The expected share of good answers by model, before languages and preferences. */
  shares: Float64Array = new Float64Array();
  readonly #snapshot: PolicySnapshot;
  /** Declared qualities, by task and then by model. */
  readonly #byTask: readonly Float64Array[];
  /** `#byTask`, with the quality of each model's class. */
  readonly #classedByTask: readonly Float64Array[];
  readonly #tiers: TierChoice;
  /** The quality to score, by position on the shortlist. */
  readonly #scored: Float64Array;
  /** The quality to score, by model. */
  #scoredByModel: Float64Array = new Float64Array();
  /** The readings of the last `fill`. */
  #readings: Readings | undefined;

  constructor(snapshot: PolicySnapshot) {
    this.#snapshot = snapshot;
    this.shortlist = new Shortlist(snapshot);
    this.utility = new Float64Array(snapshot.models.length);
    this.#byTask = declaredByTask(snapshot);
    this.#classedByTask = this.#byTask.map((all) => classed(snapshot.qualityStep, all));
    this.#tiers = new TierChoice(snapshot);
    this.#scored = new Float64Array(snapshot.models.length);
  }

  /**
   * Fills the shortlist.
   *
   * @returns Q of every model of the snapshot: the estimated or declared quality, adjusted for difficulty, languages and preferences
   * @throws Error if the estimate does not have the same number of models as the snapshot.
   */
  fill(facts: Facts, readings: Readings, estimate: Estimate | null): Float64Array {
    const taskAt = this.#snapshot.taskIndex.get(facts.task) ?? 0;
    const own = estimate === null ? this.declared(facts) : this.#estimated(estimate);
    this.shares = atDifficulty(own, facts.difficulty);
    const quality = withWorths(this.shares, facts, this.#snapshot);
    this.#scoredByModel = facts.qualityStep === undefined ? quality : this.#classed(facts, estimate);
    this.#readings = readings;
    this.shortlist.fill(facts, this.#snapshot.tasks[taskAt]!, quality, readings);
    return quality;
  }

  /**
   * Returns the declared quality by model. If the task is uncertain, the declared quality is the mean over the possible tasks, weighted by
   * their shares.
   */
  declared(facts: Facts): Float64Array {
    return declaredFor(facts, this.#snapshot, this.#byTask);
  }

  /**
   * Returns the quality to score by model. Qualities are put into classes before they are mixed, so that the shares of the possible tasks
   * cannot move a model into another class.
   */
  #classed(facts: Facts, estimate: Estimate | null): Float64Array {
    const declared = declaredFor(facts, this.#snapshot, this.#classedByTask);
    const own = estimate === null ? declared : allMoved(declared, estimate.length);
    return withWorths(atDifficulty(own, facts.difficulty), facts, this.#snapshot);
  }

  #estimated({ quality }: Estimate): Float64Array {
    const { length } = this.#snapshot.models;
    if (quality.length !== length)
      throw new Error(`the estimate has ${quality.length} models, but the snapshot has ${length}`);
    return quality;
  }

  /** Returns the shortlist in the form that strategies receive. */
  candidates(facts: Facts): Candidates {
    const { n, model, quality, cost, latency } = this.shortlist;
    for (let i = 0; i < n; i++) this.#scored[i] = this.#scoredByModel[model[i]!]!;
    return {
      n,
      quality: this.#scored,
      ...(facts.qualityStep !== undefined && { exactQuality: quality }),
      cost,
      latency,
      costReference: costReference(this.#snapshot, facts, this.#readings),
      qualityFactor: facts.qualityFactor ?? 1,
      outputTokens: referenceOutput(facts, this.#snapshot, this.#readings),
    };
  }

  /**
   * Scores the shortlist and writes its best positions to `order`, at most `most` positions. Named models keep their order.
   * @returns whether the strategy gave no usable score, and whether every candidate is below the quality floor
   */
  rank(facts: Facts, { strategy, qualityFloor = strategy.qualityFloor }: RankingOptions, most: number) {
    const candidates = this.candidates(facts);
    score(strategy, candidates, facts, this.utility);
    const belowFloor = qualityFloor !== undefined && !holdToFloor(candidates, this.utility, qualityFloor);
    const { faulty } = selectTop(candidates, this.utility, most, this.order, strategy.tieBreak);
    if (this.#isOrdered(facts)) this.#keepNamed();
    return { faulty, belowFloor };
  }

  /**
   * Chooses the first model that the request names, or the first eligible model of the request's tier, without a score. Otherwise `choose`
   * ranks the shortlist. The shortlist must not be empty when `choose` is called.
   * @returns the result of `rank`, with the `route_reason`, and the tier that decided; null if none did
   */
  choose(facts: Facts, options: ChoiceOptions, most: number): Choice {
    const { reason } = options;
    if (this.#isOrdered(facts)) return this.#takeNamed(facts, reason);
    const applied = tiersFor(facts, this.#snapshot);
    if (applied && this.#takeTier(facts, applied, options, most))
      return { faulty: false, belowFloor: false, reason: `${facts.model}:${applied.name}`, tier: applied };
    const { faulty, belowFloor } = this.rank(facts, options, most);
    return { faulty, belowFloor, reason: belowFloor ? `${reason}:below-floor` : reason, tier: null };
  }

  /** Whether the order of the shortlist is the order in which its models are tried. */
  #isOrdered({ named }: Facts): boolean {
    return named !== null || this.shortlist.isListed;
  }

  #takeNamed(facts: Facts, reason: string): Choice {
    this.keepOrder();
    const insteadOf = facts.fallbacks && this.#insteadOf(facts);
    if (!insteadOf) return { faulty: false, belowFloor: false, reason, tier: null };
    return { faulty: false, belowFloor: false, reason: fallbackReason(reason), tier: null, insteadOf };
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
  second(facts: Facts, applied: AppliedTiers, options: RankingOptions): RankedModel | undefined {
    const { shortlist, order } = this;
    const { qualityFloor = options.strategy.qualityFloor } = options;
    const at = this.#tiers.second(applied, shortlist, qualityFloor, order[0]!);
    return at < 0 ? undefined : this.rankedAt(at, facts);
  }

  /** Puts the models of the tiers first, and then ranks the rest if there is room. Returns false if no model of the tiers may be chosen. */
  #takeTier(facts: Facts, applied: AppliedTiers, options: RankingOptions, most: number): boolean {
    const { shortlist, utility, order } = this;
    const { qualityFloor = options.strategy.qualityFloor } = options;
    const first: number[] = [];
    if (!this.#tiers.take(facts.model, applied, shortlist, { floor: qualityFloor, most }, first)) return false;
    // An explanation, which wants every model, shows the scores of all.
    if (first.length < Math.min(most, shortlist.n) || most >= shortlist.n) {
      this.rank(facts, options, most);
      const rest = order.filter((at) => !first.includes(at));
      first.push(...rest);
    } else utility.fill(0, 0, shortlist.n);
    order.length = 0;
    for (let i = 0; i < first.length && i < most; i++) {
      const at = first[i]!;
      order.push(at);
      if (utility[at] === Number.NEGATIVE_INFINITY) utility[at] = 0;
    }
    return true;
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
    return this.#snapshot.models[model]!.pattern === undefined ? this.shares[model]! : null;
  }

  /** Returns the quality to score for a model. */
  scoredOf(model: number): number {
    return this.#scoredByModel[model]!;
  }

  /** Returns the candidate at a position of the shortlist. */
  rankedAt(at: number, facts: Facts): RankedModel {
    const { model: indexes, quality, cost, latency, tokens, cap, isCapped, endpoints } = this.shortlist;
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
      bound: dearestCase(this.#snapshot.models[model]!, endpoints[at]!, facts, outputCap),
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

/**
 * Returns the most that the languages of a request can add to the quality of a model. The bonus from languages is 0 if the task does not
 * depend on languages. The bonus is also 0 if no model declares or lacks any of the languages, because the bonus would be the same for all
 * models.
 */
export function languageWorth({ task, mix, languagesSeen }: Facts, snapshot: PolicySnapshot): number {
  const { languageWorth: worth, languages } = snapshot;
  if (languagesSeen.length === 0 || worth === 0 || !isAnyStated(languagesSeen, languages)) return 0;
  if (mix.length === 0) return CODE_TASKS.has(task) ? worth : 0;
  let share = 0;
  for (const one of mix) if (CODE_TASKS.has(one.task)) share += one.share;
  return worth * share;
}

const isAnyStated = (names: readonly string[], { byName }: Languages): boolean =>
  names.some((name) => byName.has(name));

/**
 * Returns the qualities with the bonuses from the request's languages and from active preferences, within 0..1. `withWorths` returns the
 * same array if there are no bonuses.
 */
function withWorths(quality: Float64Array, facts: Facts, snapshot: PolicySnapshot): Float64Array {
  const { rules, languagesSeen } = facts;
  const { preferences, languages } = snapshot;
  const ofLanguages = languageWorth(facts, snapshot);
  if (ofLanguages === 0 && rules.preferences.length === 0) return quality;
  const counted = quality.slice();
  if (ofLanguages > 0) {
    for (const name of languagesSeen) addWorth(counted, name, ofLanguages / languagesSeen.length, languages);
  }
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
