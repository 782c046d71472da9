const COLOURS = 8;

/** FNV-1a with 32 bits, with a final mixing step: names that differ in one digit get very different hashes. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x45d9f3b);
  return (sum ^ (sum >>> 13)) >>> 0;
}

/** Returns the models of this installation. */
let readModels: () => readonly string[] = () => [];
let known: { readonly models: readonly string[]; readonly marks: ReadonlyMap<string, string> } = {
  models: [],
  marks: new Map(),
};

/**
 * States the models of this installation, which get different colours as long as the colours suffice.
 * @param read is called for each colour, so that a component that shows a colour is rendered again if `read` reads a signal that changes
 */
export function knowModels(read: () => readonly string[]): void {
  readModels = read;
}

function knownMarks(): ReadonlyMap<string, string> {
  const models = readModels();
  if (models !== known.models) known = { models, marks: assigned(models, ownMark) };
  return known.marks;
}

const ownMark = (name: string): string => `mark-${hash(name) % COLOURS}`;

/**
 * The colour of a model, provider or team, as the name of a token for `inkOf`. The colour is the same on every screen: the name determines
 * it, and for a model of this installation also the other models.
 * @param name empty for "other"
 */
export const markOf = (name: string): string =>
  name === '' ? 'mark-other' : (knownMarks().get(name) ?? ownMark(name));

/** The style that sets a colour by the name of its token, such as `mark-3` or `accent`. */
export const inkOf = (mark: string) => ({ color: `var(--${mark})` });

/**
 * The colours of names in one chart. Each name keeps its own colour, but if two names share a colour, the second name gets the next free
 * colour, independent of the order of the names. With more than eight names, colours repeat.
 */
export function marksOf(names: readonly string[]): (name: string) => string {
  const marks = assigned(names, markOf);
  return (name) => marks.get(name) ?? markOf(name);
}

/** Gives each name its own colour, or the next free colour if another name has its own. */
function assigned(names: readonly string[], ownOf: (name: string) => string): ReadonlyMap<string, string> {
  const marks = new Map<string, string>();
  const waiting: string[] = [];
  const taken = new Set<string>();
  for (const name of [...new Set(names)].sort()) {
    const mark = ownOf(name);
    if (taken.has(mark)) waiting.push(name);
    else marks.set(name, mark);
    taken.add(mark);
  }
  for (const name of waiting) {
    const places = Array.from({ length: COLOURS }, (_, step) => `mark-${(hash(name) + step) % COLOURS}`);
    const mark = places.find((place) => !taken.has(place)) ?? ownOf(name);
    marks.set(name, mark);
    taken.add(mark);
  }
  return marks;
}
