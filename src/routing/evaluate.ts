import type { CallerWeights, Candidates, PreparedStrategy } from '../contract/strategy.ts';
import type { RankedModel } from '../core/decision.ts';
import { declaredByTask, declaredFor } from '../core/declared.ts';
import type { Estimate } from '../core/estimate.ts';
import type { ExplorePolicy } from '../core/exploration.ts';
import type { Facts } from '../core/facts.ts';
import { addWorth, type Languages } from '../core/language-support.ts';
import { OPERATIONS } from '../core/operation.ts';
import type { Readings } from '../core/readings.ts';
import { hasBit } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { CODE_TASKS } from '../core/tasks.ts';
import { atDifficulty } from './difficulty-effect.ts';
import { costReference, dearestCase } from './estimate.ts';
import { referenceOutput } from './expected-length.ts';
import { drawCandidate } from './explore.ts';
import { holdToFloor, selectTop } from './rank.ts';
import { Shortlist } from './shortlist.ts';

/** How a shortlist is ranked. */
export interface RankingOptions {
  readonly strategy: PreparedStrategy;
  /** 0..1; default: the strategy's own. With a caller's weights it is the selector's. */
  readonly qualityFloor?: number;
}

export interface ChoiceOptions extends RankingOptions {
  readonly seed: string;
  /** `route_reason`, without the suffix of a draw. */
  readonly reason: string;
  /** Lets the seed draw another model than the best, to decide a drawn decision again. Default: never. */
  readonly explore?: ExplorePolicy | null;
}

/**
 * Shortlists, scores and ranks the models for one request after the other, for decisions and their certificates. The arrays
 * are allocated once per snapshot.
 */
export class Evaluation {
  readonly shortlist: Shortlist;
  /** By position on the shortlist; rounded as for the ranking. */
  readonly utility: Float64Array;
  /** Positions on the shortlist, best first; a model that `choose` drew stands before all. */
  readonly order: number[] = [];
  /** By model: the expected share of good answers, before languages and preferences. */
  shares: Float64Array = new Float64Array();
  readonly #snapshot: PolicySnapshot;
  /** Declared qualities by task, then by model. */
  readonly #byTask: readonly Float64Array[];
  /** Of the last `fill`. */
  #readings: Readings | undefined;

  constructor(snapshot: PolicySnapshot) {
    this.#snapshot = snapshot;
    this.shortlist = new Shortlist(snapshot);
    this.utility = new Float64Array(snapshot.models.length);
    this.#byTask = declaredByTask(snapshot);
  }

