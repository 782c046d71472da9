import { defineStrategy, Type } from 'signalbox/plugin';
import { DEFAULTS, PATIENCE_MS_MAX, patience, qualityFloor, rawWeight, weigh } from './weights.ts';

interface Emphasis {
  readonly name: string;
  readonly description: string;
  /** The factor by which the strategy multiplies the weight if the policy states none. */
  readonly factor: number;
  /** The factor in version 1 of the policy language, if it was different. */
  readonly formerFactor?: number;
  /** The most that `hard_quality_factor` may be for the criterion that the strategy emphasizes, if the policy states nothing. */
  readonly hardFactorMax: number;
  /** The name of the strategy that still accepts the options of version 0.1. */
  readonly formerly: string;
}

const OF_AUTO = 'Default: the value of the selector `auto`.';

const perToken = {
  ...patience(
    'Reduces `patience_ms` for short answers to this time, in ms, multiplied by the expected output tokens plus 100 for the start.',
  ),
  default: 60,
  // The maximum patience, which never reduces anything.
  formerDefault: PATIENCE_MS_MAX,
};

/** The largest `hard_quality_factor` of a policy, which limits nothing. */
const HARD_FACTOR_MAX = 1_000;

const hardFactorMax = (of: 'cost' | 'latency', most: number) =>
  Type.Number({
    minimum: 1,
    maximum: HARD_FACTOR_MAX,
    default: most,
    formerDefault: HARD_FACTOR_MAX,
    description: `The most that \`hard_quality_factor\` reduces the weight of ${of} in a hard request. With 1, ${of} counts as in other requests.`,
  });

/**
 * Creates a strategy that is `auto` with one weight multiplied. A selector inherits options that it does not set from `auto`. By the weight
 * law its choice is therefore never more expensive (or never slower) than the choice of `auto`.
 */
const emphasizing = (
  of: 'cost' | 'latency',
  { name, description, factor, formerFactor, hardFactorMax: most, formerly }: Emphasis,
) =>
  defineStrategy({
    name,
    status: 'stable',
    options: Type.Object(
      {
        emphasis: Type.Number({
          minimum: 1,
          maximum: 1_000_000,
          default: factor,
          ...(formerFactor !== undefined && { formerDefault: formerFactor }),
          description: `How many times as much ${of} counts as in the selector \`auto\`.`,
        }),
        quality: Type.Optional(rawWeight(`How much quality counts. ${OF_AUTO}`)),
        cost: Type.Optional(rawWeight(`How much cost counts, before \`emphasis\`. ${OF_AUTO}`)),
        latency: Type.Optional(rawWeight(`How much latency counts, before \`emphasis\`. ${OF_AUTO}`)),
        patience_ms: Type.Optional(patience(`The wait, in ms, that weighs as much as a good answer. ${OF_AUTO}`)),
        ...(of === 'latency' && { patience_ms_per_token: perToken }),
        hard_factor_max: hardFactorMax(of, most),
        quality_floor: qualityFloor,
      },
      { additionalProperties: false, description },
    ),
    inherits: {
      selector: 'auto',
      strategy: 'auto',
      required: ['quality', 'cost', 'latency', 'patience_ms'],
      optional: ['quality_floor'],
    },
    formerly: { options: ['quality_margin'], by: formerly },
    prepare({ emphasis, hard_factor_max: max, ...options }) {
      const weights = { ...DEFAULTS, ...options };
      return weigh({ ...weights, [of]: weights[of] * emphasis }, { reason: of, tieBreak: of }, { of, max });
    },
  });

/** Among the same candidates, the choice of `auto-cheap` is never more expensive than the choice of `auto`. */
export const autoCheap = emphasizing('cost', {
  name: 'auto-cheap',
  description: 'The weights of `auto` with more weight on cost: never more expensive than `auto`.',
  factor: 16,
  hardFactorMax: 1,
  formerly: 'cheapest-within-margin',
});

/** Among the same candidates, the choice of `auto-fast` is never slower than the choice of `auto`. */
export const autoFast = emphasizing('latency', {
  name: 'auto-fast',
  description: 'The weights of `auto` with more weight on latency: never slower than `auto`.',
  factor: 34,
  formerFactor: 12,
  hardFactorMax: 2,
  formerly: 'fastest-within-margin',
});
