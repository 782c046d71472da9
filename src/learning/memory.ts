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
import { catalogOf, catalogWith } from './catalog.ts';
import type { LearningPolicyInForce } from './learner.ts';
import type { Secret } from './secret.ts';
import type { ResetRow, TaughtRow } from './tables.ts';

/** What of an outcome is learnt. */
export type Lesson = Pick<
  TaughtRow,
  'model' | 'task' | 'declared' | 'score' | 'weight' | 'probability' | 'among' | 'features'
>;

/** Something that a memory's parts do not have yet, in the order in which it happened. */
export type Step =
  /** Somebody asked what an outcome came of. */
  | { readonly kind: 'question'; readonly row: TaughtRow }
  | { readonly kind: 'outcome'; readonly row: TaughtRow }
  | { readonly kind: 'reset'; readonly reset: Pick<ResetRow, 'id' | 'model'> };

/** Told where an estimator plugin does not do what it should; `where`: `open`, `read`, `estimate`, `learn`, `known`, `telling`, `save`. */
export type EstimatorFault = (estimator: string, where: string, error: unknown) => void;

/** Up to where a memory goes. */
export interface Through {
  readonly outcome: number;
  readonly reset: number;
}

export interface MemoryOptions {
  readonly name: string;
  readonly secret: Secret;
  readonly onFault: EstimatorFault;
}

/** What was kept of a memory. */
export interface Kept {
  readonly parts: ReadonlyMap<string, Uint8Array>;
  readonly steps: readonly Step[];
}

/** The changes since the last checkpoint. */
export interface Saved {
  /** The parts are all that there is: what else is stored must go. */
  readonly everything: boolean;
  readonly parts: ReadonlyMap<string, Uint8Array | null>;
}

/** Bytes that are kept of one question at most. */
const FEATURES_MAX = 65_536;

interface Open {
  readonly plugin: EstimatorPlugin;
  /** As JSON. */
  readonly options: string;
  readonly prepared: PreparedEstimator;
  readonly memory: EstimatorMemory;
}

/** A memory as one snapshot sees it. */
export interface Bound {
  readonly memory: Memory;
  readonly catalog: EstimatorCatalog;
  /** Declared qualities by task, then by model. */
  readonly byTask: readonly Float64Array[];
  /** For what nobody keeps. */
  readonly scratch: Finding;
  /** Of what `estimator` is; a memory that was opened anew has another. */
  generation: number;
  /** Null where the plugin failed. */
  estimator: Estimator | null;
}

/**
 * The memory of one estimator plugin. It is opened by the first policy that names the plugin, and opened anew, with
 * nothing lost, by a later one with other options; policies before that go on with it.
 */
export class Memory {
  readonly name: string;
  readonly #secret: Secret;
  readonly #onFault: EstimatorFault;
  readonly #bound = new WeakMap<PolicySnapshot, Bound>();
  #kept: Kept;
  #open: Open | null = null;
  #generation = 0;
  /** What a checkpoint that failed would have written. */
  #unsaved: Saved | null = null;
  #everything = false;
  /** Whether outcomes came that it could not take, or that it could not give to a checkpoint. */
  #isBehind = false;

  constructor({ name, secret, onFault }: MemoryOptions, kept: Kept) {
    this.name = name;
    this.#secret = secret;
    this.#onFault = onFault;
    this.#kept = kept;
  }

  /** Nothing is left for it to learn once somebody opens it. */
  get isSettled(): boolean {
    return this.#kept.steps.length === 0 && !this.#isBehind;
  }

