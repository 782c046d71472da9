import { defineStrategy, Type } from 'signalbox/plugin';
import { DEFAULTS, PATIENCE_MS_MAX, patience, qualityFloor, rawWeight, weigh } from './weights.ts';

interface Emphasis {
  readonly name: string;
  readonly description: string;
  /** The default factor of the weight. */
  readonly factor: number;
  /** The strategy that still takes the options of 0.1. */
  readonly formerly: string;
}

const OF_AUTO = 'Default: that of the selector `auto`.';

const perToken = {
  ...patience(
    'Shortens `patience_ms` for short answers: to this figure, in ms, times the expected output tokens and 100 for the start.',
  ),
  default: 60,
  // The longest patience, which shortens none.
  formerDefault: PATIENCE_MS_MAX,
};

/**
 * A strategy that is `auto` with one weight multiplied. A selector inherits the options that it leaves out from `auto`, so
 * that by the weight law its choice never costs more (or is never slower) than the choice of `auto`.
 */
const emphasizing = (of: 'cost' | 'latency', { name, description, factor, formerly }: Emphasis) =>
  defineStrategy({
    name,
    status: 'stable',
    options: Type.Object(
      {
        emphasis: Type.Number({
          minimum: 1,
          maximum: 1_000_000,
          default: factor,
          description: `How many times as much ${of} weighs as in the selector \`auto\`.`,
        }),
        quality: Type.Optional(rawWeight(`How much quality counts. ${OF_AUTO}`)),
        cost: Type.Optional(rawWeight(`How much cost counts, before \`emphasis\`. ${OF_AUTO}`)),
        latency: Type.Optional(rawWeight(`How much latency counts, before \`emphasis\`. ${OF_AUTO}`)),
        patience_ms: Type.Optional(patience(`The wait, in ms, that weighs as much as a good answer. ${OF_AUTO}`)),
        ...(of === 'latency' && { patience_ms_per_token: perToken }),
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
    prepare({ emphasis, ...options }) {
      const weights = { ...DEFAULTS, ...options };
      return weigh({ ...weights, [of]: weights[of] * emphasis }, { reason: of, tieBreak: of });
    },
  });

/** On the same candidates it never costs more than `auto`. */
export const autoCheap = emphasizing('cost', {
  name: 'auto-cheap',
  description: 'The weights of `auto`, with more on cost: never dearer than `auto`.',
  factor: 16,
  formerly: 'cheapest-within-margin',
});

/** On the same candidates it is never slower than `auto`. */
export const autoFast = emphasizing('latency', {
  name: 'auto-fast',
  description: 'The weights of `auto`, with more on latency: never slower than `auto`.',
  factor: 12,
  formerly: 'fastest-within-margin',
});
