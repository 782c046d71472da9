import type {
  Estimator,
  EstimatorCatalog,
  EstimatorMemory,
  EstimatorPlugin,
  Finding,
  PreparedEstimator,
} from '../contract/estimator.ts';
import { declaredByTask } from '../core/declared.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { OutcomeWithFeatures, ResetRow } from '../store/learning.ts';
import type { LearningPolicyInForce } from './answer.ts';
import { catalogOf, catalogWith } from './catalog.ts';
import type { LearningSecret } from './secret.ts';

/** The part of an outcome that an estimator learns from. */
export type Lesson = Pick<
  OutcomeWithFeatures,
  'model' | 'task' | 'declared' | 'score' | 'weight' | 'probability' | 'among' | 'features'
>;

/** An event that the stored parts do not include yet. */
export type MemoryStep =
  /** The request of an outcome. */
  | { readonly kind: 'question'; readonly row: OutcomeWithFeatures }
  | { readonly kind: 'outcome'; readonly row: OutcomeWithFeatures }
  | { readonly kind: 'reset'; readonly reset: Pick<ResetRow, 'id' | 'model'> };

/** Receives plugin failures. `where` is `open`, `read`, `estimate`, `learn`, `known`, `telling` or `save`. */
export type OnEstimatorFault = (estimator: string, where: string, error: unknown) => void;

interface MemoryOptions {
  readonly name: string;
  readonly secret: LearningSecret;
  readonly onFault: OnEstimatorFault;
}

/** A memory as stored, with the events since. */
export interface StoredMemory {
  readonly parts: ReadonlyMap<string, Uint8Array>;
  readonly steps: readonly MemoryStep[];
}

/** The changes since the last checkpoint. */
export interface MemoryChanges {
  /** Whether these are all parts, so that any others must be deleted. */
  readonly everything: boolean;
  readonly parts: ReadonlyMap<string, Uint8Array | null>;
}

/** The maximum features of one question in bytes. */
const FEATURES_MAX = 65_536;

interface OpenMemory {
  readonly plugin: EstimatorPlugin;
  /** As JSON. */
  readonly options: string;
  readonly prepared: PreparedEstimator;
  readonly memory: EstimatorMemory;
}

/** A memory in the order of one snapshot's models and tasks. */
export interface BoundMemory {
  readonly memory: HostedMemory;
  readonly catalog: EstimatorCatalog;
  /** Declared qualities by task, then by model. */
  readonly byTask: readonly Float64Array[];
  /** For results that are not stored. */
  readonly scratch: Finding;
  /** Of the memory behind `estimator`: it changes when the memory is reopened. */
  generation: number;
  /** Null if the plugin failed. */
  estimator: Estimator | null;
}

/**
 * The memory of one estimator plugin. The first policy that names the plugin opens it. A later policy with other
 * options reopens it without loss, and earlier policies continue with it.
 */
export class HostedMemory {
  readonly name: string;
  readonly #secret: LearningSecret;
  readonly #onFault: OnEstimatorFault;
  readonly #bound = new WeakMap<PolicySnapshot, BoundMemory>();
  #stored: StoredMemory;
  #open: OpenMemory | null = null;
  #generation = 0;
  /** The changes of a checkpoint that failed. */
  #unsaved: MemoryChanges | null = null;
  #everything = false;
  /** Whether it missed outcomes, or could not be saved. */
  #isBehind = false;

  constructor({ name, secret, onFault }: MemoryOptions, stored: StoredMemory) {
    this.name = name;
    this.#secret = secret;
    this.#onFault = onFault;
    this.#stored = stored;
  }

  /** Whether opening it leaves nothing to learn. */
  get isUpToDate(): boolean {
    return this.#stored.steps.length === 0 && !this.#isBehind;
  }

  over({ snapshot, estimator: plugin }: LearningPolicyInForce): BoundMemory {
    let bound = this.#bound.get(snapshot);
    if (!bound) {
      const catalog = catalogOf(snapshot);
      this.#openFor(plugin, snapshot, catalog);
      const byTask = declaredByTask(snapshot);
      const scratch = findingOf(catalog.models.length);
      bound = { memory: this, catalog, byTask, scratch, generation: -1, estimator: null };
      this.#bound.set(snapshot, bound);
    }
    if (bound.generation !== this.#generation) {
      bound.generation = this.#generation;
      bound.estimator = this.#over(bound.catalog);
    }
    return bound;
  }