  over({ snapshot, estimator: plugin }: LearningPolicyInForce): Bound {
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
      // It is written in one commit with what an answer costs, which must not fail for its sake.
      if (bytes instanceof Uint8Array && bytes.length <= FEATURES_MAX) return bytes;
      throw new RangeError(`what is kept of a question must be a Uint8Array of at most ${FEATURES_MAX} bytes`);
    } catch (error) {
      this.fault('read', error);
      return null;
    }
  }

  /** Learns. Returns what would have been estimated before; null where the plugin failed. */
  learn({ estimator, catalog }: Pick<Bound, 'estimator' | 'catalog'>, lesson: Lesson): number | null {
    const { model, task, declared, score, weight, probability, among, features } = lesson;
    const modelAt = catalog.models.findIndex(({ id }) => id === model);
    const taskAt = catalog.tasks.indexOf(task);
    if (modelAt < 0 || taskAt < 0) {
      const wider = catalogWith(catalog, lesson);
      return this.learn({ catalog: wider, estimator: this.#over(wider) }, lesson);
    }
    this.#isBehind ||= this.#open === null;
    if (!estimator) return null;
    try {
      const place = { model: modelAt, task: taskAt };
      const before = estimator.learn({ ...place, declared, score, weight, probability, among, features });
      if (!(before >= 0 && before <= 1)) throw new RangeError('an estimate must be a number from 0 to 1');
      return before;
    } catch (error) {
      this.fault('learn', error);
      return null;
    }
  }

  /** At once, or once it is opened. */
  forget(reset: Pick<ResetRow, 'id' | 'model'>): void {
    if (!this.#open) {
      this.#kept = { ...this.#kept, steps: [...this.#kept.steps, { kind: 'reset', reset }] };
      return;
    }
    this.#forget(this.#open.memory, reset.model);
  }

  /** What a checkpoint has to write; null for nothing, and while nobody has opened it. `saved` ends it; until then the next has this, too. */
  save(): Saved | null {
    if (!this.#open) return null;
    try {
      const { everything, parts } = this.#unsaved ?? { everything: false, parts: [] };
      const all = everything || this.#everything;
      const changes = this.#open.memory.save(all);
      // All parts supersede whatever was to be written before.
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

  /** What `save` returned last is written. */
  saved(): void {
    this.#unsaved = null;
  }

  fault(where: string, error: unknown): void {
    this.#onFault(this.name, where, error);
  }

  /** Whoever comes later says with which options; where they are the same, nothing happens. */
  #openFor(plugin: EstimatorPlugin, snapshot: PolicySnapshot, catalog: EstimatorCatalog): void {
    const options = JSON.stringify(snapshot.learning.options);
    if (this.#open?.plugin === plugin && this.#open.options === options) return;
    try {
      const prepared = plugin.prepare({ ...snapshot.learning.options }, this.#secret);
      const parts = this.#open ? partsOf(this.#open.memory) : this.#kept.parts;
      const wasOpen = this.#open !== null;
      this.#open = { plugin, options, prepared, memory: this.#opened(prepared, parts) };
      this.#everything ||= wasOpen;
      this.#generation++;
    } catch (error) {
      this.fault('open', error);
      return;
    }
    const { steps } = this.#kept;
    this.#kept = { parts: new Map(), steps: [] };
    const estimator = steps.length > 0 ? this.#over(catalog) : null;
    for (const step of steps) {
      if (step.kind === 'reset') this.#forget(this.#open.memory, step.reset.model);
      else if (step.kind === 'question') this.#meet({ catalog, estimator }, step.row);
      else this.learn({ catalog, estimator }, step.row);
    }
  }

  /** The means of what is asked take note of a question, as they did when somebody asked it. */
  #meet({ estimator, catalog }: Pick<Bound, 'estimator' | 'catalog'>, { task: name, features }: Lesson): void {
    const task = catalog.tasks.indexOf(name);
    if (!estimator || !features || task < 0) return;
    const declared = Float64Array.from(catalog.models, ({ quality }) => quality[task]!);
    try {
      estimator.estimate({ features, task, declared }, findingOf(declared.length), true);
    } catch (error) {
      this.fault('estimate', error);
    }
  }

  /** Parts that cannot be opened are no reason not to start. */
  #opened(prepared: PreparedEstimator, parts: ReadonlyMap<string, Uint8Array>): EstimatorMemory {
    try {
      return prepared.open(parts);
    } catch (error) {
      this.fault('open', error);
      this.#everything = true;
      return opensWith(prepared, soundOf(prepared, parts)) ?? prepared.open(new Map());
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

export const findingOf = (models: number): Finding => ({
  quality: new Float64Array(models),
  outcomes: new Float32Array(models),
  text: new Float32Array(models),
  counts: new Float32Array(models),
  length: 0,
  trust: 0,
});

function opensWith(prepared: PreparedEstimator, parts: ReadonlyMap<string, Uint8Array>): EstimatorMemory | null {
  try {
    return prepared.open(parts);
  } catch {
    return null;
  }
}

/** Parts may need others that come later. */
const PASSES = 3;

/** The parts without those that cannot be opened beside the others: one that a disk has spoilt takes no more with it than speaks of it. */
function soundOf(prepared: PreparedEstimator, parts: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  let kept = new Map<string, Uint8Array>();
  let left = [...parts];
  for (let pass = 0; pass < PASSES && left.length > 0; pass++) {
    const refused: typeof left = [];
    const add = (some: typeof left): void => {
      const wider = new Map([...kept, ...some]);
      if (opensWith(prepared, wider)) kept = wider;
      else if (some.length === 1) refused.push(...some);
      else for (const half of [some.slice(0, some.length >> 1), some.slice(some.length >> 1)]) add(half);
    };
    add(left);
    left = refused;
  }
  return kept;
}

/** All of a memory, for another to begin with. */
const partsOf = (memory: EstimatorMemory): Map<string, Uint8Array> =>
  new Map([...memory.save(true)].flatMap(([part, bytes]) => (bytes ? [[part, bytes] as const] : [])));
