import type { Candidates } from '../contract/strategy.ts';
import type { Refusal } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { rejectionsOf } from './constrain.ts';
import { affordableCap, expectedCost, expectedLatency, expectedOutput, outputCap } from './estimate.ts';

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

  constructor(snapshot: PolicySnapshot) {
    const size = snapshot.models.length;
    this.#snapshot = snapshot;
    this.model = new Int32Array(size);
    this.quality = new Float64Array(size);
    this.cost = new Float64Array(size);
    this.latency = new Float64Array(size);
    this.cap = new Float64Array(size);
  }

  fill(facts: Facts, taskAt: number): void {
    const { models, modelIndex, tasks } = this.#snapshot;
    const task = tasks[taskAt]!;
    const allowed = facts.allowedModels === null ? null : new Set(facts.allowedModels);
    this.n = 0;
    this.rejected = [];
    if (facts.pinned) {
      const index = modelIndex.get(facts.model)!;
      this.#consider(models[index]!, index, facts, taskAt, task, allowed);
      return;
    }
    for (let index = 0; index < models.length; index++)
      this.#consider(models[index]!, index, facts, taskAt, task, allowed);
  }

  #consider(
    model: Model,
    index: number,
    facts: Facts,
    taskAt: number,
    task: Task,
    allowed: ReadonlySet<string> | null,
  ): void {
    const output = expectedOutput(facts, task);
    const costCredits = expectedCost(model, model.endpoints[0].price, facts, output);
    const latencyMs = expectedLatency(model, output);
    const affordable = affordableCap(model, facts, outputCap(model, facts));
    const rejections = rejectionsOf({ model, facts, task, allowed, costCredits, latencyMs, affordable });
    if (rejections !== 0) {
      this.rejected.push({ model: index, rejections });
      return;
    }
    const { n } = this;
    this.model[n] = index;
    this.quality[n] = model.quality[taskAt]!;
    this.cost[n] = costCredits;
    this.latency[n] = latencyMs;
    this.cap[n] = affordable;
    this.n++;
  }
}