  read(text: string, lengthAlone: boolean): Uint8Array | null {
    try {
      if (!this.#open) return null;
      const bytes: unknown = this.#open.prepared.read(text, lengthAlone);
      // The settlement writes it in its commit, which must not fail because of it.
      if (bytes instanceof Uint8Array && bytes.length <= FEATURES_MAX) return bytes;
      throw new RangeError(`the features of a question must be a Uint8Array of at most ${FEATURES_MAX} bytes`);
    } catch (error) {
      this.fault('read', error);
      return null;
    }
  }

  /**
   * Learns an outcome.
   * @returns the estimate before it; null if the plugin failed
   */
  learn({ estimator, catalog }: Pick<BoundMemory, 'estimator' | 'catalog'>, lesson: Lesson): number | null {
    const { model, task, declared, score, weight, probability, among, features } = lesson;
    const modelAt = indexOfModel(catalog, model);
    const taskAt = catalog.tasks.indexOf(task);
    if (modelAt < 0 || taskAt < 0) {
      const wider = catalogWith(catalog, lesson);
      return this.learn({ catalog: wider, estimator: this.#over(wider) }, lesson);
    }
    this.#isBehind ||= this.#open === null;
    if (!estimator) return null;
    try {
      const outcome = { model: modelAt, task: taskAt, declared, score, weight, probability, among, features };
      const before = estimator.learn(outcome);
      if (!(before >= 0 && before <= 1)) throw new RangeError('an estimate must be a number from 0 to 1');
      return before;
    } catch (error) {
      this.fault('learn', error);
      return null;
    }
  }

  /** Takes effect at once, or when the memory is opened. */
  forget(reset: Pick<ResetRow, 'id' | 'model'>): void {
    if (!this.#open) {
      this.#stored = { ...this.#stored, steps: [...this.#stored.steps, { kind: 'reset', reset }] };
      return;
    }
    this.#forget(this.#open.memory, reset.model);
  }

  /**
   * The changes for a checkpoint; null if there are none, or the memory is not open. Until `markSaved`, the next call
   * includes them again.
   */
  save(): MemoryChanges | null {
    if (!this.#open) return null;
    try {
      const { everything, parts } = this.#unsaved ?? { everything: false, parts: [] };
      const all = everything || this.#everything;
      const changes = this.#open.memory.save(all);
      // All parts supersede earlier changes.
      this.#unsaved = { everything: all, parts: all ? changes : new Map([...parts, ...changes]) };
      this.#everything = false;
      this.#isBehind = false;
      return this.#unsaved;
    } catch (error) {
      this.#isBehind = true;
      this.fault('save', error);
      return null;
    }
  }

  /** Marks the changes of the last `save` as written. */
  markSaved(): void {
    this.#unsaved = null;
  }

  fault(where: string, error: unknown): void {
    this.#onFault(this.name, where, error);
  }

  /** Opens the memory with the options of a snapshot, unless it already has them. */
  #openFor(plugin: EstimatorPlugin, snapshot: PolicySnapshot, catalog: EstimatorCatalog): void {
    const options = JSON.stringify(snapshot.learning.options);
    if (this.#open?.plugin === plugin && this.#open.options === options) return;
    try {
      const prepared = plugin.prepare({ ...snapshot.learning.options }, this.#secret);
      const parts = this.#open ? savedParts(this.#open.memory) : this.#stored.parts;
      const wasOpen = this.#open !== null;
      this.#open = { plugin, options, prepared, memory: this.#openReadable(prepared, parts) };
      this.#everything ||= wasOpen;
      this.#generation++;
    } catch (error) {
      this.fault('open', error);
      return;
    }
    const { steps } = this.#stored;
    this.#stored = { parts: new Map(), steps: [] };
    const estimator = steps.length > 0 ? this.#over(catalog) : null;
    for (const step of steps) {
      if (step.kind === 'reset') this.#forget(this.#open.memory, step.reset.model);
      else if (step.kind === 'question') this.#noteQuestion({ catalog, estimator }, step.row);
      else this.learn({ catalog, estimator }, step.row);
    }
  }

  /** Repeats the count of a request at its original position. */
  #noteQuestion(
    { estimator, catalog }: Pick<BoundMemory, 'estimator' | 'catalog'>,
    { task: name, features }: Lesson,
  ): void {
    const task = catalog.tasks.indexOf(name);
    if (!estimator || !features || task < 0) return;
    const declared = Float64Array.from(catalog.models, ({ quality }) => quality[task]!);
    try {
      estimator.estimate({ features, task, declared }, findingOf(declared.length), true);
    } catch (error) {
      this.fault('estimate', error);
    }
  }

  /** Unreadable parts must not prevent a start. */
  #openReadable(prepared: PreparedEstimator, parts: ReadonlyMap<string, Uint8Array>): EstimatorMemory {
    try {
      return prepared.open(parts);
    } catch (error) {
      this.fault('open', error);
      this.#everything = true;
      return openOrNull(prepared, readableParts(prepared, parts)) ?? prepared.open(new Map());
    }
  }

  #over(catalog: EstimatorCatalog): Estimator | null {
    try {
      return this.#open?.memory.over(catalog) ?? null;
    } catch (error) {
      this.fault('open', error);
      return null;
    }
  }

  #forget(memory: EstimatorMemory, model: string | null): void {
    try {
      memory.forget(model);
    } catch (error) {
      this.fault('learn', error);
    }
  }
}

function indexOfModel({ models }: EstimatorCatalog, id: string): number {
  for (let at = 0; at < models.length; at++) if (models[at]!.id === id) return at;
  return -1;
}

export const findingOf = (models: number): Finding => ({
  quality: new Float64Array(models),
  outcomes: new Float32Array(models),
  text: new Float32Array(models),
  counts: new Float32Array(models),
  length: 0,
  trust: 0,
});

function openOrNull(prepared: PreparedEstimator, parts: ReadonlyMap<string, Uint8Array>): EstimatorMemory | null {
  try {
    return prepared.open(parts);
  } catch {
    return null;
  }
}

/** Parts may depend on later ones. */
const PASSES = 3;

/** The parts that can be opened together. Damage to one part affects only the parts that depend on it. */
function readableParts(prepared: PreparedEstimator, parts: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  let readable = new Map<string, Uint8Array>();
  let left = [...parts];
  for (let pass = 0; pass < PASSES && left.length > 0; pass++) {
    const refused: typeof left = [];
    const add = (some: typeof left): void => {
      const wider = new Map([...readable, ...some]);
      if (openOrNull(prepared, wider)) readable = wider;
      else if (some.length === 1) refused.push(...some);
      else for (const half of [some.slice(0, some.length >> 1), some.slice(some.length >> 1)]) add(half);
    };
    add(left);
    left = refused;
  }
  return readable;
}

/** All parts of a memory, to open another with. */
export const savedParts = (memory: EstimatorMemory): Map<string, Uint8Array> =>
  new Map([...memory.save(true)].flatMap(([part, bytes]) => (bytes ? [[part, bytes] as const] : [])));
