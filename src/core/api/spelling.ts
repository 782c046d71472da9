import { misspelt } from '../edit-distance.ts';
import { SignalboxError } from '../errors.ts';
import { isObject } from '../object.ts';
import { didYouMean } from '../text.ts';

/** Unknown fields of a body that are looked at: one with more has no typing error. */
const UNKNOWN_MAX = 32;

/**
 * Refuses a field that is one edit away from a known one. Other unknown fields pass, as providers have some of their own.
 * @param body unchecked
 * @param within the path of its owner, such as `stream_options.`; '' for the whole body
 * @throws SignalboxError
 */
export function checkSpelling(body: unknown, known: readonly string[], within = ''): void {
  if (!isObject(body)) return;
  let unknown = 0;
  for (const name in body) {
    if (known.includes(name)) continue;
    if (++unknown > UNKNOWN_MAX) return;
    const meant = misspelt(name, known);
    if (meant === null || body[meant] !== undefined) continue;
    throw new SignalboxError('unknown_field', `\`${within}${name}\` is not a known field; ${didYouMean(meant)}`, {
      param: `${within}${name}`,
    });
  }
}
