import {
  type Decision,
  type RankedModel,
  REJECTION_GROUPS,
  REJECTIONS,
  type Refusal,
  type RejectionGroup,
} from '../core/decision.ts';
import type { Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import { priorReadings, type Readings } from '../core/readings.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { type ChoiceOptions, Evaluation, type RankingOptions } from './evaluate.ts';

/** The inputs of a decision beside the facts. */
export interface DecisionContext extends ChoiceOptions {
  readonly id: number;
  /** Default: the catalog's figures. */
  readonly readings?: Readings;
  /** Qualities corrected for this request. Default: the declared ones. */
  readonly estimate?: Estimate | null;
  /** Called between shortlisting and scoring, for timing. */
  readonly onShortlist?: () => void;
}

export const isRefusal = (outcome: Decision | Refusal): outcome is Refusal => 'rejected' in outcome;

/** Allocates the arrays that all decisions over a snapshot reuse. */
export const createDecider = (snapshot: PolicySnapshot): Decider => new Decider(snapshot);

export function refusalOf(facts: Facts, readings: Readings, rejected: Refusal['rejected']): Refusal {
  return { group: decisiveGroup(rejected), facts, readings, rejected };
}

/** Decides over one snapshot. */
export class Decider {
  /** Times that a strategy threw or gave no usable score, so that Q, C, L and ID decided. */
  faults = 0;
  /** Models rejected in the last decision, by kind, in the order of `REJECTIONS`. */
  rejections: ArrayLike<number> = [];
  readonly #snapshot: PolicySnapshot;
  readonly #evaluation: Evaluation;
  #prior: Readings | null = null;
  /** Whether the last decision had none but ejected endpoints. */
  #isLastResort = false;

  constructor(snapshot: PolicySnapshot) {
    this.#snapshot = snapshot;
    this.#evaluation = new Evaluation(snapshot);
  }

  /**
   * Pure: the same facts and context give the same result, bit for bit. Where no healthy model can read the thoughts of the
   * tool calls under way, the decision is that without them, and so are its facts.
   */
  decide(facts: Facts, context: DecisionContext): Decision | Refusal {
    if (facts.readers === undefined) return this.#decide(facts, context);
    const { readers, ...others } = facts;
    const read = this.#decide(facts, context);
    if (isRefusal(read) || this.#isLastResort) return this.#decide(others, context);
    return { ...read, lastResorts: [...read.lastResorts, ...this.#unreading(others, context, readers)] };
  }

  get #declared(): Readings {
    this.#prior ??= priorReadings(this.#snapshot);
    return this.#prior;
  }

  #decide(facts: Facts, context: DecisionContext): Decision | Refusal {
    const { id, seed, readings = this.#declared, estimate = null, onShortlist } = context;
    const { shortlist } = this.#evaluation;
    const quality = this.#evaluation.fill(facts, readings, estimate);
    this.rejections = shortlist.rejections;
    this.#isLastResort = shortlist.isLastResort;
    onShortlist?.();
    if (shortlist.n === 0) return refusalOf(facts, readings, shortlist.rejected);
    const { faulty, reason, draw } = this.#evaluation.choose(facts, context, 1 + this.#snapshot.gateway.alternatives);
    if (faulty) this.faults++;
    const ranked = this.#ranked(facts);
    if (!hasChoice(ranked)) throw new Error('ranking lost every candidate');
    return {
      id,
      seed,
      revision: this.#snapshot.revision,
      facts,
      readings,
      reason,
      ranked,
      eligible: shortlist.n,
      quality,
      estimate,
      draw,
      baseline: this.#evaluation.baseline(facts),
      // Called last: it overwrites the shortlist.
      lastResorts: shortlist.hasEjected ? this.#lastResorts(facts, context, ranked[0].model) : NO_RESORTS,
    };
  }

  /**
   * Ranks ejected endpoints among themselves, so that they do not affect the ranking of healthy ones. Returns at most as
   * many models as there may be fallbacks; where there may be none, only endpoints of the choice.
   */
  #lastResorts(facts: Facts, options: RankingOptions, own: number): RankedModel[] {
    const { alternatives } = this.#snapshot.gateway;
    const { shortlist } = this.#evaluation;
    shortlist.refillWithEjected();
    this.#evaluation.rank(facts, options, alternatives === 0 ? shortlist.n : alternatives);
    const resorts: RankedModel[] = [];
    for (const ranked of this.#ranked(facts)) {
      if (alternatives === 0 && ranked.model !== own) continue;
      const endpoints = ranked.endpoints.filter((one) => shortlist.isEjected(ranked.model, one));
      if (endpoints.length > 0) resorts.push({ ...ranked, endpoints });
    }
    return resorts;
  }

  /** The models that would lose thoughts, as the decision without them has them: its ranked ones, then its last resorts. */
  #unreading(facts: Facts, context: DecisionContext, readers: readonly string[]): RankedModel[] {
    const { models, gateway } = this.#snapshot;
    if (gateway.alternatives === 0) return [];
    const { rejections } = this;
    const open = this.#decide(facts, { ...context, explore: null, onShortlist: undefined });
    this.rejections = rejections;
    const all = isRefusal(open) ? [] : [...open.ranked, ...open.lastResorts];
    return all.filter(({ model }) => !readers.includes(models[model]!.id));
  }

  #ranked(facts: Facts): RankedModel[] {
    const ranked: RankedModel[] = [];
    for (const at of this.#evaluation.order) ranked.push(this.#evaluation.rankedAt(at, facts));
    return ranked;
  }
}

const NO_RESORTS: readonly RankedModel[] = [];

const hasChoice = (ranked: readonly RankedModel[]): ranked is Decision['ranked'] => ranked.length > 0;

/** The group that decides the status: rejections are lifted group by group, and this one leaves a model. */
function decisiveGroup(rejected: Refusal['rejected']): RejectionGroup {
  let lifted = 0;
  for (const group of REJECTION_GROUPS) {
    for (const rule of Object.values(REJECTIONS)) if (rule.group === group) lifted |= rule.bit;
    if (rejected.some(({ rejections }) => (rejections & ~lifted) === 0)) return group;
  }
  return 'constraints';
}
