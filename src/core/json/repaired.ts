import type * as JsonRepair from 'jsonrepair';
import { parseJson } from './object.ts';

declare const require: (name: 'jsonrepair') => typeof JsonRepair;

/** The most characters and the deepest nesting of a text that is repaired, because the time of a repair grows with their squares. */
const LENGTH_MAX = 16_384;
const DEPTH_MAX = 256;
/** The beginning of an object or a list, also in a fenced block of Markdown. Any other text would become a string or a list of words. */
const BEGINNING = /^\s*(?:```[a-z]*\s*)?([[{])/i;

/**
 * Returns an object or a list of JSON for a text that is almost one; null for any other text, for more than 16,384 characters
 * and for more than 256 open brackets.
 */
export function repairedJson(text: string): string | null {
  const begin = text.length <= LENGTH_MAX ? BEGINNING.exec(text)?.[1] : undefined;
  if (begin === undefined || depthOf(text) > DEPTH_MAX) return null;
  // Few policies have a guard that repairs, so this package is loaded with the first text.
  const { jsonrepair } = require('jsonrepair');
  try {
    const repaired = jsonrepair(text).trim();
    return repaired.startsWith(begin) && parseJson(repaired) !== undefined ? repaired : null;
  } catch {
    // `jsonrepair` throws for a text that it cannot repair, and if the text is nested too deeply.
    return null;
  }
}

/** Returns the most brackets that are open in a text, also in the strings of a broken one. */
function depthOf(text: string): number {
  let [depth, most] = [0, 0];
  for (const sign of text) {
    if (sign === '[' || sign === '{') most = Math.max(most, ++depth);
    else if (sign === ']' || sign === '}') depth--;
  }
  return most;
}
