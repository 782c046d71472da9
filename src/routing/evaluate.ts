import type { CallerWeights, Candidates, PreparedStrategy } from '../contract/strategy.ts';
import type { Ranked } from '../core/decision.ts';
import { declaredByTask, declaredFor } from '../core/declared.ts';
import type { Draw, Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import { addWorth } from '../core/language-support.ts';
import type { ExplorePolicy } from '../core/learning-policy.ts';
import type { Readings } from '../core/readings.ts';
import { hasBit } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { CODE_TASKS } from '../core/tasks.ts';
import { atDifficulty } from './difficulty.ts';
import { costReference, dearestCase } from './estimate.ts';
import { drawnBy } from './explore.ts';
import { holdToFloor, selectTop } from './rank.ts';
import { Shortlist } from './shortlist.ts';

/** Who scores, and the least quality that is wanted. */
export interface RankingOptions {
  readonly strategy: PreparedStrategy;
  /** 0..1; left out: the strategy's own. A caller's weights are held to the one of the selector. */
  readonly qualityFloor?: number;
}

/** How a ranking came out. */
interface RankingFlags {
  /** Whether there was no usable score. */
  readonly faulty: boolean;
  /** Whether no candidate reaches the least quality. */
  readonly belowFloor: boolean;
}

/** What a choice depends on, beside the shortlist. */
interface Choosing extends RankingOptions {
  readonly seed: string;
  readonly reason: string;
  readonly explore?: ExplorePolicy | null;
}

/** How the first of the order came to be the first. */
interface Chosen extends RankingFlags {
  /** `route_reason`. */
  readonly reason: string;
  /** Null where none took place. */
  readonly draw: Draw | null;
  /** Position of the best by utility. */
  readonly best: number;
}

/**
 * Steps 4 to 6 of one request after the other: who is eligible, with what estimates, in which order. Whoever decides,
 * or tells why it was decided so, asks here. The arrays are made once per snapshot.
 */
export class Evaluation {
  readonly shortlist: Shortlist;
  /** Of the candidates on the shortlist, by their positions; rounded as they were ranked. */
  readonly utility: Float64Array;
  /** Positions on the shortlist, best first, as `rank` left them; with whom `choose` drew before all. */
  readonly order: number[] = [];
  readonly #snapshot: PolicySnapshot;
  /** Declared qualities by task, then by model. */
  readonly #byTask: readonly Float64Array[];

  constructor(snapshot: PolicySnapshot) {
    this.#snapshot = snapshot;
    this.shortlist = new Shortlist(snapshot);
    this.utility = new Float64Array(snapshot.models.length);
    this.#byTask = declaredByTask(snapshot);
  }

  /**
   * Fills the shortlist. Returns Q of every model of the snapshot: the estimated, or without an estimate the declared, as the
   * request's difficulty has it, languages and preferences included.
   */
  fill(facts: Facts, readings: Readings, estimate: Estimate | null): Float64Array {
    const taskAt = this.#snapshot.taskIndex.get(facts.task) ?? 0;
    const own = estimate === null ? this.declared(facts) : this.#estimated(estimate);
    const quality = withWorths(atDifficulty(own, facts.difficulty), facts, this.#snapshot);
    this.shortlist.fill(facts, this.#snapshot.tasks[taskAt]!, quality, readings);
    return quality;
  }

  /** Declared quality by model: the task's, or the mean by shares where it is uncertain. */
  declared(facts: Facts): Float64Array {
    return declaredFor(facts, this.#snapshot, this.#byTask);
  }

  #estimated({ quality }: Estimate): Float64Array {
    const { length } = this.#snapshot.models;
    if (quality.length !== length)
      throw new Error(`an estimate of ${quality.length} models, where there are ${length}`);
    return quality;
  }

  /** What a strategy sees of the shortlist. */
  candidates(facts: Facts): Candidates {
    const { n, quality, cost, latency } = this.shortlist;
    return { n, quality, cost, latency, costReference: costReference(this.#snapshot, facts) };
  }

  /** Puts the best of the shortlist into `order`, at most so many. */
  rank(facts: Facts, { strategy, qualityFloor = strategy.qualityFloor }: RankingOptions, most: number): RankingFlags {
    const candidates = this.candidates(facts);
    score(strategy, candidates, facts, this.utility);
    const belowFloor = qualityFloor !== undefined && !holdToFloor(candidates, this.utility, qualityFloor);
    const { faulty } = selectTop(candidates, this.utility, most, this.order, strategy.tieBreak);
    return { faulty, belowFloor };
  }

  /**
   * Ranks, and lets the seed draw where others than the best are tried: whom it draws goes before the rest, who keep
   * their order and their number. Where nothing could be scored nothing is drawn: all would be alike. While the
   * shortlist has a model.
   */
  choose(facts: Facts, { seed, reason: by, explore = null, ...scoring }: Choosing, most: number): Chosen {
    const { faulty, belowFloor } = this.rank(facts, scoring, most);
    const { order, shortlist, utility } = this;
    const best = order[0]!;
    const reason = belowFloor ? `${by}:below-floor` : by;
    const isDrawn = explore !== null && !faulty && !belowFloor;
    const drawn = isDrawn ? drawnBy(seed, explore, shortlist, utility, best) : null;
    if (drawn === null) return { faulty, belowFloor, reason, draw: null, best };
    const { at, probability, among } = drawn;
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

  /** A candidate of the shortlist as it was ranked. */
  rankedAt(at: number, facts: Facts): Ranked {
    const { model: indexes, quality, cost, latency, cap, endpoints: allowed } = this.shortlist;
    const model = indexes[at]!;
    const outputCap = cap[at]!;
    const endpoints = allowed[at]!;
    return {
      model,
      quality: quality[at]!,
      costCredits: cost[at]!,
      latencyMs: latency[at]!,
      utility: this.utility[at]!,
      outputCap,
      endpoints,
      bound: dearestCase(this.#snapshot.models[model]!, endpoints, facts, outputCap),
    };
  }

  /** Index of the model that savings are measured against, while the shortlist has a model. */
  baseline({ pinned }: Facts): number {
    const { model } = this.shortlist;
    return pinned ? model[0]! : (this.#snapshot.baseline ?? model[bestOf(this.shortlist)]!);
  }
}

/** Lets the strategy write its utilities; a throw leaves none that can be used, nor does what it forgets to write. */
function score(strategy: PreparedStrategy, candidates: Candidates, facts: Facts, utility: Float64Array): void {
  utility.fill(Number.NaN, 0, candidates.n);
  try {
    strategy.score(candidates, utility, callerWeights(facts));
  } catch {
    utility.fill(Number.NaN, 0, candidates.n);
  }
}

/** The weights of the request as a strategy sees them; undefined without any. */
export function callerWeights({ weights }: Facts): CallerWeights | undefined {
  if (weights === null) return undefined;
  const { cost, quality } = weights;
  // By the largest first, then by the sum: only the weights' ratio counts, and no sum can overflow.
  const largest = Math.max(cost, quality);
  const sum = cost / largest + quality / largest;
  return { cost: cost / largest / sum, quality: quality / largest / sum };
}

/**
 * The most that the languages of a request add to the quality of a model: 0 where they do not matter to its task, or the
 * models are alike in them, for nothing is said of any.
 */
export function languageWorth({ task, mix, languagesSeen }: Facts, snapshot: PolicySnapshot): number {
  const { languageWorth: worth, languages } = snapshot;
  if (languagesSeen.length === 0 || worth === 0 || !languagesSeen.some((name) => languages.byName.has(name))) return 0;
  if (mix.length === 0) return CODE_TASKS.has(task) ? worth : 0;
  let share = 0;
  for (const one of mix) if (CODE_TASKS.has(one.task)) share += one.share;
  return worth * share;
}

/**
 * The qualities as the languages of the request and the active preferences let them count, within 0..1. The same array
 * where there is neither.
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
  return counted.map((own, model) => {
    let sum = own;
    for (const at of rules.preferences) {
      const { prefers, worth } = preferences[at]!;
      if (hasBit(prefers, model)) sum += worth;
    }
    return Math.min(1, Math.max(0, sum));
  });
}

/** Position of the eligible model of the best quality; the cheapest of equals. */
function bestOf({ n, quality, cost }: Shortlist): number {
  let best = 0;
  for (let i = 1; i < n; i++) {
    if (quality[i]! > quality[best]! || (quality[i] === quality[best] && cost[i]! < cost[best]!)) best = i;
  }
  return best;
}
