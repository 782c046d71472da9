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

/** The inputs of one estimate. */
export interface Inquiry {
  /** The result of `read` for the question; null without text. */
  readonly features: Uint8Array | null;
  /** Index of the likeliest task. */
  readonly task: number;
  /** Declared quality by model: the task's, or the mean by shares where the task is uncertain. */
  readonly declared: Float64Array;
  /** True while learning is off: only `length` of the finding is used. */
  readonly lengthAlone?: boolean;
}

/** An estimate, written into arrays of the host, by model. `outcomes`, `text` and `length` are differences of log odds. */
export interface Finding {
  /** Probability of a good answer, 0..1. */
  readonly quality: Float64Array;
  /** The effect of outcomes on the declared quality, for any text. */
  readonly outcomes: Float32Array;
  /** The effect of the words. */
  readonly text: Float32Array;
  /** The number of outcomes of this task. */
  readonly counts: Float32Array;
  /** The effect of the length, the same for every model. While learning is off, nothing else changes the declared quality. */
  length: number;
  /** The weight of the words, 0..1. */
  trust: number;
}

/** The score of one answer. */
export interface Outcome extends Pick<Inquiry, 'features' | 'task'> {
  /** Index of the model that answered. */
  readonly model: number;
  /** Its declared quality for the request. */
  readonly declared: number;
  /** The quality of the answer, 0..1. */
  readonly score: number;
  /** Its weight as an outcome, above 0, at most 1. */
  readonly weight: number;
  /** The probability with which the model was chosen, above 0, at most 1. */
  readonly probability: number;
  /** The number of models that it was chosen from. */
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
  /** The quality by declaration and outcomes, for any text, 0..1. */
  readonly learnt: number;
}

/** A word of a question with what it adds to a model's log odds. */
export interface TellingWord {
  readonly word: string;
  readonly adds: number;
}

/** A memory for the models of one catalog. Synchronous. */
export interface Estimator {
  /**
   * Estimates the quality of every model.
   *
   * @param into receives the result
   * @param seen whether the request is carried out, so that it may change the means of requests; else nothing may change
   */
  estimate(inquiry: Inquiry, into: Finding, seen: boolean): void;
  /**
   * Learns from an outcome.
   * @returns the quality that it would have estimated before, 0..1
   */
  learn(outcome: Outcome): number;
  /** Returns what the memory holds, for people. */
  known(): ModelKnowledge[];
  /**
   * Finds the words that count most for or against a model.
   *
   * @param task index of the task
   * @param model index of the model
   * @param most the greatest number of words
   * @returns the strongest first
   */
  telling(text: string, task: number, model: number, most: number): TellingWord[];
}

/** The memory of an estimator, by models' IDs and tasks' names. Outlives catalogs. Bounded. */
export interface EstimatorMemory {
  /** Opens the memory for the models of a catalog. */
  over(catalog: EstimatorCatalog): Estimator;
  /** Forgets a model. @param model its ID; null forgets everything */
  forget(model: string | null): void;
  /**
   * Serializes the memory in named parts, which `open` takes together.
   *
   * @param everything all parts; else those that changed since the last call
   * @returns part by name; null for a part that is gone
   */
  save(everything: boolean): Map<string, Uint8Array | null>;
}

export interface PreparedEstimator {
  /**
   * Reads a question into features, which are stored in its place. Pure.
   *
   * @param text the question
   * @param lengthAlone learning is off, so only features of the length are used
   * @returns at most a bounded number of bytes, from which no word can be read without the secret
   */
  read(text: string, lengthAlone?: boolean): Uint8Array;
  /**
   * Restores a memory.
   *
   * @param parts all parts that `save` gave; empty for a new memory
   * @throws Error for parts that another estimator or version wrote
   */
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
  /**
   * Prepares the estimator for a policy.
   *
   * @param options checked, with defaults
   * @param secret 64 bits of this installation, for hashes of words
   */
  prepare(options: Static<Options>, secret: readonly [number, number]): PreparedEstimator;
}

/**
 * Declares an estimator.
 *
 * @example
 * ```ts
 * export const declaredOnly = defineEstimator({
 *   name: 'declared-only',
 *   status: 'alpha',
 *   options: Type.Object({}),
 *   prepare: () => ({
 *     read: () => new Uint8Array(),
 *     open: () => ({
 *       over: () => ({
 *         estimate: ({ declared }, into) => into.quality.set(declared),
 *         learn: ({ declared }) => declared,
 *         known: () => [],
 *         telling: () => [],
 *       }),
 *       forget: () => {},
 *       save: () => new Map(),
 *     }),
 *   }),
 * });
 * ```
 */
export function defineEstimator<Options extends TObject>(
  plugin: Omit<EstimatorPlugin<Options>, 'kind'>,
): EstimatorPlugin<Options> {
  return { kind: 'estimator', ...plugin };
}
