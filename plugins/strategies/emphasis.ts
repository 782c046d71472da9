import { type Inheritance, Type } from 'signalbox/plugin';
import { DEFAULTS, patience, qualityFloor, rawWeight, type Weighing } from './weighing.ts';

const OF_AUTO = 'Default: that of the selector `auto`.';

/** Options of a strategy that is `auto` with one weight multiplied. */
export const emphasisOptions = (emphasis: number, of: 'cost' | 'latency', description: string) =>
  Type.Object(
    {
      emphasis: Type.Number({
        minimum: 1,
        maximum: 1_000_000,
        default: emphasis,
        description: `How many times as much ${of} weighs as in the selector \`auto\`.`,
      }),
      quality: Type.Optional(rawWeight(`How much quality counts. ${OF_AUTO}`)),
      cost: Type.Optional(rawWeight(`How much cost counts, before \`emphasis\`. ${OF_AUTO}`)),
      latency: Type.Optional(rawWeight(`How much latency counts, before \`emphasis\`. ${OF_AUTO}`)),
      patience_ms: Type.Optional(patience(`The wait, in ms, that weighs as much as a good answer. ${OF_AUTO}`)),
      quality_floor: qualityFloor,
    },
    { additionalProperties: false, description },
  );

/**
 * A selector takes the options that it leaves out from `auto`. By the weight law its choice then never costs more (is never
 * slower) than the choice of `auto`, however `auto` is tuned.
 */
export const fromAuto: Inheritance = {
  selector: 'auto',
  strategy: 'auto',
  required: ['quality', 'cost', 'latency', 'patience_ms'],
  optional: ['quality_floor'],
};

/** The weights that are stated or inherited; the shipped ones where a strategy is prepared on its own. */
export const weighingOf = (options: Partial<Weighing>): Weighing => ({ ...DEFAULTS, ...options });
