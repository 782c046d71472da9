import {
  type Decision,
  type Ranked,
  REJECTION_GROUPS,
  REJECTIONS,
  type Refusal,
  type RejectionGroup,
} from '../core/decision.ts';
import type { Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import type { ExplorePolicy } from '../core/learning-policy.ts';
import { priorReadings, type Readings } from '../core/readings.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { Evaluation, type RankingOptions } from './evaluate.ts';

/** What a decision needs beside the facts: who scores, and what names and seeds it. */
export interface DecisionContext extends RankingOptions {
  readonly id: number;
  readonly seed: string;
  /** `route_reason`, before what a draw appends. */
  readonly reason: string;
  /** What has been seen of the upstreams; left out: nothing, and the catalog's figures hold. */
  readonly readings?: Readings;
  /** What the declared qualities were found to be for this request; left out: they are as declared. */
  readonly estimate?: Estimate | null;
  /** Another than the best may be drawn, by the seed; left out: never. */
  readonly explore?: ExplorePolicy | null;
  /** Told when the shortlist stands and the scoring begins: for who takes the time. */
  readonly onShortlist?: () => void;
}

export interface Decider {
  /** Pure: the same facts and circumstances, readings included, give the same answer, bit for bit. */
  decide(facts: Facts, given: DecisionContext): Decision | Refusal;
  /** Times that a strategy threw or gave no usable score; the choice then went by Q, C, L and ID. */
  readonly faults: number;
  /** Of the last decision: how many models each kind of rejection had something against, in the order of `REJECTIONS`. */
  readonly rejections: Uint32Array;
}

export const isRefusal = (outcome: Decision | Refusal): outcome is Refusal => 'rejected' in outcome;

/** Prepares what every decision over a snapshot reuses. */
export const createDecider = (snapshot: PolicySnapshot): Decider => new SnapshotDecider(snapshot);

/** What there is against every model, where none is eligible. */
export function refusalOf(facts: Facts, readings: Readings, rejected: Refusal['rejected']): Refusal {
  return { group: decisiveGroup(rejected), facts, readings, rejected };
}

class SnapshotDecider implements Decider {
  faults = 0;
  readonly rejections = new Uint32Array(Object.keys(REJECTIONS).length);
  readonly #snapshot: PolicySnapshot;
  readonly #evaluation: Evaluation;
  readonly #prior: Readings;

  constructor(snapshot: PolicySnapshot) {
    this.#snapshot = snapshot;
    this.#evaluation = new Evaluation(snapshot);
    this.#prior = priorReadings(snapshot);
  }

  decide(facts: Facts, given: DecisionContext): Decision | Refusal {
    const { id, seed, readings = this.#prior, estimate = null, onShortlist } = given;
    const { shortlist } = this.#evaluation;
    const quality = this.#evaluation.fill(facts, readings, estimate);
    // Before the last resorts fill it anew.
    this.rejections.set(shortlist.rejections);
    onShortlist?.();
    if (shortlist.n === 0) return refusalOf(facts, readings, shortlist.rejected);
    const { faulty, reason, draw } = this.#evaluation.choose(facts, given, 1 + this.#snapshot.gateway.alternatives);
    if (faulty) this.faults++;
    const [choice, ...fallbacks] = this.#ranked(facts);
    if (!choice) throw new Error('ranking lost every candidate');
    return {
      id,
      seed,
      revision: this.#snapshot.revision,
      facts,
      readings,
      reason,
      ranked: [choice, ...fallbacks],
      eligible: shortlist.n,
      quality,
      estimate,
      draw,
      baseline: this.#evaluation.baseline(facts),
      // Asked last: it fills the shortlist anew.
      lastResorts: shortlist.hasEjected ? this.#lastResorts(facts, given, choice.model) : [],
    };
  }

  /**
   * What the shortlist left out for its breakers, scored among themselves: they must not move who is well. As many
   * models as there may be fallbacks; without any, the choice's own endpoints alone.
   */
  #lastResorts(facts: Facts, scoring: RankingOptions, own: number): Ranked[] {
    const { alternatives } = this.#snapshot.gateway;
    const { shortlist } = this.#evaluation;
    shortlist.refillWithEjected();
    this.#evaluation.rank(facts, scoring, alternatives === 0 ? shortlist.n : alternatives);
    const resorts: Ranked[] = [];
    for (const ranked of this.#ranked(facts)) {
      if (alternatives === 0 && ranked.model !== own) continue;
      const endpoints = ranked.endpoints.filter((one) => shortlist.isEjected(ranked.model, one));
      if (endpoints.length > 0) resorts.push({ ...ranked, endpoints });
    }
    return resorts;
  }

  #ranked(facts: Facts): Ranked[] {
    return this.#evaluation.order.map((at) => this.#evaluation.rankedAt(at, facts));
  }
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
