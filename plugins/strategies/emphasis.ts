import { type Inheritance, Type } from 'signalbox/plugin';
import { type BalanceOptions, DEFAULTS, patience, qualityFloor, rawWeight } from './balance.ts';

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
 * A selector inherits the options that it leaves out from `auto`, so that by the weight law its choice never costs more (or
 * is never slower) than the choice of `auto`.
 */
export const fromAuto: Inheritance = {
  selector: 'auto',
  strategy: 'auto',
  required: ['quality', 'cost', 'latency', 'patience_ms'],
  optional: ['quality_floor'],
};

/** Stated and inherited weights over the defaults. */
export const withDefaultBalance = (options: Partial<BalanceOptions>): BalanceOptions => ({ ...DEFAULTS, ...options });
