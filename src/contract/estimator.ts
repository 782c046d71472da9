import type { Static, TObject } from '@sinclair/typebox';
import type { PluginStatus } from './status.ts';

/** The models of a policy, as an estimator sees them. Lists are by index of the model or the task. */
export interface EstimatorCatalog {
  readonly tasks: readonly string[];
  readonly models: readonly EstimatorModel[];
}

export interface EstimatorModel {
  readonly id: string;
  /** Declared share of good answers by task, 0..1. */
  readonly quality: Float64Array;
  /** 1 for each task with a figure of its own; the others have the general one. */
  readonly stated: Uint8Array;
  /** Declared share of good answers for whatever has no figure of its own, 0..1. */
  readonly general: number;
  /** Where the declared figures come from: how much they count against outcomes. */
  readonly basis: 'measured' | 'guessed' | 'unknown';
}

/** One request, as an estimator sees it. */
export interface Inquiry {
  /** What `read` made of the question; null where no text was at hand. */
  readonly features: Uint8Array | null;
  /** Index of the likeliest task. */
  readonly task: number;
  /** Declared quality by model: the task's, or the mean by shares where the task is uncertain. */
  readonly declared: Float64Array;
  /** Learning is off: `length` is all that is asked for, and nothing else need be found. */
  readonly lengthAlone?: boolean;
}

/** What an estimator finds, into arrays of the host's, by model. `outcomes`, `text` and `length` are differences of log odds. */
export interface Finding {
  /** Q, 0..1. */
  readonly quality: Float64Array;
  /** What outcomes add to what is declared, whatever the text. */
  readonly outcomes: Float32Array;
  /** What the words add. */
  readonly text: Float32Array;
  /** How many outcomes of this task there were. */
  readonly counts: Float32Array;
  /** What the length adds, of every model. Together with what is declared it is all that counts while learning is off. */
  length: number;
  /** How far the words are trusted, 0..1. */
  trust: number;
}

/** What became of a request. */
export interface Outcome extends Pick<Inquiry, 'features' | 'task'> {
  /** Index of the model that answered. */
  readonly model: number;
  /** Its declared quality for the request. */
  readonly declared: number;
  /** How good the answer was, 0..1. */
  readonly score: number;
  /** How many outcomes it counts as, above 0, at most 1. */
  readonly weight: number;
  /** How likely the model was to be chosen, above 0, at most 1, and among how many. */
  readonly probability: number;
  readonly among: number;
}

/** The quality of a model by declaration and by outcomes, for people. */
export interface ModelKnowledge {
  readonly model: string;
  /** Null for all tasks together. */
  readonly task: string | null;
  /** The sum of the weights of its outcomes. */
  readonly outcomes: number;
  /** 0..1 */
  readonly declared: number;
  /** Declared and outcomes together, whatever the text, 0..1. */
  readonly learnt: number;
}

/** A word of a question with what it adds to a model's log odds. */
export interface TellingWord {
  readonly word: string;
  readonly adds: number;
}

/** A memory, as one catalog sees it. Synchronous; all but `estimate` of what was not `seen` may change the memory. */
export interface Estimator {
  /** Writes what it finds into `into`. `seen`: a request that somebody makes, which the means of what is asked take note of. */
  estimate(inquiry: Inquiry, into: Finding, seen: boolean): void;
  /** Learns. Returns what it would have estimated of the model, before it knew. */
  learn(outcome: Outcome): number;
  known(): ModelKnowledge[];
  /** The words that count most for or against a model, the strongest first; at most `most`. */
  telling(text: string, task: number, model: number, most: number): TellingWord[];
}

/** What was learnt, by models' IDs and tasks' names. Outlives catalogs. Bounded. */
export interface EstimatorMemory {
  over(catalog: EstimatorCatalog): Estimator;
  /** Forgets what was learnt of a model, by its ID; of all, and everything else, without one. */
  forget(model: string | null): void;
  /** What has changed since the last call, or everything, as named parts; null for one that is no more. `open` takes all parts together. */
  save(everything: boolean): Map<string, Uint8Array | null>;
}

export interface PreparedEstimator {
  /**
   * What is kept of a question: figures, bounded in number, from which nobody without the secret reads a word. Pure.
   * `lengthAlone`: learning is off, so nobody asks for more than its length; the rest may be left out.
   */
  read(text: string, lengthAlone?: boolean): Uint8Array;
  /** A memory of the parts that `save` gave; an empty one of none. Throws where they are not its own. */
  open(parts: ReadonlyMap<string, Uint8Array>): EstimatorMemory;
}

/** Estimates the quality of a model's answer to a request, and learns from outcomes. Deterministic: no clock, no chance. */
export interface EstimatorPlugin<Options extends TObject = TObject> {
  readonly kind: 'estimator';
  /** The version of the contract that the plugin is made for: 1 if left out. Both versions are the same for this kind. */
  readonly contract?: 1 | 2;
  readonly name: string;
  readonly status: PluginStatus;
  /** Checks `options` of the policy's `learning`; its defaults are applied before `prepare`. */
  readonly options: Options;
  /** `secret`: 64 bits of this installation, for hashes of words. */
  prepare(options: Static<Options>, secret: readonly [number, number]): PreparedEstimator;
}

/** Declares an estimator. */
export function defineEstimator<Options extends TObject>(
  plugin: Omit<EstimatorPlugin<Options>, 'kind'>,
): EstimatorPlugin<Options> {
  return { kind: 'estimator', ...plugin };
}
