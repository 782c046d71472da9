import type { Decision, RankedModel, Refusal } from '../core/decision/decision.ts';
import { priorReadings, type Readings } from '../core/decision/readings.ts';
import { buildOf } from '../core/policy/build.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import { ANSWER_SIGNALS } from '../core/request/failure-kinds.ts';
import { listedModels } from '../core/request/fallbacks.ts';
import { decisiveGroup } from './decisive-group.ts';
import { type AppliedLadder, type ChoiceOptions, Evaluation } from './evaluate.ts';

/** The inputs of a decision other than the facts. */
export interface DecisionContext extends ChoiceOptions {
  readonly id: number;
  readonly seed: string;
  /** The health and speed of endpoints. Without `readings`, a decision uses the figures of the catalog. */
  readonly readings?: Readings;
  /** Called between shortlisting and scoring, so that the caller can measure the time of both steps. */
  readonly onShortlist?: () => void;
}

export const isRefusal = (outcome: Decision | Refusal): outcome is Refusal => 'rejected' in outcome;

/** Creates a decider, whose arrays all decisions over the snapshot reuse. */
export const createDecider = (snapshot: PolicySnapshot): Decider => new Decider(snapshot);

export function refusalOf(facts: Facts, readings: Readings, rejected: Refusal['rejected']): Refusal {
  return { group: decisiveGroup(rejected), facts, readings, rejected };
}

/** Makes decisions over one snapshot. */
export class Decider {
  /** How often a strategy threw or gave no usable score, so that quality, cost, latency and ID decided. */
  faults = 0;
  /** How many models the last decision rejected for each kind of reason, in the order of `REJECTIONS`. */
  rejections: ArrayLike<number> = [];
  readonly #snapshot: PolicySnapshot;
  readonly #evaluation: Evaluation;
  /** Whether the policy allows a second attempt after an answer that failed. */
  readonly #maySecond: boolean;
  #prior: Readings | null = null;
  /** Whether the last decision had only endpoints that a circuit breaker had ejected. */
  #isLastResort = false;

  constructor(snapshot: PolicySnapshot) {
    this.#snapshot = snapshot;
    this.#evaluation = new Evaluation(snapshot);
    const { secondAttempt, on } = snapshot.escalate;
    this.#maySecond = secondAttempt && ANSWER_SIGNALS.some((signal) => on.includes(signal));
  }

  /**
   * Decides which model serves a request. A decision is pure: the same facts and context give the same result, bit for bit. If no healthy
   * model can read the reasoning of the pending tool calls, the decision is made without that reasoning, and the facts of the decision say
   * so.
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
    const { id, seed, readings = this.#declared, onShortlist } = context;
    const { shortlist } = this.#evaluation;
    const quality = this.#evaluation.fill(facts, readings);
    this.rejections = shortlist.rejections;
    this.#isLastResort = shortlist.isLastResort;
    onShortlist?.();
    if (shortlist.n === 0) return refusalOf(facts, readings, shortlist.rejected);
    // The fallbacks that the policy or the request lists replace the next best models.
    const listed = facts.named === null && !shortlist.isListed ? facts.fallbacks : undefined;
    const alternatives = listed === undefined ? this.#snapshot.gateway.alternatives : 0;
    const { faulty, reason, applied, insteadOf } = this.#evaluation.choose(facts, context, 1 + alternatives);
    if (faulty) this.faults++;
    const ranked = this.#ranked(facts);
    if (!hasChoice(ranked)) throw new Error('ranking lost every candidate');
    const decision: WritableDecision = {
      id,
      seed,
      revision: buildOf(this.#snapshot),
      facts,
      readings,
      reason,
      tier: null,
      ranked,
      eligible: shortlist.n,
      quality,
      baseline: this.#evaluation.baseline(facts),
      lastResorts: NO_RESORTS,
    };
    if (applied) this.#addLadder(decision, applied);
    if (insteadOf) decision.insteadOf = insteadOf;
    // `#lastResorts` overwrites the shortlist, so nothing of the decision may be read from it afterwards.
    if (shortlist.hasEjected) decision.lastResorts = this.#lastResorts(facts, context, ranked[0].model, alternatives);
    return listed === undefined ? decision : this.#withListed(decision, listedModels(listed));
  }

  /** Adds why the ladder gave the choice, and the model to try if the answer of the choice fails. */
  #addLadder(decision: WritableDecision, applied: AppliedLadder): void {
    decision.tier = applied.name;
    decision.ladder = this.#evaluation.reasonOf(applied);
    const second = this.#maySecond ? this.#evaluation.second(decision.facts, applied) : undefined;
    if (second) decision.second = second;
  }

  /** Adds the listed fallbacks of a selector to a decision, each as if the request named it. */
  #withListed(decision: Decision, ids: readonly string[]): Decision {
    const { facts, ranked, lastResorts } = decision;
    const { shortlist } = this.#evaluation;
    const [choice] = ranked;
    const eligible = (): RankedModel[] => {
      this.#evaluation.keepOrder();
      return this.#ranked(facts).filter(({ model }) => model !== choice.model);
    };
    shortlist.refillListed(ids, false);
    const more = eligible();
    if (!shortlist.hasEjected) return { ...decision, ranked: [choice, ...more] };
    shortlist.refillListed(ids, true);
    const ejected = eligible().flatMap((one) => {
      const endpoints = one.endpoints.filter((at) => shortlist.isEjected(one.model, at));
      return endpoints.length > 0 ? [{ ...one, endpoints }] : [];
    });
    return { ...decision, ranked: [choice, ...more], lastResorts: [...lastResorts, ...ejected] };
  }

  /**
   * Ranks ejected endpoints among themselves, so that they do not affect the ranking of healthy endpoints. `#lastResorts` returns at most
   * as many models as the policy allows fallbacks. If the policy allows no fallback, `#lastResorts` returns only endpoints of the chosen
   * model.
   */
  #lastResorts(facts: Facts, options: ChoiceOptions, own: number, alternatives: number): RankedModel[] {
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

  /**
   * Returns the models that would lose the reasoning of earlier turns: first the ranked models of a decision without that reasoning, then
   * its last resorts.
   */
  #unreading(facts: Facts, context: DecisionContext, readers: readonly string[]): RankedModel[] {
    const { models, gateway } = this.#snapshot;
    const { fallbacks } = facts;
    if (gateway.alternatives === 0 && fallbacks === undefined) return [];
    const mayFollow = fallbacks && new Set(listedModels(fallbacks));
    const { rejections } = this;
    const open = this.#decide(facts, { ...context, onShortlist: undefined });
    this.rejections = rejections;
    const all = isRefusal(open) ? [] : [...open.ranked, ...open.lastResorts];
    return all.filter(({ model }) => {
      const { id } = models[model]!;
      return !readers.includes(id) && (mayFollow === undefined || mayFollow.has(id));
    });
  }

  #ranked(facts: Facts): RankedModel[] {
    const ranked: RankedModel[] = [];
    for (const at of this.#evaluation.order) ranked.push(this.#evaluation.rankedAt(at, facts));
    return ranked;
  }
}

/** A decision while its parts are collected. */
type WritableDecision = { -readonly [Name in keyof Decision]: Decision[Name] };

const NO_RESORTS: readonly RankedModel[] = [];

const hasChoice = (ranked: readonly RankedModel[]): ranked is Decision['ranked'] => ranked.length > 0;