  /**
   * Fills the shortlist.
   *
   * @returns Q of every model of the snapshot: the estimate, else the declared quality, moved by difficulty, languages and
   *   preferences.
   * @throws Error where the estimate has another number of models than the snapshot.
   */
  fill(facts: Facts, readings: Readings, estimate: Estimate | null): Float64Array {
    const taskAt = this.#snapshot.taskIndex.get(facts.task) ?? 0;
    const own = estimate === null ? this.declared(facts) : this.#estimated(estimate);
    this.shares = atDifficulty(own, facts.difficulty);
    const quality = withWorths(this.shares, facts, this.#snapshot);
    this.#readings = readings;
    this.shortlist.fill(facts, this.#snapshot.tasks[taskAt]!, quality, readings);
    return quality;
  }

  /** Declared quality by model: the mean by shares where the task is uncertain. */
  declared(facts: Facts): Float64Array {
    return declaredFor(facts, this.#snapshot, this.#byTask);
  }

  #estimated({ quality }: Estimate): Float64Array {
    const { length } = this.#snapshot.models;
    if (quality.length !== length)
      throw new Error(`an estimate of ${quality.length} models, where there are ${length}`);
    return quality;
  }

  /** The shortlist as strategies see it. */
  candidates(facts: Facts): Candidates {
    const { n, quality, cost, latency } = this.shortlist;
    return {
      n,
      quality,
      cost,
      latency,
      costReference: costReference(this.#snapshot, facts, this.#readings),
      qualityFactor: facts.qualityFactor ?? 1,
      outputTokens: referenceOutput(facts, this.#snapshot, this.#readings),
    };
  }

  /**
   * Scores the shortlist and puts its best into `order`, at most `most` of them.
   * @returns whether the strategy gave no usable score, and whether no candidate reaches the quality floor
   */
  rank(facts: Facts, { strategy, qualityFloor = strategy.qualityFloor }: RankingOptions, most: number) {
    const candidates = this.candidates(facts);
    score(strategy, candidates, facts, this.utility);
    const belowFloor = qualityFloor !== undefined && !holdToFloor(candidates, this.utility, qualityFloor);
    const { faulty } = selectTop(candidates, this.utility, most, this.order, strategy.tieBreak);
    return { faulty, belowFloor };
  }

  /**
   * Takes the model that a request names, without a score. Otherwise ranks, then lets the seed draw a model where `explore`
   * says so. The drawn model moves to the front; the others keep their order. Without usable scores there is no draw. The
   * shortlist must not be empty.
   * @returns as `rank` does, with the `route_reason` and the position of the best by utility
   */
  choose(facts: Facts, options: ChoiceOptions, most: number) {
    const { seed, reason: by, explore = null } = options;
    if (facts.pinned) return this.#takeNamed(by);
    const { faulty, belowFloor } = this.rank(facts, options, most);
    const { order, shortlist, utility } = this;
    const best = order[0]!;
    const reason = belowFloor ? `${by}:below-floor` : by;
    const explores = explore !== null && !faulty && !belowFloor;
    const draw = explores ? drawCandidate(seed, explore, shortlist, utility, best) : null;
    if (draw === null) return { faulty, belowFloor, reason, draw: null, best };
    const { at, probability, among } = draw;
    if (at !== best) {
      const place = order.indexOf(at);
      order.splice(place < 0 ? order.length - 1 : place, 1);
      order.unshift(at);
    }
    return {
      faulty,
      belowFloor,
      reason: at === best ? reason : `${reason}:explored`,
      draw: { probability, among },
      best,
    };
  }

  #takeNamed(reason: string) {
    this.order.length = 1;
    this.order[0] = 0;
    this.utility[0] = 0;
    return { faulty: false, belowFloor: false, reason, draw: null, best: 0 };
  }

  /** The share of good answers that people are shown of a model; null where nobody states a quality. */
  shareOf(model: number): number | null {
    return this.#snapshot.models[model]!.pattern === undefined ? this.shares[model]! : null;
  }

  /** The candidate at a position of the shortlist. */
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

  /** Index of the model that savings are measured against. The shortlist must not be empty. */
  baseline({ pinned, operation }: Facts): number {
    const { model } = this.shortlist;
    if (pinned) return model[0]!;
    const { baseline: named, models } = this.#snapshot;
    const isServing = named !== null && (models[named]!.operations & OPERATIONS[operation].bit) !== 0;
    return isServing ? named : model[bestOf(this.shortlist)]!;
  }
}

/** Lets the strategy write its utilities. A throw makes all of them NaN; so is each that it does not write. */
function score(strategy: PreparedStrategy, candidates: Candidates, facts: Facts, utility: Float64Array): void {
  utility.fill(Number.NaN, 0, candidates.n);
  try {
    strategy.score(candidates, utility, callerWeights(facts));
  } catch {
    utility.fill(Number.NaN, 0, candidates.n);
  }
}

/** The caller's weights, scaled to sum to 1; undefined without any. */
export function callerWeights({ weights }: Facts): CallerWeights | undefined {
  if (weights === null) return undefined;
  const { cost, quality, latency } = weights;
  // Dividing by the largest first keeps the sum from overflowing.
  const largest = Math.max(cost, quality, latency ?? 0);
  const sum = cost / largest + quality / largest + (latency ?? 0) / largest;
  const scaled = { cost: cost / largest / sum, quality: quality / largest / sum };
  return latency === undefined ? scaled : { ...scaled, latency: latency / largest / sum };
}

/**
 * Returns the most that the languages of a request add to the quality of a model. It is 0 where the task does not depend on
 * languages, or where no model declares or lacks any of them: then all models are alike.
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
 * Returns the qualities with the worth of the request's languages and of active preferences added, within 0..1. Returns the
 * same array if there are neither.
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

/** Position of the eligible model of the best quality; the cheapest of equals. */
function bestOf({ n, quality, cost }: Shortlist): number {
  let best = 0;
  for (let i = 1; i < n; i++) {
    if (quality[i]! > quality[best]! || (quality[i] === quality[best] && cost[i]! < cost[best]!)) best = i;
  }
  return best;
}
