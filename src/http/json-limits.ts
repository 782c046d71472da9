import { SignalboxError } from '../core/errors.ts';
import { beyondLimits, DEPTH_MAX } from '../core/json-limits.ts';

/**
 * Checks the text of a body before it is parsed.
 * @throws SignalboxError
 */
export function checkJsonLimits(text: string, valuesMax: number): void {
  const limit = beyondLimits(text, valuesMax);
  if (limit === 'depth') {
    throw new SignalboxError('invalid_json', `The body nests deeper than ${DEPTH_MAX} levels.`);
  }
  if (limit === 'values') {
    throw new SignalboxError('request_too_large', `The body may hold at most ${valuesMax} values.`);
  }
}
