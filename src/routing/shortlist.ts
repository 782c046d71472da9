import type { Candidates } from '../contract/strategy.ts';
import { REJECTIONS, type Refusal } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Price, PriceLine } from '../core/price.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { type Demand, limitRejections, rejectionsOf } from './constrain.ts';
import {
  affordableCap,
  endpointsWithin,
  expectedCost,
  expectedLatency,
  expectedOutput,
  outputCap,
} from './estimate.ts';
import { allowedEndpoints, limitsOf } from './rules.ts';

/** A model with what the loop over the catalog reads most, lifted out of the frozen arrays once. */
interface Entry {
  readonly index: number;
  readonly model: Model;
  /** Every endpoint of the model. */
  readonly all: readonly number[];
  /** Of the first endpoint. */
  readonly price: Price;
  /** Its line, when it has no tiers. */
  readonly onlyLine: PriceLine | null;
}

/** C at one of the model's endpoints. */
function costAt({ model, price, onlyLine }: Entry, endpoint: number, { facts, output }: Demand): number {
  return endpoint === 0
    ? expectedCost(model, price, facts, output, onlyLine)
    : expectedCost(model, model.endpoints[endpoint]!.price, facts, output);
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
        all: allowedEndpoints(model, null),
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
  fill(facts: Facts, task: Task, quality: Float64Array): void {
    const limits = limitsOf(facts, this.#snapshot);
    const allowed = facts.allowedModels === null ? null : new Set(facts.allowedModels);
    const demand: Demand = { facts, task, allowed, output: expectedOutput(facts, task), limits };
    const entries = this.#entries;
    this.n = 0;
    this.rejected = [];
    if (facts.pinned) {
      const index = this.#snapshot.modelIndex.get(facts.model)!;
      this.#consider(entries[index]!, demand, quality);
      return;
    }
    for (let at = 0; at < entries.length; at++) {
      this.#consider(entries[at]!, demand, quality);
    }
  }

  #consider(entry: Entry, demand: Demand, quality: Float64Array): void {
    const { index, model, all } = entry;
    const { facts, output, limits } = demand;
    const allowed = limits.slots === null ? all : allowedEndpoints(model, limits.slots);
    const affordable = affordableCap(model, allowed, facts, outputCap(model, facts));
    const free = facts.funds?.free ?? null;
    const endpoints = free === null ? allowed : endpointsWithin(free, model, allowed, facts, affordable);
    const first = endpoints[0] ?? allowed[0] ?? 0;
    const costCredits = costAt(entry, first, demand);
    const latencyMs = expectedLatency(model, output);
    const against = (cost: number) =>
      limitRejections(limits, index, allowed.length, cost, latencyMs) |
      rejectionsOf(model, demand, cost, latencyMs, affordable);
    let rejections = against(costCredits);
    if (endpoints.length < allowed.length && (endpoints.length === 0 || rejections !== 0)) {
      // A ceiling that only an endpoint too dear for the funds would meet is theirs to answer for.
      const anyway = first === allowed[0] ? rejections : against(costAt(entry, allowed[0]!, demand));
      if (endpoints.length === 0 || anyway !== rejections) rejections = anyway | REJECTIONS.funds.bit;
    }
    if (rejections !== 0) {
      this.rejected.push({ model: index, rejections });
      return;
    }
    const { n } = this;
    this.model[n] = index;
    this.quality[n] = quality[index]!;
    this.cost[n] = costCredits;
    this.latency[n] = latencyMs;
    this.cap[n] = affordable;
    this.endpoints[n] = endpoints;
    this.n++;
  }
}
