import { MICROCREDITS } from './credits.ts';
import { SignalboxError } from './errors.ts';

/** Returns Credits or dollars in millionths. Throws SignalboxError for more than 6 decimals. */
export function exactMillionths(amount: number, param: string): number {
  const millionths = Math.round(amount * MICROCREDITS);
  if (millionths / MICROCREDITS === amount) return millionths;
  throw new SignalboxError('invalid_value', `\`${param}\` may have at most 6 decimals.`, { param });
}
