const COLOURS = 8;

/** FNV-1a, 32 bits, with its bits mixed once more: names that differ in a digit are far apart. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x45d9f3b);
  return (sum ^ (sum >>> 13)) >>> 0;
}

/**
 * The colour of a model, provider or team, as a class of charts.css that sets `currentColor`: the same on every screen, by its name alone.
 * @param name empty for what is not named, "other"
 */
export const markOf = (name: string): string => (name === '' ? 'mark-other' : `mark-${hash(name) % COLOURS}`);
