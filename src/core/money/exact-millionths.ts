import { refuse } from '../errors.ts';
import { MICROCREDITS } from './credits.ts';

/** Converts Credits or dollars to integer millionths. `exactMillionths` throws SignalboxError for more than 6 decimals. */
export function exactMillionths(amount: number, param: string): number {
  const millionths = Math.round(amount * MICROCREDITS);
  if (millionths / MICROCREDITS === amount) return millionths;
  refuse(param, `\`${param}\` may have at most 6 decimals.`);
}
