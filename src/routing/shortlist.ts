import type { Candidates } from '../contract/strategy.ts';
import type { Refusal } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Price, PriceLine } from '../core/price.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { rejectionsOf } from './constrain.ts';
import { affordableCap, expectedCost, expectedLatency, expectedOutput, outputCap } from './estimate.ts';

/** A model with what the loop over the catalog reads most, lifted out of the frozen arrays once. */
interface Entry {
  readonly index: number;
  readonly model: Model;
  /** Of the first endpoint. */
  readonly price: Price;
  /** Its line, when it has no tiers. */
  readonly onlyLine: PriceLine | null;
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
  rejected: Refusal['rejected'][number][] = [];
  readonly #snapshot: PolicySnapshot;
  readonly #entries: readonly Entry[];

  constructor(snapshot: PolicySnapshot) {
    const size = snapshot.models.length;
    this.#snapshot = snapshot;
    this.#entries = snapshot.models.map((model, index) => {
      const { price } = model.endpoints[0];
      return { index, model, price, onlyLine: price.lines.length === 1 ? price.lines[0] : null };
    });
    this.model = new Int32Array(size);
    this.quality = new Float64Array(size);
    this.cost = new Float64Array(size);
    this.latency = new Float64Array(size);
    this.cap = new Float64Array(size);
  }

  /** Judges the catalog, or the pinned model alone; `quality` has a figure for every model of the snapshot. */
  fill(facts: Facts, task: Task, quality: Float64Array): void {
    const allowed = facts.allowedModels === null ? null : new Set(facts.allowedModels);
    const output = expectedOutput(facts, task);
    const entries = this.#entries;
    this.n = 0;
    this.rejected = [];
    if (facts.pinned) {
      const index = this.#snapshot.modelIndex.get(facts.model)!;
      this.#consider(entries[index]!, facts, task, output, allowed, quality);
      return;
    }
    for (let at = 0; at < entries.length; at++) {
      this.#consider(entries[at]!, facts, task, output, allowed, quality);
    }
  }

  #consider(
    { index, model, price, onlyLine }: Entry,
    facts: Facts,
    task: Task,
    output: number,
    allowed: ReadonlySet<string> | null,
    quality: Float64Array,
  ): void {
    const costCredits = expectedCost(model, price, facts, output, onlyLine);
    const latencyMs = expectedLatency(model, output);
    const affordable = affordableCap(model, facts, outputCap(model, facts));
    const rejections = rejectionsOf({ model, facts, task, allowed, costCredits, latencyMs, affordable });
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
    this.n++;
  }
}
