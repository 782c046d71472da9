import { WordEvidence } from './means.ts';
import { OWN_PRECISION, SHARED_PRECISION, WordTable, type WordWeights } from './weights.ts';

/** The maximum number of tasks, of models, and of models with their own weights at 0.5 MB each. */
const TASKS_MAX = 256;
const MODELS_MAX = 4_096;
export const OWNERS_MAX = 64;

/**
 * The outcomes for one logit, apart from its declaration: their precision W, and the sum S of their positions weighted
 * by it. With a declared logit worth B outcomes, the posterior mean is `(B·declared + S)/(B + W)`. So it follows a new
 * declaration at once, and outcomes keep their weight.
 */
export class OutcomeTally {
  mass = 0;
  sum = 0;
  /** The sum of the weights of the outcomes. */
  count = 0;

  /** The distance of the posterior mean from the prior. */
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

/** The running means and evidence of one task. */
export interface TaskMemory {
  readonly name: string;
  readonly index: number;
  /** Time of the last use, by the memory's clock. */
  lastUsed: number;
  requests: number;
  /** Running means over requests: of the length, and of the shared weights' result. */
  length: number;
  shared: number;
  readonly evidence: WordEvidence;
}

/** A model's own weights, with the running means of their result by task. */
interface OwnWeights {
  readonly weights: WordWeights;
  readonly centres: Float64Array;
}

export interface ModelMemory {
  readonly id: string;
  /** Time of the last outcome, by the memory's clock. */
  lastTaught: number;
  readonly all: OutcomeTally;
  /** By index of the task. */
  readonly tasks: (OutcomeTally | undefined)[];
  own: OwnWeights | null;
}

export const outcomesPart = (id: string): string => `outcomes:${id}`;
export const wordsPart = (id: string): string => `words:${id}`;
export const TASKS_PART = 'tasks';
export const SHARED_PART = 'shared';

/** Everything learned. Bounded: the least recently used task or model is replaced. */
export class LearnedMemory {
  readonly tasks = new Map<string, TaskMemory>();
  readonly models = new Map<string, ModelMemory>();
  readonly owners = new Set<ModelMemory>();
  /** The shared weights and those of all owners. */
  words = new WordTable();
  shared: WordWeights | null = null;
  evidence = new WordEvidence();
  clock = 0;
  /** Increases when a model is added or removed. */
  version = 0;
  /** Names of parts that changed since the last save. */
  readonly changed = new Set<string>();

  /** The task of this name, marked as just used. */
  touchTask(name: string): TaskMemory {
    this.changed.add(TASKS_PART);
    const task = this.tasks.get(name) ?? this.addTask(name);
    task.lastUsed = ++this.clock;
    return task;
  }

  /**
   * The model of this ID, marked as just used.
   * @param hasWords whether to give it weights of its own
   */
  touchModel(id: string, hasWords: boolean): ModelMemory {
    const model = this.models.get(id) ?? this.addModel(id);
    model.lastTaught = ++this.clock;
    this.changed.add(outcomesPart(id));
    if (hasWords) {
      this.ownOf(model);
      this.changed.add(wordsPart(id));
    }
    return model;
  }

  sharedWeights(): WordWeights {
    this.shared ??= this.words.add(SHARED_PRECISION);
    return this.shared;
  }

  ownOf(model: ModelMemory): OwnWeights {
    if (model.own) return model.own;
    if (this.owners.size === OWNERS_MAX) this.#disown(minBy(this.owners, ({ lastTaught }) => lastTaught));
    this.owners.add(model);
    model.own = { weights: this.words.add(OWN_PRECISION), centres: new Float64Array(TASKS_MAX) };
    return model.own;
  }

  tallyOf(model: ModelMemory, task: TaskMemory): OutcomeTally {
    model.tasks[task.index] ??= new OutcomeTally();
    return model.tasks[task.index]!;
  }

  addTask(name: string): TaskMemory {
    const full = this.tasks.size === TASKS_MAX;
    const index = full ? this.#dropTask() : this.tasks.size;
    const task = { name, index, lastUsed: 0, requests: 0, length: 0, shared: 0, evidence: new WordEvidence() };
    this.tasks.set(name, task);
    return task;
  }

  addModel(id: string): ModelMemory {
    if (this.models.size === MODELS_MAX) this.forget(minBy(this.models.values(), ({ lastTaught }) => lastTaught).id);
    const model = { id, lastTaught: 0, all: new OutcomeTally(), tasks: [], own: null };
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
    this.words = new WordTable();
    this.evidence = new WordEvidence();
    this.clock = 0;
    this.changed.add(SHARED_PART).add(TASKS_PART);
  }

  #disown(model: ModelMemory): void {
    this.owners.delete(model);
    model.own?.weights.release();
    model.own = null;
    this.changed.add(wordsPart(model.id)).add(TASKS_PART);
  }

  /** Returns the index that it frees. */
  #dropTask(): number {
    const { name, index } = minBy(this.tasks.values(), ({ lastUsed }) => lastUsed);
    this.tasks.delete(name);
    for (const { id, tasks, own } of this.models.values()) {
      if (tasks[index]) this.changed.add(outcomesPart(id));
      tasks[index] = undefined;
      if (own) own.centres[index] = 0;
    }
    return index;
  }
}

/** The item with the least value. Throws if there is none. */
function minBy<T>(all: Iterable<T>, figure: (one: T) => number): T {
  let least: T | null = null;
  for (const one of all) if (least === null || figure(one) < figure(least)) least = one;
  if (least === null) throw new Error('there is none to choose from');
  return least;
}
