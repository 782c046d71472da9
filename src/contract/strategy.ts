import type { Static, TObject } from '@sinclair/typebox';
import type { PluginStatus } from './status.ts';

/** The inputs of a strategy: three estimates per candidate, in arrays of the same length. Entries from `n` on are not used. */
export interface Candidates {
  readonly n: number;
  /** Q: probability of a good answer, 0..1. */
  readonly quality: Float64Array;
  /** C: expected Credits. */
  readonly cost: Float64Array;
  /** L: expected milliseconds to the end of the answer. */
  readonly latency: Float64Array;
  /** v·C_ref: Credits that a good answer to this request is worth, `qualityFactor` included. Above 0. */
  readonly costReference: number;
  /** How many times as much quality weighs, 1 (also if left out) or more for a hard request. Divide what latency counts by it. */
  readonly qualityFactor?: number;
  /** Expected output tokens of one choice, which `costReference` counts: stated, measured for the task, or declared. */
  readonly outputTokens?: number;
}

/** A caller's weights, ≥ 0, summing to 1. */
export interface CallerWeights {
  readonly quality: number;
  readonly cost: number;
  /** Absent for 0. */
  readonly latency?: number;
}

export interface PreparedStrategy {
  /** The criterion of the choice in one or two words: the second half of `route_reason`. */
  readonly reason: string;
  /**
   * The least Q, 0..1. The host takes no candidate below it while one reaches it; where none does it takes
   * the best in Q, and `route_reason` ends in `:below-floor`. Left out: any Q will do.
   */
  readonly qualityFloor?: number;
  /** The first order of candidates with equal utility; Q (higher), C (lower), L (lower) and the ID follow. Absent: Q. */
  readonly tieBreak?: 'cost' | 'latency';
  /**
   * Writes a utility per candidate into `out[0..n)`; larger is better, -Infinity excludes. Pure.
   *
   * @param weights the caller's, where the request has some
   * @example
   * ```ts
   * score({ n, quality, cost }, out) {
   *   for (let i = 0; i < n; i++) out[i] = quality[i]! - cost[i]!;
   * }
   * ```
   *
   * The host ranks, and breaks ties by `tieBreak`, Q, C, L and ID. A throw or NaN counts as a fault of
   * the plugin and ranks by Q, C, L, ID alone.
   */
  score(candidates: Candidates, out: Float64Array, weights?: CallerWeights): void;
  /**
   * Splits a utility into its summands, for explanations. Pure. Summands that are no finite numbers, or have another sum,
   * are not shown.
   *
   * @param at the index of the candidate
   * @returns summand by name, such as `{ quality: 0.54, cost: -0.045 }`
   */
  parts?(candidates: Candidates, at: number, weights?: CallerWeights): Readonly<Record<string, number>>;
}

export interface StrategyPlugin<Options extends TObject = TObject> {
  readonly kind: 'strategy';
  /** The version of the contract that the plugin is made for: 1 if left out. Both versions are the same for this kind. */
  readonly contract?: 1 | 2;
  readonly name: string;
  readonly status: PluginStatus;
  /** Checks the `options` of a selector; its defaults are applied before `prepare`. */
  readonly options: Options;
  /** Options that a selector of this strategy takes from another selector where it leaves them out. */
  readonly inherits?: Inheritance;
  /** Options of an earlier version, and the strategy that still takes them. */
  readonly formerly?: FormerOptions;
  prepare(options: Static<Options>): PreparedStrategy;
}

/**
 * Options that a selector leaves out, filled in when the policy is loaded: an edit of one selector holds for all that follow it.
 * The selector's filter of models is inherited with the options.
 */
export interface Inheritance {
  /** The selector that it comes from, such as `auto`. */
  readonly selector: string;
  /** The strategy that selector must run. Where it runs another, a selector that leaves out a `required` option is refused. */
  readonly strategy: string;
  /** Options that the other selector always has, defaults included. */
  readonly required: readonly string[];
  /** Options that are inherited where the other selector states them. */
  readonly optional?: readonly string[];
}

/** A selector that states one of `options` runs as strategy `by`, with a warning, so that a policy of an earlier version loads. */
export interface FormerOptions {
  readonly options: readonly string[];
  /** A strategy that stands beside this one. */
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
