import type { Static, TObject } from '@sinclair/typebox';
import type { PluginStatus } from './status.ts';

/** The inputs of a strategy: three estimates for each candidate, in arrays of the same length. Ignore array entries from index `n` on. */
export interface Candidates {
  readonly n: number;
  /** Q: probability of a good answer, 0..1, computed from the classes of quality that the policy's `quality_step` forms. */
  readonly quality: Float64Array;
  /**
   * Q without classes; absent if the policy forms none. The host uses the exact quality for quality floors and for ties. A strategy does
   * not need the exact quality.
   */
  readonly exactQuality?: Float64Array;
  /** C: expected cost in Credits. */
  readonly cost: Float64Array;
  /** L: expected milliseconds to the end of the answer. */
  readonly latency: Float64Array;
  /** h·v·C_ref: what a good answer to this request is worth, in Credits, above 0. The hard factor h is included. */
  readonly costReference: number;
  /**
   * h: the hard factor of this request, which says how many times as much quality counts. It is 1 by default, and more for a hard request.
   * A strategy that scores latency divides the latency by it.
   */
  readonly qualityFactor?: number;
  /**
   * Expected output tokens of one choice: the caller's figure, the average of earlier answers to the task, or the policy's figure.
   * `costReference` includes the expected output tokens.
   */
  readonly outputTokens?: number;
}

/** Weights from the caller, each ≥ 0. The sum of the caller's weights is 1. */
export interface CallerWeights {
  readonly quality: number;
  readonly cost: number;
  /** An absent `latency` means 0. */
  readonly latency?: number;
}

export interface PreparedStrategy {
  /** The criterion of the choice in one or two words. The reason becomes the second half of `route_reason`. */
  readonly reason: string;
  /**
   * The least acceptable Q, 0..1. The host chooses no candidate below the quality floor while another candidate reaches the floor. If no
   * candidate reaches the floor, the host chooses the candidate with the highest Q, and `route_reason` ends in `:below-floor`. Without
   * `qualityFloor`, any Q is acceptable.
   */
  readonly qualityFloor?: number;
  /**
   * Decides first between candidates with equal utility; then C (lower), L (lower), the exact Q (higher) and the ID decide. If the policy
   * forms no classes, Q decides before C.
   */
  readonly tieBreak?: 'cost' | 'latency';
  /**
   * Writes a utility for each candidate into `out[0..n)`. A higher utility is better; -Infinity excludes a candidate. This function is
   * pure.
   *
   * @param weights the caller's weights, if the request has any
   * @example
   * ```ts
   * score({ n, quality, cost }, out) {
   *   for (let i = 0; i < n; i++) out[i] = quality[i]! - cost[i]!;
   * }
   * ```
   *
   * The host ranks the candidates and breaks ties as `tieBreak` describes. If the plugin throws or writes NaN, the host reports a
   * fault of the plugin and ranks by Q, C, L and ID alone.
   */
  score(candidates: Candidates, out: Float64Array, weights?: CallerWeights): void;
  /**
   * Splits a utility into its summands, for explanations. This function is pure. The host shows no summands if a summand is not a finite
   * number, or if their sum differs from the utility.
   *
   * @param at the index of the candidate
   * @returns summand by name, such as `{ quality: 0.54, cost: -0.045 }`
   */
  parts?(candidates: Candidates, at: number, weights?: CallerWeights): Readonly<Record<string, number>>;
}

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
  /** Options that a selector of this strategy inherits from another selector if it does not state them. */
  readonly inherits?: Inheritance;
  /** Options of an earlier version of this strategy, and the strategy that still accepts them. */
  readonly formerly?: FormerOptions;
  prepare(options: Static<Options>): PreparedStrategy;
}

/**
 * Options that a selector does not state are copied from another selector when the policy is loaded, so that you edit them in one place.
 * The selector also inherits the other selector's filter of models.
 */
export interface Inheritance {
  /** The selector to inherit from, such as `auto`. */
  readonly selector: string;
  /**
   * The strategy that the other selector must use. If the other selector uses a different strategy, Signalbox refuses a selector that
   * leaves out a `required` option.
   */
  readonly strategy: string;
  /** Options that the other selector always has, because its strategy requires them or has defaults for them. */
  readonly required: readonly string[];
  /** Options that a selector inherits only if the other selector states them. */
  readonly optional?: readonly string[];
}

/**
 * A selector that states one of `options` runs the strategy `by`, and Signalbox logs a warning. Policies of an earlier version therefore
 * still load.
 */
export interface FormerOptions {
  readonly options: readonly string[];
  /** The name of another strategy, which accepts the options. */
  readonly by: string;
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
