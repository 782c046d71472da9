import type * as JsonRepair from 'jsonrepair';
import { parseJson } from './object.ts';

declare const require: (name: 'jsonrepair') => typeof JsonRepair;

/** The most characters of a text that is repaired, because the time of a repair grows with the square of the length. */
const LENGTH_MAX = 32_768;
/** The beginning of an object or a list, also in a fenced block of Markdown. Any other text would become a string or a list of words. */
const BEGINNING = /^\s*(?:```[a-z]*\s*)?([[{])/i;

/** Returns an object or a list of JSON for a text that is almost one; null for any other text, and for more than 32,768 characters. */
export function repairedJson(text: string): string | null {
  const begin = text.length <= LENGTH_MAX ? BEGINNING.exec(text)?.[1] : undefined;
  if (begin === undefined) return null;
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
