import type { Static, TObject } from '@sinclair/typebox';
import type { PluginStatus } from './status.ts';

/** The inputs of a strategy: three estimates for each candidate, in arrays of the same length. Ignore array entries from index `n` on. */
export interface Candidates {
  readonly n: number;
  /** Q: probability of a good answer, 0..1, with the bonuses of preferences. */
  readonly quality: Float64Array;
  /** C: expected cost in Credits. */
  readonly cost: Float64Array;
  /** L: expected milliseconds to the end of the answer. */
  readonly latency: Float64Array;
  /**
   * The cost of the expected tokens at 1 USD for 1M tokens of input and 4 USD for 1M tokens of output, in Credits, above 0. It says how large
   * the request is, so that a strategy can compare costs at any size.
   */
  readonly reference: number;
}

/** Weights from the caller, each ≥ 0. The sum of the caller's weights is 1. */
export interface CallerWeights {
  readonly quality: number;
  readonly cost: number;
  /** An absent `latency` means 0. */
  readonly latency?: number;
}

interface Scoring {
  /**
   * Writes a utility for each candidate into `out[0..n)`. A higher utility is better; -Infinity excludes a candidate. Equal utilities are
   * ordered by Q, C, L and ID. This function is pure.
   *
   * @param weights the caller's weights, if the request has any
   * @example
   * ```ts
   * score({ n, quality, cost }, out) {
   *   for (let i = 0; i < n; i++) out[i] = quality[i]! - cost[i]!;
   * }
   * ```
   *
   * If the plugin throws or writes NaN, the host reports a fault of the plugin and ranks by Q, C, L and ID alone.
   */
  score(candidates: Candidates, out: Float64Array, weights?: CallerWeights): void;
}

/** A strategy that scores the candidates of each request with the estimates of the request. */
export interface RequestStrategy extends Scoring {
  readonly per?: 'request';
  /** The criterion of the choice in one or two words. The reason becomes the second half of `route_reason`. */
  readonly reason: string;
  /**
   * Splits a utility into its summands, for explanations. This function is pure. The host shows no summands if a summand is not a finite
   * number, or if their sum differs from the utility.
   *
   * @param at the index of the candidate
   * @returns summand by name, such as `{ quality: 0.54, cost: -0.045 }`
   */
  parts?(candidates: Candidates, at: number, weights?: CallerWeights): Readonly<Record<string, number>>;
}

/**
 * A strategy that orders models once, when the policy is loaded, by their estimates for the typical request. Each request takes the first
 * model of the order that is good enough for it.
 */
export interface LadderStrategy extends Scoring {
  readonly per: 'build';
  /** Why the first model of the order is the first, after the name of the model: `costs least`. */
  readonly reason: string;
  /** How far below the best quality a model may be that serves a usual request, 0..1. */
  readonly margin: number;
  /** The margin for a hard request, 0..`margin`. */
  readonly strongMargin: number;
  /**
   * Takes a better model instead, as long as its typical cost is at most this many times as high; 1 or more. Absent: the first model of the
   * order is the choice.
   */
  readonly stepCost?: number;
  /**
   * A promise: for no request is the choice more expensive (`cost`) or slower (`latency`) than the choice of the selector `auto`, if that
   * runs a ladder, too. The margins must not be below the margins of `auto`.
   */
  readonly atMostAuto?: 'cost' | 'latency';
}

export type PreparedStrategy = RequestStrategy | LadderStrategy;

export interface StrategyPlugin<Options extends TObject = TObject> {
  readonly kind: 'strategy';
  /**
   * The version of the contract that the plugin is written for. `contract` is 1 by default. Versions 1 and 2 of the contract are the same
   * for strategies.
   */
  readonly contract?: 1 | 2;
  readonly name: string;
  readonly status: PluginStatus;
  /** Schema of the `options` of a selector. The host applies the defaults before it calls `prepare`. */
  readonly options: Options;
  prepare(options: Static<Options>): PreparedStrategy;
}

/**
 * Declares a routing strategy.
 *
 * @example
 * ```ts
 * export const thrifty = defineStrategy({
 *   name: 'thrifty',
 *   status: 'alpha',
 *   options: Type.Object({}, { additionalProperties: false }),
 *   prepare: () => ({
 *     reason: 'thrifty',
 *     score({ n, cost }, out) {
 *       for (let i = 0; i < n; i++) out[i] = -cost[i]!;
 *     },
 *   }),
 * });
 * ```
 */
export function defineStrategy<Options extends TObject>(
  plugin: Omit<StrategyPlugin<Options>, 'kind'>,
): StrategyPlugin<Options> {
  return { kind: 'strategy', ...plugin };
}
