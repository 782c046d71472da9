const COLOURS = 8;

/** FNV-1a, 32 bits, with its bits mixed once more: names that differ in a digit are far apart. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x45d9f3b);
  return (sum ^ (sum >>> 13)) >>> 0;
}

/**
 * The colour of a model, provider or team, as the name of a token for `inkOf`: the same on every screen, by its name alone.
 * @param name empty for what is not named, "other"
 */
export const markOf = (name: string): string => (name === '' ? 'mark-other' : `mark-${hash(name) % COLOURS}`);

/** The style that sets a colour by the name of its token, such as `mark-3` or `accent`. */
export const inkOf = (mark: string) => ({ color: `var(--${mark})` });

/**
 * The colours of names that stand in one chart: their own, but where two have the same, one of them gets the next that is free, whatever
 * the order of the names. Beyond eight names, colours repeat.
 */
export function marksOf(names: readonly string[]): (name: string) => string {
  const marks = new Map<string, string>();
  const waiting: string[] = [];
  const taken = new Set<string>();
  for (const name of [...new Set(names)].sort()) {
    const mark = markOf(name);
    if (taken.has(mark)) waiting.push(name);
    else marks.set(name, mark);
    taken.add(mark);
  }
  for (const name of waiting) {
    const places = Array.from({ length: COLOURS }, (_, step) => `mark-${(hash(name) + step) % COLOURS}`);
    const mark = places.find((place) => !taken.has(place)) ?? markOf(name);
    marks.set(name, mark);
    taken.add(mark);
  }
  return (name) => marks.get(name) ?? markOf(name);
}
