/** The most levels of objects and lists. Deeper JSON parses, but breaks code that walks or prints it. */
export const DEPTH_MAX = 64;

/**
 * Looks over a JSON text before it is parsed: a few megabytes of brackets would hold up everybody
 * else for seconds. Counts elements, not bytes: strings are skipped in one go. Says which limit is exceeded; null for none.
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

/** Escaped quotes of one string that are looked up one by one; with more, reading each character is quicker. */
const LOOKUPS_MAX = 256;

/** Where the string ends that begins at `from`: at the first quote behind an even number of backslashes. */
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
