import { SignalboxError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { misspelt } from '../text/edit-distance.ts';
import { didYouMean } from '../text/text.ts';

/**
 * The most unknown fields of a body to check for misspellings. So many unknown fields in a body are no typing mistake.
 */
const UNKNOWN_MAX = 32;

/**
 * Refuses a field whose name is one edit away from a known field. `checkSpelling` allows other unknown fields, because providers have
 * fields of their own.
 * @param body unchecked
 * @param within the path of the object, such as `stream_options.`; '' for the whole body
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
