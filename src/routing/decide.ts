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
import { costReference, dearestCase, expectedOutput } from './estimate.ts';
import { selectTop } from './rank.ts';
import { Shortlist } from './shortlist.ts';

/** What a decision needs beside the facts: who scores, and what names and seeds it. */
export interface Choice {
  readonly id: number;
  readonly seed: string;
  readonly strategy: PreparedStrategy;
  /** `route_reason`. */
  readonly reason: string;
  /** What has been seen of the upstreams; left out: nothing, and the catalog's figures hold. */
  readonly readings?: Readings;
}

export interface Decider {
  /** Pure: the same facts and choice, readings included, give the same answer, bit for bit. */
  decide(facts: Facts, choice: Choice): Decision | Refusal;
  /** Times that a strategy threw or gave no usable score; the choice then went by Q, C, L and ID. */
  readonly faults: number;
}

export const isRefusal = (outcome: Decision | Refusal): outcome is Refusal => 'rejected' in outcome;

/** Prepares what every decision over a snapshot reuses. */
export function createDecider(snapshot: PolicySnapshot): Decider {
  const shortlist = new Shortlist(snapshot);
  const utility = new Float64Array(snapshot.models.length);
  const qualities = snapshot.tasks.map((_, at) => Float64Array.from(snapshot.models, (model) => model.quality[at]!));
  const prior = priorReadings(snapshot.models);
  const top: number[] = [];
  let faults = 0;

  function decide(facts: Facts, { id, seed, strategy, reason, readings = prior }: Choice): Decision | Refusal {
    const taskAt = snapshot.taskIndex.get(facts.task) ?? 0;
    const task = snapshot.tasks[taskAt]!;
    const qualityOfAll = withPreferences(qualities[taskAt]!, facts, snapshot);
    shortlist.fill(facts, task, qualityOfAll, readings);
    const { rejected } = shortlist;
    if (shortlist.n === 0) return { group: decisiveGroup(rejected), facts, readings, rejected };
    const { n, quality, cost, latency } = shortlist;
    const reference = costReference(snapshot, facts, expectedOutput(facts, task));
    const candidates: Candidates = { n, quality, cost, latency, costReference: reference };
    score(strategy, candidates, facts, utility);
    const { faulty } = selectTop(candidates, utility, 1 + snapshot.gateway.alternatives, top);
    if (faulty) faults++;
    if (top.length === 0) throw new Error('ranking lost every candidate');
    const at = top[0]!;
    const choice = rankedAt(snapshot, facts, shortlist, at, utility[at]!);
    const ranked: [Ranked, ...Ranked[]] = [choice];
    for (let i = 1; i < top.length; i++) {
      ranked.push(rankedAt(snapshot, facts, shortlist, top[i]!, utility[top[i]!]!));
    }
    return {
      id,
      seed,
      revision: snapshot.revision,
      facts,
      readings,
      reason,
      ranked,
      eligible: n,
      quality: qualityOfAll,
      baseline: facts.pinned ? choice.model : (snapshot.baseline ?? bestOf(shortlist)),
      // Asked last: it fills the shortlist anew.
      lastResorts: shortlist.hasEjected ? lastResorts(facts, strategy, reference, choice.model) : [],
    };
  }

  /**
   * What the shortlist left out for its breakers, scored among themselves: they must not move who is well. As many
   * models as there may be fallbacks; without any, the choice's own endpoints alone.
   */
  function lastResorts(facts: Facts, strategy: PreparedStrategy, costReference: number, own: number): Ranked[] {
    const { alternatives } = snapshot.gateway;
    shortlist.refillWithEjected();
    const { n, model, quality, cost, latency } = shortlist;
    const candidates: Candidates = { n, quality, cost, latency, costReference };
    score(strategy, candidates, facts, utility);
    selectTop(candidates, utility, alternatives === 0 ? n : alternatives, top);
    const resorts: Ranked[] = [];
    for (const at of top) {
      if (alternatives === 0 && model[at] !== own) continue;
      const ranked = rankedAt(snapshot, facts, shortlist, at, utility[at]!);
      const endpoints = ranked.endpoints.filter((one) => shortlist.isEjected(ranked.model, one));
      if (endpoints.length > 0) resorts.push({ ...ranked, endpoints });
    }
    return resorts;
  }

  return {
    decide,
    get faults() {
      return faults;
    },
  };
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

function rankedAt(snapshot: PolicySnapshot, facts: Facts, shortlist: Shortlist, at: number, utility: number): Ranked {
  const index = shortlist.model[at]!;
  const model = snapshot.models[index]!;
  const outputCap = shortlist.cap[at]!;
  const endpoints = shortlist.endpoints[at]!;
  return {
    model: index,
    quality: shortlist.quality[at]!,
    costCredits: shortlist.cost[at]!,
    latencyMs: shortlist.latency[at]!,
    utility,
    outputCap,
    endpoints,
    bound: dearestCase(model, endpoints, facts, outputCap),
  };
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
export function decisiveGroup(rejected: Refusal['rejected']): RejectionGroup {
  let taken = 0;
  for (const group of REJECTION_GROUPS) {
    for (const rule of Object.values(REJECTIONS)) if (rule.group === group) taken |= rule.bit;
    if (rejected.some(({ rejections }) => (rejections & ~taken) === 0)) return group;
  }
  return 'constraints';
}
