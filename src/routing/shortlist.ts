import type { Candidates } from '../contract/strategy.ts';
import { REJECTIONS, type Refusal } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import { qualifiedFor } from '../core/language-support.ts';
import type { Price, PriceLine } from '../core/price.ts';
import { HEALTH, type Readings } from '../core/readings.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { limitRejections, type RoutingRequirements, rejectionsOf } from './constrain.ts';
import {
  affordableCap,
  endpointsWithin,
  expectedCost,
  expectedLatency,
  expectedWriting,
  outputCap,
} from './estimate.ts';
import { allowedEndpoints, limitsOf, openEndpoints } from './rules.ts';

/** Where the count of each bit of a rejection stands, in the order of `REJECTIONS`. */
const PLACES = new Uint8Array(32);
for (const [at, { bit }] of Object.values(REJECTIONS).entries()) PLACES[Math.log2(bit)] = at;

/** A model with what the loop over the catalog reads most, lifted out of the frozen arrays once. */
interface Entry {
  readonly index: number;
  readonly model: Model;
  /** Every endpoint of the model. */
  readonly all: readonly number[];
  /** Bits of what the model can do at every one of them. */
  readonly everywhere: number;
  /** Of the first endpoint. */
  readonly price: Price;
  /** Its line, when it has no tiers. */
  readonly onlyLine: PriceLine | null;
}

interface Filling {
  readonly demand: RoutingRequirements;
  readonly quality: Float64Array;
  readonly readings: Readings;
}

const isEjected = ({ firstSlot }: Model, at: number, { health }: Readings): boolean =>
  health[firstSlot + at] === HEALTH.ejected;

/** C at one of the model's endpoints. */
function costAt({ model, price, onlyLine }: Entry, endpoint: number, { facts, writing }: RoutingRequirements): number {
  return endpoint === 0
    ? expectedCost(model, 0, facts, writing, price, onlyLine)
    : expectedCost(model, endpoint, facts, writing);
}

/**
 * Step 4, and the estimates of step 5: the models that may serve a request, as arrays that are made
 * once per snapshot and filled anew for each request. Deciding is synchronous, so one set is enough.
 */
export class Shortlist implements Omit<Candidates, 'costReference'> {
  /** How many models are eligible; the arrays count up to here, in the order of the models' IDs. */
  n = 0;
  /** Index in the snapshot's models. */
  readonly model: Int32Array;
  readonly quality: Float64Array;
  readonly cost: Float64Array;
  readonly latency: Float64Array;
  /** Output cap of one choice, as the budget affords it. */
  readonly cap: Float64Array;
  /** The endpoints that may be tried, of each model. */
  readonly endpoints: (readonly number[])[] = [];
  rejected: Refusal['rejected'][number][] = [];
  /** How many models each kind of rejection has something against, in the order of `REJECTIONS`. */
  readonly rejections = new Uint32Array(Object.keys(REJECTIONS).length);
  /** Whether endpoints were left out that a breaker has ejected. */
  hasEjected = false;
  /** Whether nobody was left without them, and they were judged like others. */
  isLastResort = false;
  /** What it was filled for last. */
  #filled: Filling | null = null;
  readonly #snapshot: PolicySnapshot;
  readonly #entries: readonly Entry[];

