/** The colour and the dash of a model, provider or team: the same on every screen, by its name alone. */
export interface Mark {
  /** A class of charts.css: it sets `currentColor`. */
  readonly className: string;
  /** Of a line, so that two names of one colour differ; '' for none. */
  readonly dash: string;
}

const COLOURS = 8;
const DASHES = ['', '6 3', '2 3'] as const;
const OTHER: Mark = { className: 'mark-other', dash: '' };

/** FNV-1a, 32 bits, with its bits mixed once more: names that differ in a digit are far apart. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x45d9f3b);
  return (sum ^ (sum >>> 13)) >>> 0;
}

/** @param name empty for what is not named, "other" */
export function markOf(name: string): Mark {
  if (name === '') return OTHER;
  const place = hash(name);
  return { className: `mark-${place % COLOURS}`, dash: DASHES[(place >>> 3) % DASHES.length] ?? '' };
}
