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
import type { MemoryStep } from './steps.ts';

/** The part of an outcome that an estimator learns from. */
export type Lesson = Pick<
  OutcomeWithFeatures,
  'model' | 'task' | 'declared' | 'score' | 'weight' | 'probability' | 'among' | 'features'
>;

/** Receives plugin failures. `where` is `open`, `read`, `estimate`, `learn`, `known`, `telling` or `save`. */
export type OnEstimatorFault = (estimator: string, where: string, error: unknown) => void;

export interface MemoryOptions {
  readonly secret: LearningSecret;
  readonly onFault: OnEstimatorFault;
}

/** A memory as stored, with the events since. */
export interface StoredMemory {
  readonly parts: ReadonlyMap<string, Uint8Array>;
  readonly steps: readonly MemoryStep[];
}

const NOTHING: StoredMemory = { parts: new Map(), steps: [] };

/** The changes since the last checkpoint. */
export interface MemoryChanges {
  /** Whether these are all parts, so that any others must be deleted. */
  readonly everything: boolean;
  readonly parts: ReadonlyMap<string, Uint8Array | null>;
}

/** The maximum features of one question in bytes. */
const FEATURES_MAX = 65_536;

type BoundEstimator = Pick<BoundMemory, 'estimator' | 'catalog'>;

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
  /** A zero for each model, shared by all estimates without outcomes; never written to. */
  readonly zeros: Float32Array;
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
  readonly #options: MemoryOptions;
  readonly #bound = new WeakMap<PolicySnapshot, BoundMemory>();
  #stored: StoredMemory;
  #open: OpenMemory | null = null;
  /** That it was opened with last; null before. */
  #catalog: EstimatorCatalog | null = null;
  #generation = 0;
  /** Whether the next checkpoint takes all parts: after a reopening, damage, or a checkpoint that failed. */
  #everything = false;
  #isUnsaved = false;
  /** Whether it missed outcomes, or could not be saved. */
  #isBehind = false;

  constructor(name: string, options: MemoryOptions, stored: StoredMemory = NOTHING) {
    this.name = name;
    this.#options = options;
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
      const zeros = new Float32Array(snapshot.models.length);
      bound = { memory: this, catalog, byTask, scratch, zeros, generation: -1, estimator: null };
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
      // A write that fails because of it would take others along.
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
  learn({ estimator, catalog }: BoundEstimator, lesson: Lesson): number | null {
    const { model, task, declared, score, weight, probability, among, features } = lesson;
    const modelAt = catalog.models.findIndex(({ id }) => id === model);
    const taskAt = catalog.tasks.indexOf(task);
    if (modelAt < 0 || taskAt < 0) {
      const wider = catalogWith(catalog, lesson);
      return this.learn({ catalog: wider, estimator: this.#over(wider) }, lesson);
    }
    this.#isBehind ||= this.#open === null;
    if (!estimator) return null;
    return this.attempt('learn', () => {
      const outcome = { model: modelAt, task: taskAt, declared, score, weight, probability, among, features };
      const before = estimator.learn(outcome);
      if (!(before >= 0 && before <= 1)) throw new RangeError('an estimate must be a number from 0 to 1');
      return before;
    });
  }

  /** Repeats a stored event. @returns of an outcome the estimate before it; null if the plugin failed */
  repeat(bound: BoundEstimator, step: MemoryStep): number | null {
    if (step.kind === 'outcome') return this.learn(bound, step.row);
    if (step.kind === 'question') this.#noteQuestion(bound, step.row);
    else this.forget(step.reset);
    return null;
  }

  /** Learns an outcome that another instance has written: at once, or when the memory is opened. */
  follow(row: OutcomeWithFeatures): void {
    const step: MemoryStep = { kind: 'outcome', row };
    if (this.#catalog) this.repeat({ catalog: this.#catalog, estimator: this.#over(this.#catalog) }, step);
    else this.#stored = { ...this.#stored, steps: [...this.#stored.steps, step] };
  }

  /** Takes effect at once, or when the memory is opened. */
  forget(reset: Pick<ResetRow, 'id' | 'model'>): void {
    const open = this.#open;
    if (open) this.attempt('learn', () => open.memory.forget(reset.model));
    else this.#stored = { ...this.#stored, steps: [...this.#stored.steps, { kind: 'reset', reset }] };
  }

  /**
   * The changes for a checkpoint; null if the memory is not open, or fails. Until `markSaved`, the next call takes all
   * parts.
   */
  save(): MemoryChanges | null {
    if (!this.#open) return null;
    try {
      const everything = this.#everything || this.#isUnsaved;
      const parts = this.#open.memory.save(everything);
      this.#everything = false;
      this.#isBehind = false;
      this.#isUnsaved = everything || parts.size > 0;
      return { everything, parts };
    } catch (error) {
      this.#isBehind = true;
      this.fault('save', error);
      return null;
    }
  }

  /** Marks the changes of the last `save` as written. */
  markSaved(): void {
    this.#isUnsaved = false;
  }

  fault(where: string, error: unknown): void {
    this.#options.onFault(this.name, where, error);
  }

  /** The result of the plugin; null if it failed, which is reported. */
  attempt<T>(where: string, work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      this.fault(where, error);
      return null;
    }
  }

  /** Opens the memory with the options of a snapshot, unless it already has them. */
  #openFor(plugin: EstimatorPlugin, snapshot: PolicySnapshot, catalog: EstimatorCatalog): void {
    const options = JSON.stringify(snapshot.learning.options);
    if (this.#open?.plugin === plugin && this.#open.options === options) return;
    try {
      const prepared = plugin.prepare({ ...snapshot.learning.options }, this.#options.secret);
      const parts = this.#open ? savedParts(this.#open.memory) : this.#stored.parts;
      const wasOpen = this.#open !== null;
      this.#open = { plugin, options, prepared, memory: this.#openReadable(prepared, parts) };
      this.#catalog = catalog;
      this.#everything ||= wasOpen;
      this.#generation++;
    } catch (error) {
      this.fault('open', error);
      return;
    }
    const { steps } = this.#stored;
    this.#stored = NOTHING;
    const estimator = steps.length > 0 ? this.#over(catalog) : null;
    for (const step of steps) this.repeat({ catalog, estimator }, step);
  }

  /** Repeats the count of a request at its original position. */
  #noteQuestion({ estimator, catalog }: BoundEstimator, { task: name, features }: Lesson): void {
    const task = catalog.tasks.indexOf(name);
    if (!estimator || !features || task < 0) return;
    const declared = Float64Array.from(catalog.models, ({ quality }) => quality[task]!);
    const into = findingOf(declared.length);
    this.attempt('estimate', () => estimator.estimate({ features, task, declared }, into, true));
  }

  /** Unreadable parts must not prevent a start. */
  #openReadable(prepared: PreparedEstimator, parts: ReadonlyMap<string, Uint8Array>): EstimatorMemory {
    const whole = this.attempt('open', () => prepared.open(parts));
    this.#everything ||= whole === null;
    return whole ?? openOrNull(prepared, readableParts(prepared, parts)) ?? prepared.open(new Map());
  }

  #over(catalog: EstimatorCatalog): Estimator | null {
    return this.attempt('open', () => this.#open?.memory.over(catalog) ?? null);
  }
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
  for (let pass = 0; pass < PASSES; pass++) {
    for (const part of parts) {
      const wider = new Map([...readable, part]);
      if (wider.size > readable.size && openOrNull(prepared, wider)) readable = wider;
    }
  }
  return readable;
}

/** All parts of a memory, to open another with. */
export const savedParts = (memory: EstimatorMemory): Map<string, Uint8Array> =>
  new Map([...memory.save(true)].flatMap(([part, bytes]) => (bytes ? [[part, bytes] as const] : [])));