  constructor(snapshot: PolicySnapshot) {
    const size = snapshot.models.length;
    this.#snapshot = snapshot;
    this.#entries = snapshot.models.map((model, index) => {
      const { price } = model.endpoints[0];
      return {
        index,
        model,
        all: model.endpoints.map((_, at) => at),
        everywhere: model.endpoints.reduce((bits, { capabilities }) => bits & capabilities, -1),
        price,
        onlyLine: price.lines.length === 1 ? price.lines[0] : null,
      };
    });
    this.model = new Int32Array(size);
    this.quality = new Float64Array(size);
    this.cost = new Float64Array(size);
    this.latency = new Float64Array(size);
    this.cap = new Float64Array(size);
  }

  /** Judges the catalog, or the pinned model alone; `quality` has a figure for every model of the snapshot. */
  fill(facts: Facts, task: Task, quality: Float64Array, readings: Readings): void {
    const limits = limitsOf(facts, this.#snapshot);
    const allowed = facts.allowedModels === null ? null : new Set(facts.allowedModels);
    const writing = expectedWriting(facts, this.#snapshot, readings);
    const { languages, models } = this.#snapshot;
    const qualified = qualifiedFor(facts.languages, languages, models.length);
    const demand: RoutingRequirements = { facts, task, allowed, writing, limits, qualified };
    this.#filled = { demand, quality, readings };
    this.#fill(this.#filled, false);
    // A breaker only turns requests away from an endpoint while they have somewhere else to go.
    this.isLastResort = this.n === 0 && this.hasEjected;
    if (this.isLastResort) this.#fill(this.#filled, true);
  }

  /** Fills it as before, with ejected endpoints, and with those models alone that have any. */
  refillWithEjected(): void {
    if (this.#filled) this.#fill(this.#filled, true, ({ model, all }) => this.#hasAnyEjected(model, all));
  }

  /** Whether it was filled while a breaker had ejected this endpoint of a model. */
  isEjected(model: number, endpoint: number): boolean {
    return this.#filled !== null && isEjected(this.#snapshot.models[model]!, endpoint, this.#filled.readings);
  }

  #hasAnyEjected(model: Model, all: readonly number[]): boolean {
    const { readings } = this.#filled!;
    return all.some((at) => isEjected(model, at, readings));
  }

  #fill({ demand, quality, readings }: Filling, lastResort: boolean, isMeant?: (entry: Entry) => boolean): void {
    const { facts } = demand;
    this.n = 0;
    this.rejected = [];
    this.rejections.fill(0);
    this.hasEjected = false;
    const entries = facts.pinned ? [this.#entries[this.#snapshot.modelIndex.get(facts.model)!]!] : this.#entries;
    for (let at = 0; at < entries.length; at++) {
      if (isMeant && !isMeant(entries[at]!)) continue;
      this.#consider(entries[at]!, demand, quality, readings, lastResort);
    }
  }

  #consider(
    entry: Entry,
    demand: RoutingRequirements,
    quality: Float64Array,
    readings: Readings,
    lastResort: boolean,
  ): void {
    const { index, model, all, everywhere } = entry;
    const { needs } = demand.facts;
    const { slots } = demand.limits;
    const isPlain = slots === null && (needs & ~everywhere) === 0;
    const allowed = isPlain ? all : allowedEndpoints(model, slots, needs);
    const open = openEndpoints(model, allowed, readings, lastResort);
    if (!lastResort && open.length < allowed.length)
      this.hasEjected ||= allowed.some((at) => isEjected(model, at, readings));
    let rejections = this.#judge(entry, open.length > 0 ? open : allowed, demand, readings);
    if (open.length < allowed.length && (open.length === 0 || rejections !== 0)) {
      // What only an endpoint that is shut could do is for its health to answer.
      const anyway = open.length === 0 ? rejections : this.#judge(entry, allowed, demand, readings);
      if (open.length === 0 || anyway !== rejections) rejections = anyway | REJECTIONS.health.bit;
    }
    if (rejections !== 0) {
      this.rejected.push({ model: index, rejections });
      for (let bits = rejections; bits !== 0; bits &= bits - 1)
        this.rejections[PLACES[31 - Math.clz32(bits & -bits)]!]!++;
      return;
    }
    const { n } = this;
    this.model[n] = index;
    this.quality[n] = quality[index]!;
    this.n++;
  }

  /** The bits of what there is against a model on these endpoints. Leaves its estimates behind the last candidate. */
  #judge(entry: Entry, allowed: readonly number[], demand: RoutingRequirements, readings: Readings): number {
    const { index, model } = entry;
    const { facts, writing } = demand;
    const affordable = affordableCap(model, allowed, facts, outputCap(model, facts));
    const free = facts.funds?.free ?? null;
    const endpoints = free === null ? allowed : endpointsWithin(free, model, allowed, facts, affordable);
    const first = endpoints[0] ?? allowed[0] ?? 0;
    const costCredits = costAt(entry, first, demand);
    const latencyMs = expectedLatency(model, first, facts, readings, writing);
    const { n } = this;
    this.cost[n] = costCredits;
    this.latency[n] = latencyMs;
    this.cap[n] = affordable;
    this.endpoints[n] = endpoints;
    const against = (cost: number, latency: number) =>
      limitRejections(demand, index, allowed.length, cost, latency) |
      rejectionsOf(model, demand, cost, latency, affordable);
    const rejections = against(costCredits, latencyMs);
    if (endpoints.length === allowed.length || (endpoints.length > 0 && rejections === 0)) return rejections;
    // A ceiling that only an endpoint too dear for the funds would meet is theirs to answer for.
    const dear = allowed[0]!;
    const anyway =
      first === dear
        ? rejections
        : against(costAt(entry, dear, demand), expectedLatency(model, dear, facts, readings, writing));
    return endpoints.length === 0 || anyway !== rejections ? anyway | REJECTIONS.funds.bit : rejections;
  }
}
