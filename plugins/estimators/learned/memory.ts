import { Evidence } from './means.ts';
import { OWN_PRECISION, SHARED_PRECISION, Weights } from './weights.ts';

/** So many tasks and models are remembered, and so many models with weights of their own, .5 MB each. */
const TASKS_MAX = 256;
const MODELS_MAX = 4_096;
export const OWNERS_MAX = 64;

/**
 * What outcomes say of one logit, apart from what is declared: their precision W and, so weighted, the sum S of where
 * each put it. With a declared logit that counts as B outcomes, the posterior mean is `(B·declared + S)/(B + W)`: it
 * follows a new declaration at once, and outcomes keep their weight.
 */
export class Tally {
  mass = 0;
  sum = 0;
  /** The sum of the weights of the outcomes. */
  count = 0;

  /** How far the posterior mean is from the prior. */
  shift(prior: number, priorMass: number): number {
    return (this.sum - this.mass * prior) / (priorMass + this.mass);
  }

  /** Moves the posterior mean by `weight·error` over its new mass. */
  note(prior: number, priorMass: number, error: number, precision: number, weight: number): void {
    const before = prior + this.shift(prior, priorMass);
    this.mass += weight * precision;
    this.sum += weight * (precision * before + error);
    this.count += weight;
  }
}

/** What was seen of the requests of one task. */
export interface TaskMemory {
  readonly name: string;
  readonly index: number;
  /** When it was met last, by the memory's own count. */
  used: number;
  seen: number;
  /** Running means over what was asked: of the length, and of what the shared weights say. */
  length: number;
  shared: number;
  readonly sharedEvidence: Evidence;
  readonly ownEvidence: Evidence;
}

/** A model's own weights, with the running mean of what they say by task. */
interface Own {
  readonly weights: Weights;
  readonly centres: Float64Array;
}

export interface ModelMemory {
  readonly id: string;
  /** When it was taught last, by the memory's own count. */
  taught: number;
  readonly all: Tally;
  /** By index of the task. */
  readonly tasks: (Tally | undefined)[];
  own: Own | null;
}

export const outcomesPart = (id: string): string => `outcomes:${id}`;
export const wordsPart = (id: string): string => `words:${id}`;
export const TASKS_PART = 'tasks';
export const SHARED_PART = 'shared';

/** All that was learnt. Bounded: where one more does not fit, the one that was met longest ago goes. */
export class Memory {
  readonly tasks = new Map<string, TaskMemory>();
  readonly models = new Map<string, ModelMemory>();
  readonly owners = new Set<ModelMemory>();
  shared: Weights | null = null;
  sharedEvidence = new Evidence();
  ownEvidence = new Evidence();
  clock = 0;
  /** Rises when a model comes or goes. */
  version = 0;
  /** Names of parts that are not as they were when they were saved last. */
  readonly changed = new Set<string>();

  /** The task of this name, from now on met last. */
  meet(name: string): TaskMemory {
    this.changed.add(TASKS_PART);
    const task = this.tasks.get(name) ?? this.addTask(name);
    task.used = ++this.clock;
    return task;
  }

  /** The model of this ID, from now on taught last; it has weights of its own where there are words to learn from. */
  teach(id: string, hasWords: boolean): ModelMemory {
    const model = this.models.get(id) ?? this.addModel(id);
    model.taught = ++this.clock;
    this.changed.add(outcomesPart(id));
    if (hasWords) {
      this.ownOf(model);
      this.changed.add(wordsPart(id));
    }
    return model;
  }

  sharedWeights(): Weights {
    this.shared ??= new Weights(SHARED_PRECISION);
    return this.shared;
  }

  ownOf(model: ModelMemory): Own {
    if (model.own) return model.own;
    if (this.owners.size === OWNERS_MAX) this.#disown(leastBy(this.owners, ({ taught }) => taught));
    this.owners.add(model);
    model.own = { weights: new Weights(OWN_PRECISION), centres: new Float64Array(TASKS_MAX) };
    return model.own;
  }

  tallyOf(model: ModelMemory, task: TaskMemory): Tally {
    model.tasks[task.index] ??= new Tally();
    return model.tasks[task.index]!;
  }

  addTask(name: string): TaskMemory {
    const full = this.tasks.size === TASKS_MAX;
    const index = full ? this.#dropTask() : this.tasks.size;
    const evidence = { sharedEvidence: new Evidence(), ownEvidence: new Evidence() };
    const task = { name, index, used: 0, seen: 0, length: 0, shared: 0, ...evidence };
    this.tasks.set(name, task);
    return task;
  }

  addModel(id: string): ModelMemory {
    if (this.models.size === MODELS_MAX) this.forget(leastBy(this.models.values(), ({ taught }) => taught).id);
    const model = { id, taught: 0, all: new Tally(), tasks: [], own: null };
    this.models.set(id, model);
    this.version++;
    return model;
  }

  forget(id: string): void {
    const model = this.models.get(id);
    if (!model) return;
    if (model.own) this.#disown(model);
    this.models.delete(id);
    this.changed.add(outcomesPart(id));
    this.version++;
  }

  forgetAll(): void {
    for (const id of [...this.models.keys()]) this.forget(id);
    this.tasks.clear();
    this.shared = null;
    this.sharedEvidence = new Evidence();
    this.ownEvidence = new Evidence();
    this.clock = 0;
    this.changed.add(SHARED_PART).add(TASKS_PART);
  }

  #disown(model: ModelMemory): void {
    this.owners.delete(model);
    model.own = null;
    this.changed.add(wordsPart(model.id)).add(TASKS_PART);
  }

  /** Returns the index that is free then. */
  #dropTask(): number {
    const { name, index } = leastBy(this.tasks.values(), ({ used }) => used);
    this.tasks.delete(name);
    for (const { id, tasks, own } of this.models.values()) {
      if (tasks[index]) this.changed.add(outcomesPart(id));
      tasks[index] = undefined;
      if (own) own.centres[index] = 0;
    }
    return index;
  }
}

/** The one with the least figure, of one or more. */
function leastBy<T>(all: Iterable<T>, figure: (one: T) => number): T {
  let least: T | null = null;
  for (const one of all) if (least === null || figure(one) < figure(least)) least = one;
  if (least === null) throw new Error('there is none to choose from');
  return least;
}
