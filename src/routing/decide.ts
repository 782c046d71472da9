import type { CallerWeights, Candidates, PreparedStrategy } from '../contract/strategy.ts';
import {
  type Decision,
  type Ranked,
  REJECTION_GROUPS,
  REJECTIONS,
  type Refusal,
  type RejectionGroup,
} from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import { priorReadings, type Readings } from '../core/readings.ts';
import { hasBit } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { costReference, dearestCase } from './estimate.ts';
import { selectTop } from './rank.ts';
import { Shortlist } from './shortlist.ts';

/** What a decision needs beside the facts: who scores, and what names and seeds it. */
export interface Circumstances {
  readonly id: number;
  readonly seed: string;
  readonly strategy: PreparedStrategy;
  /** `route_reason`. */
  readonly reason: string;
  /** What has been seen of the upstreams; left out: nothing, and the catalog's figures hold. */
  readonly readings?: Readings;
}

export interface Decider {
  /** Pure: the same facts and circumstances, readings included, give the same answer, bit for bit. */
  decide(facts: Facts, given: Circumstances): Decision | Refusal;
  /** Times that a strategy threw or gave no usable score; the choice then went by Q, C, L and ID. */
  readonly faults: number;
}

export const isRefusal = (outcome: Decision | Refusal): outcome is Refusal => 'rejected' in outcome;

/** Prepares what every decision over a snapshot reuses. */
export const createDecider = (snapshot: PolicySnapshot): Decider => new SnapshotDecider(snapshot);

class SnapshotDecider implements Decider {
  faults = 0;
  readonly #snapshot: PolicySnapshot;
  readonly #shortlist: Shortlist;
  readonly #utility: Float64Array;
  /** By task, then by model. */
  readonly #qualities: readonly Float64Array[];
  readonly #prior: Readings;
  readonly #top: number[] = [];

  constructor(snapshot: PolicySnapshot) {
    const { models, tasks } = snapshot;
    this.#snapshot = snapshot;
    this.#shortlist = new Shortlist(snapshot);
    this.#utility = new Float64Array(models.length);
    this.#qualities = tasks.map((_, at) => Float64Array.from(models, (model) => model.quality[at]!));
    this.#prior = priorReadings(snapshot);
  }

  decide(facts: Facts, { id, seed, strategy, reason, readings = this.#prior }: Circumstances): Decision | Refusal {
    const snapshot = this.#snapshot;
    const shortlist = this.#shortlist;
    const taskAt = snapshot.taskIndex.get(facts.task) ?? 0;
    const task = snapshot.tasks[taskAt]!;
    const qualityOfAll = withPreferences(this.#qualityFor(facts, taskAt), facts, snapshot);
    shortlist.fill(facts, task, qualityOfAll, readings);
    const { rejected, n: eligible } = shortlist;
    if (eligible === 0) return { group: decisiveGroup(rejected), facts, readings, rejected };
    const reference = costReference(snapshot, facts);
    score(strategy, this.#candidates(reference), facts, this.#utility);
    const ranked = this.#best(facts, reference);
    return {
      id,
      seed,
      revision: snapshot.revision,
      facts,
      readings,
      reason,
      ranked,
      eligible,
      quality: qualityOfAll,
      baseline: facts.pinned ? ranked[0].model : (snapshot.baseline ?? bestOf(shortlist)),
      // Asked last: it fills the shortlist anew.
      lastResorts: shortlist.hasEjected ? this.#lastResorts(facts, strategy, reference, ranked[0].model) : [],
    };
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

  #candidates(costReference: number): Candidates {
    const { n, quality, cost, latency } = this.#shortlist;
    return { n, quality, cost, latency, costReference };
  }

  /** The choice and its fallbacks, by the utilities that were written. */
  #best(facts: Facts, costReference: number): [Ranked, ...Ranked[]] {
    const most = 1 + this.#snapshot.gateway.alternatives;
    const { faulty } = selectTop(this.#candidates(costReference), this.#utility, most, this.#top);
    if (faulty) this.faults++;
    const [choice, ...fallbacks] = this.#top.map((at) => this.#rankedAt(at, facts));
    if (!choice) throw new Error('ranking lost every candidate');
    return [choice, ...fallbacks];
  }

  /**
   * What the shortlist left out for its breakers, scored among themselves: they must not move who is well. As many
   * models as there may be fallbacks; without any, the choice's own endpoints alone.
   */
  #lastResorts(facts: Facts, strategy: PreparedStrategy, costReference: number, own: number): Ranked[] {
    const { alternatives } = this.#snapshot.gateway;
    const shortlist = this.#shortlist;
    shortlist.refillWithEjected();
    const candidates = this.#candidates(costReference);
    score(strategy, candidates, facts, this.#utility);
    selectTop(candidates, this.#utility, alternatives === 0 ? candidates.n : alternatives, this.#top);
    const resorts: Ranked[] = [];
    for (const at of this.#top) {
      if (alternatives === 0 && shortlist.model[at] !== own) continue;
      const ranked = this.#rankedAt(at, facts);
      const endpoints = ranked.endpoints.filter((one) => shortlist.isEjected(ranked.model, one));
      if (endpoints.length > 0) resorts.push({ ...ranked, endpoints });
    }
    return resorts;
  }

  #rankedAt(at: number, facts: Facts): Ranked {
    const { model: indexes, quality, cost, latency, cap, endpoints: allowed } = this.#shortlist;
    const model = indexes[at]!;
    const outputCap = cap[at]!;
    const endpoints = allowed[at]!;
    return {
      model,
      quality: quality[at]!,
      costCredits: cost[at]!,
      latencyMs: latency[at]!,
      utility: this.#utility[at]!,
      outputCap,
      endpoints,
      bound: dearestCase(this.#snapshot.models[model]!, endpoints, facts, outputCap),
    };
  }
}

/** Lets the strategy write its utilities; a throw leaves none that can be used, nor does what it forgets to write. */
function score(strategy: PreparedStrategy, candidates: Candidates, facts: Facts, utility: Float64Array): void {
  utility.fill(Number.NaN, 0, candidates.n);
  try {
    strategy.score(candidates, utility, facts.weights === null ? undefined : normalised(facts.weights));
  } catch {
    utility.fill(Number.NaN, 0, candidates.n);
  }
}

/** By the largest first, then by the sum: only the weights' ratio counts, and no sum can overflow. */
function normalised({ cost, quality }: { cost: number; quality: number }): CallerWeights {
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

/** The eligible model of the best quality; the cheapest of equals. */
function bestOf({ n, model, quality, cost }: Shortlist): number {
  let best = 0;
  for (let i = 1; i < n; i++) {
    if (quality[i]! > quality[best]! || (quality[i] === quality[best] && cost[i]! < cost[best]!)) best = i;
  }
  return model[best]!;
}

/** Takes rejections away group by group until a model remains; the last group taken is the one to answer for. */
function decisiveGroup(rejected: Refusal['rejected']): RejectionGroup {
  let taken = 0;
  for (const group of REJECTION_GROUPS) {
    for (const rule of Object.values(REJECTIONS)) if (rule.group === group) taken |= rule.bit;
    if (rejected.some(({ rejections }) => (rejections & ~taken) === 0)) return group;
  }
  return 'constraints';
}
