import type { CallerWeights, Candidates, PreparedStrategy } from '../contract/strategy.ts';
import type { Ranked } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Readings } from '../core/readings.ts';
import { hasBit } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { costReference, dearestCase } from './estimate.ts';
import { selectTop } from './rank.ts';
import { Shortlist } from './shortlist.ts';

/**
 * Steps 4 to 6 of one request after the other: who is eligible, with what estimates, in which order. Whoever decides,
 * or tells why it was decided so, asks here. The arrays are made once per snapshot.
 */
export class Evaluation {
  readonly shortlist: Shortlist;
  /** Of the candidates on the shortlist, by their positions; rounded as they were ranked. */
  readonly utility: Float64Array;
  /** Positions on the shortlist, best first, as `rank` left them. */
  readonly order: number[] = [];
  readonly #snapshot: PolicySnapshot;
  /** By task, then by model. */
  readonly #qualities: readonly Float64Array[];

  constructor(snapshot: PolicySnapshot) {
    const { models, tasks } = snapshot;
    this.#snapshot = snapshot;
    this.shortlist = new Shortlist(snapshot);
    this.utility = new Float64Array(models.length);
    this.#qualities = tasks.map((_, at) => Float64Array.from(models, (model) => model.quality[at]!));
  }

  /** Fills the shortlist. Returns Q of every model of the snapshot, preferences included. */
  fill(facts: Facts, readings: Readings): Float64Array {
    const taskAt = this.#snapshot.taskIndex.get(facts.task) ?? 0;
    const quality = withPreferences(this.#qualityFor(facts, taskAt), facts, this.#snapshot);
    this.shortlist.fill(facts, this.#snapshot.tasks[taskAt]!, quality, readings);
    return quality;
  }

  /** What a strategy sees of the shortlist. */
  candidates(facts: Facts): Candidates {
    const { n, quality, cost, latency } = this.shortlist;
    return { n, quality, cost, latency, costReference: costReference(this.#snapshot, facts) };
  }

  /** Puts the best of the shortlist into `order`, at most so many. `faulty`: without any usable score. */
  rank(facts: Facts, strategy: PreparedStrategy, most: number): { faulty: boolean } {
    const candidates = this.candidates(facts);
    score(strategy, candidates, facts, this.utility);
    return selectTop(candidates, this.utility, most, this.order);
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

  /** Declared quality by model: the task's, or the mean by shares where it is uncertain. */
  #qualityFor({ mix }: Facts, taskAt: number): Float64Array {
    if (mix.length === 0) return this.#qualities[taskAt]!;
    const mean = new Float64Array(this.#snapshot.models.length);
    for (const { task, share } of mix) {
      const quality = this.#qualities[this.#snapshot.taskIndex.get(task) ?? 0]!;
      for (let i = 0; i < mean.length; i++) mean[i]! += share * quality[i]!;
    }
    return mean;
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

/** The qualities as the active preferences let them count, within 0..1. The same array when none is active. */
function withPreferences(quality: Float64Array, { rules }: Facts, { preferences }: PolicySnapshot): Float64Array {
  if (rules.preferences.length === 0) return quality;
  return quality.map((own, model) => {
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
