/** The most levels of nested objects and lists. JSON with deeper nesting can be parsed, but breaks code that walks or prints it. */
export const DEPTH_MAX = 64;

/**
 * Checks a JSON text before it is parsed, because parsing a few megabytes of brackets would block all other requests for seconds. The check
 * counts elements, not bytes, and skips strings quickly. Returns the limit that the text exceeds; null for none.
 */
export function beyondLimits(text: string, valuesMax: number): 'depth' | 'values' | null {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: // "
        i = endOfString(text, i + 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > DEPTH_MAX) return 'depth';
        if (++values > valuesMax) return 'values';
        break;
      case 0x2c: // ,
        if (++values > valuesMax) return 'values';
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
    }
  }
  return null;
}

/**
 * The most escaped quotes of one string that are searched one by one. For a string with more escaped quotes, it is faster to read each
 * character.
 */
const LOOKUPS_MAX = 256;

/** Returns where the string that begins at `from` ends: at the first quote that follows an even number of backslashes. */
function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from);
  for (let lookups = 0; at >= 0 && lookups < LOOKUPS_MAX; lookups++) {
    let before = at - 1;
    while (before >= from && text.charCodeAt(before) === 0x5c) before--;
    if ((at - before) % 2 === 1) return at;
    at = text.indexOf('"', at + 1);
  }
  if (at < 0) return text.length;
  let i = from;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) break;
    if (code === 0x5c) i++;
  }
  return i;
}
